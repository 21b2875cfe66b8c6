"""`vectail peek` shows the template that a worker would store, also where the record carries it."""

import json
from pathlib import Path

from tests.model_fixture import CACHE
from worker.cli.peek import PeekOptions, peek
from worker.settings.settings import load_settings

EVENT = {"@t": "2026-05-28T20:10:00Z", "@mt": "{User} left", "User": "ann", "SourceContext": "Shop.Door"}


def test_the_source_template_is_shown_beside_the_text_that_was_made_of_it(tmp_path: Path) -> None:
    path = tmp_path / "events.log"
    path.write_text(json.dumps(EVENT) + "\n")
    for tables, template in (({}, "Shop.Door: {User} left"), ({"decode": {"source_templates": False}}, "ann left")):
        told = peek(load_settings(None, {"model": {"cache": str(CACHE)}, **tables}), PeekOptions(source=str(path), number=1))
        (entry,) = told["records"][0]["entries"]
        assert (entry["text"], [chunk["template"] for chunk in entry["chunks"]]) == ("ann left", [template])
