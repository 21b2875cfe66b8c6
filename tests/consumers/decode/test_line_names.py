"""The service and the logger of lines in the usual layouts of text, and none of lines that name none for sure."""

import numpy as np
import pytest

from consumers.columns import Column, null_column, string_column
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


@pytest.mark.parametrize(
    "line", [f"{TIME} INFO gateway", f"{TIME} INFO gateway:", f"{TIME} ERROR shop.Cart", "ERROR:a.b", f"{TIME} ERROR [a.b"]
)
@pytest.mark.parametrize("after", [": x", " - x", "]", ":", " x", ""])
def test_a_line_ends_where_the_next_one_begins(line: str, after: str) -> None:
    assert names(string_column([line, after, line + after]))[0] == named(line)


def test_lines_without_names_stand_between_others() -> None:
    lines = [f"{TIME} INFO a1: x", "", f"{TIME} ERROR b.d: x", None, f"{TIME} INFO error: x", f"{TIME} INFO a1: y"]
    column = string_column(lines)

    assert names(column) == [("a1", ""), ("", ""), ("", "b.d"), ("", ""), ("", ""), ("a1", "")]
    assert names(column.slice(2, 2)) == [("", "b.d"), ("", "")]
    assert names(null_column(2)) == [("", ""), ("", "")]
    assert names(string_column([])) == []


def test_columns_of_another_length_are_refused() -> None:
    column, three, two = string_column(["a", "b", "c"]), np.zeros(3, np.uint8), np.zeros(2, np.uint8)

    for start, end in ((two, three), (three, two)):
        with pytest.raises(ValueError, match="3 lines have times of"):
            find_names(column, start, end)
