"""A program: declares a filter `pod` over a kept field, as a line in `worker/asking/filters.py` would, and prints where it can be seen.

Options, arguments and schemas are made when their files are loaded, so this needs a process of its own.
"""

import json
import sys
from typing import Annotated

from worker.asking import filters


class Filters(filters.Filters):
    """Every filter, and one more."""

    pod: Annotated[filters.Label | None, filters.Of("fields", "pod", "pods", "NAME", field="k8s.pod.name")] = None


def main() -> None:
    """Load everything that is made of the filters, and ask a small index."""
    filters.Filters, filters.FILTERS = Filters, filters.filters_of(Filters)  # type: ignore[misc]

    import typer  # noqa: PLC0415 - after the filter was declared

    from tests.world import index_of, line, open_sink  # noqa: PLC0415
    from worker.cli.app import app  # noqa: PLC0415
    from worker.querying.forms import parse_query  # noqa: PLC0415
    from worker.querying.search import PreparedQuery  # noqa: PLC0415
    from worker.querying.template_listing import answer_templates  # noqa: PLC0415
    from worker.serving.json_schemas import schemas  # noqa: PLC0415
    from worker.serving.mcp_arguments import Filtered  # noqa: PLC0415
    from worker.serving.page_files import made_page_files  # noqa: PLC0415

    index = index_of(open_sink(), [line(n, fields=f'{{"k8s.pod.name":"web-{n % 3}"}}') for n in range(8)])
    query = parse_query(b'{"as": "templates", "filters": {"pod": "web-2"}}')
    answer = answer_templates(index, PreparedQuery(query, None), lambda: False)
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    seen = {
        "options": [name for name, verb in commands.items() if any("--pod" in one.opts for one in verb.params)],
        "mcp": Filtered.model_json_schema()["properties"]["pod"]["description"],
        "openapi": "pod" in str(schemas()["Filters"]["properties"]),
        "page": b'"name": "pod"' in made_page_files()["filters.js"].body,
        "found": [row["lines"] for row in answer["templates"]],
    }
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main()
