"""What the loggers and shippers of the world write as JSON; `test_golden.py` reads each."""

import json
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).parents[2] / "golden" / "cases" / "json.jsonl"


class Flavour(NamedTuple):
    """A record of one of them."""

    document: dict[str, Any]


_CASES = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
FLAVOURS = {case["name"]: Flavour(json.loads(case["value"])) for case in _CASES}
