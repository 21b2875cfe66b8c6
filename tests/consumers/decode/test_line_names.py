"""The service and the logger of lines in the usual layouts of text, and none of lines that name none for sure."""

import pytest

from consumers.columns import Column, string_column
from consumers.decode.line_names import find_names
from consumers.decode.times import find_times
from tests.rows import rows

TIME = "2026-11-23 10:00:00.123"


def names(column: Column) -> list[tuple[str, str]]:
    times = find_times(column)
    services, loggers = find_names(column, times.start, times.end)
    assert all(set(labels.codes.tolist()) == set(range(len(labels.values))) for labels in (services, loggers))
    return [(services.text(row), loggers.text(row)) for row in range(len(column))]


def named(line: str) -> tuple[str, str]:
    return names(string_column([line]))[0]


@pytest.mark.parametrize(("rule", "line", "expected"), rows("names/of_lines"))
def test_every_rule_gives_its_lines_their_service_and_logger(rule: str, line: str, expected: list[str]) -> None:
    assert named(line) == tuple(expected), rule


@pytest.mark.parametrize("size", [123, 124, 125, 126, 127])
def test_a_name_that_the_end_of_the_head_may_cut_is_none(size: int) -> None:
    head = f"{TIME} INFO [{'x' * (size - 40)}] "
    line = f"{head}ab.cdefg"
    assert len(line) == size
    assert named(f"{line} - x") == ("", "ab.cdefg" if size < 125 else "")
