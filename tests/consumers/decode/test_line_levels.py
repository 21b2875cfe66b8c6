"""The level of each line of a column, given where its time is: names, letters, and where a line and its head end."""

from typing import Any

import numpy as np
import pytest

from consumers.columns import Column, string_column
from consumers.decode.levels import LEVELS, level_of_name
from consumers.decode.line_levels import find_levels
from tests.rows import rows

OTHER = 0
"""Kind of a time; in the rows, 1 is that of syslog, 2 a number, 3 that of glog, 4 that of an access log."""
IN_ANY_CASE = (
    "trace verbose debug info notice information informational warn warning error err crit critical fatal alert emerg emergency panic "
    "severe"
)
IN_CAPITALS = "trc dbg inf wrn eror ftl fine finer finest dpanic vrb erro debu fata"
IN_LOWER_CASE = "fail dbug trce"
BEFORE_A_COLON = "log config"
OF_FIELDS = "level lvl loglevel severity"


def levels(column: Column, start: int = 0, end: int = 0, kind: int = OTHER) -> list[str]:
    """Return the level of each line of a column; all have their time at the same place."""
    found = find_levels(column, *(np.full(len(column), value, np.uint8) for value in (start, end, kind)))
    return [("", *LEVELS)[level + 1] for level in found.tolist()]


def level(line: str, start: int = 0, end: int = 0, kind: int = OTHER) -> str:
    return levels(string_column([line]), start, end, kind)[0]


@pytest.mark.parametrize("name", IN_ANY_CASE.split())
def test_most_names_count_in_any_case(name: str) -> None:
    expected = level_of_name(name)

    assert expected
    assert {level(form) for form in (f"[{name}] x", f"[{name.upper()}] x", f"{name.title()}: x", f"level={name}")} == {expected}
    assert level(f"{name} x") == ""
    assert level(f"[{name}xxx] y") == ""


@pytest.mark.parametrize("name", IN_CAPITALS.split())
def test_short_names_count_in_capitals(name: str) -> None:
    assert level_of_name(name)
    assert level(f"{name.upper()} x") == level(f"level={name}") == level_of_name(name)
    assert [level(form) for form in (f"[{name}] x", f"{name.title()}: x")] == ["", ""]


@pytest.mark.parametrize("name", IN_LOWER_CASE.split())
def test_names_of_dotnet_count_in_lower_case_before_a_colon(name: str) -> None:
    assert level_of_name(name)
    assert level(f"{name}: x") == level(f"lvl={name}") == level_of_name(name)
    assert [level(form) for form in (f"{name.upper()}: x", f"{name} x", f"[{name}] x", f"a {name}: x")] == [""] * 4


@pytest.mark.parametrize("name", BEFORE_A_COLON.split())
def test_names_that_are_words_count_in_capitals_before_a_colon(name: str) -> None:
    assert level_of_name(name)
    assert level(f"{name.upper()}: x") == level_of_name(name)
    assert [level(form) for form in (f"{name.upper()} x", f"[{name.upper()}] x", f"{name}: x")] == ["", "", ""]


@pytest.mark.parametrize("key", OF_FIELDS.split())
def test_a_field_tells_the_level_or_ends_the_search(key: str) -> None:
    assert [level(f"{key}={value}") for value in ("warn", '"warn"', "Warn,x", "warn; x", "warn x")] == ["WARN"] * 5
    assert [level(f"{key}={value} ERROR") for value in ("warn/x", "warned", "7", "'warn'")] == [""] * 4


@pytest.mark.parametrize("row", rows("levels/lines"))
def test_every_rule_gives_its_lines_their_level(row: list[Any]) -> None:
    rule, line, expected, *place = row
    assert level(line, *place) == expected, rule


@pytest.mark.parametrize("size", range(120, 132))
def test_a_name_that_the_end_of_the_head_cuts_is_none(size: int) -> None:
    line = "1" * 60 + " " + "2" * 53 + " ERROR"

    assert len(line) == 120
    assert level(line.replace("1", "1" * (size - 119), 1)) == ("ERROR" if size < 127 else "")
    assert level(line.replace("1", "1" * (size - 119), 1) + "S") == ""
