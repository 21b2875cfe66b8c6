"""Tables of examples that stand in files of their own, tests/golden/tables: a row is a line of JSON, in the order of the parameters."""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "golden" / "tables"


def rows(name: str) -> list[Any]:
    """Return the rows of a table, for `pytest.mark.parametrize`."""
    return [json.loads(row) for row in (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
