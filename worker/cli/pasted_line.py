"""`vectail templates --of LINE`: the template of a pasted line, with how often it came and since when; or the nearest ones.

The line is masked here, as these settings say; a running worker knows the rest.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from worker.asking.question import MAX_TEXT_CHARACTERS
from worker.indexing.pasted_lines import LineReader
from worker.settings.settings import Settings

_NEAREST: Final = 3


def templates_of_line(
    settings: Settings, line: str, filters: Mapping[str, object], ask: Callable[[Mapping[str, object]], dict[str, Any]]
) -> dict[str, Any]:
    """Return the answer to `ask` for the templates of a line: `found` says whether they are the line's, or else the nearest.

    `masked` is what masks leave of it. Raises what `ask` raises.
    """
    topics = filters.get("topic")
    kinds = LineReader(settings).templates_of(line, str(topics[0]) if isinstance(topics, list) else None)
    masked = {"masked": [one.text for one in kinds]}
    asked = {"as": "templates", "expand": True}
    if kinds:
        answer = ask({**asked, "k": len(kinds), "filters": {**filters, "template": [one.template for one in kinds]}})
        if answer["templates"]:
            return {"found": True, **masked, **answer}
    nearest = {"text": line[:MAX_TEXT_CHARACTERS], "operators": False, "mode": "dense", "k": _NEAREST, "filters": dict(filters)}
    return {"found": False, **masked, **ask({**asked, **nearest})}
