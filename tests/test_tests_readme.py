"""tests/README.md names tests that are there: a table of what is shown must not outlive what shows it."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent
_NAMED = re.compile(r"`([\w/]+\.(?:py|txt))?(?:::(\w+?)(…?)(?:\[\w+\])?)?`")


@cache
def _functions(file: Path) -> tuple[str, ...]:
    return tuple(node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef))


def test_every_test_that_the_table_names_exists() -> None:
    named = 0
    for row in (TESTS / "README.md").read_text().splitlines():
        path = ""
        for found in _NAMED.finditer(row):
            path = found[1] or path
            file = TESTS / path if (TESTS / path).is_file() else TESTS.parent / path
            assert file.is_file(), row
            if found[2]:
                wanted = f"test_{found[2]}"
                assert any(test.startswith(wanted) if found[3] else test == wanted for test in _functions(file)), found[0]
                named += 1
    assert named > 50
