"""What a question wants, as blocks and as rows."""

import numpy as np
import pytest

from sinks.lines import lines_of
from sinks.reading.filters import LineFilter, block_filter, values_fit, wanted_rows, with_fields
from sinks.row import template_key
from sinks.sink import BlockFilter
from sinks.words import field_word
from tests.sinks.blocks import TEMPLATE, line

LINES = lines_of(
    [
        line(0, service="a", level="INFO", fields='{"trace":"t1","code":7,"ok":true}'),
        line(1, service="b", level="ERROR", fields='{"trace":"t2","code":8}'),
        line(2, service="a", level="ERROR"),
        line(3, service="", level="", fields="no JSON"),
    ]
)


@pytest.mark.parametrize(
    ("only", "rows"),
    [
        (LineFilter(), [0, 1, 2, 3]),
        (LineFilter(since_ms=1_000), [1, 2, 3]),
        (LineFilter(until_ms=1_000), [0]),
        (LineFilter(since_ms=1_000, until_ms=3_000), [1, 2]),
        (LineFilter(services=("a",)), [0, 2]),
        (LineFilter(services=("a", "b"), levels=("ERROR",)), [1, 2]),
        (LineFilter(services=("",)), [3]),
        (LineFilter(levels=("\ud800",)), []),
    ],
)
def test_rows_pass_exactly(only: LineFilter, rows: list[int]) -> None:
    assert np.flatnonzero(wanted_rows(LINES, only)).tolist() == rows


@pytest.mark.parametrize(
    ("fields", "rows"),
    [
        ((), [0, 1, 2, 3]),
        ((("trace", "t1"),), [0]),
        ((("trace", "t1"), ("trace", "t2")), [0, 1]),
        ((("trace", "t1"), ("code", "8")), []),
        ((("code", "7"), ("ok", "true")), [0]),
        ((("none", ""),), []),
    ],
)
def test_fields_pass_by_name_and_value(fields: tuple[tuple[str, str], ...], rows: list[int]) -> None:
    assert with_fields(LINES.fields, np.arange(4), fields).tolist() == rows


def test_a_block_filter_asks_for_what_may_hold_a_wanted_line() -> None:
    only = LineFilter(1, 9, ("a",), ("INFO",), ("logs",), (("x", "1"), ("y", "1"), ("y", "2")))
    assert block_filter(only, templates=[TEMPLATE, TEMPLATE], keys=[5]) == BlockFilter(
        topics=("logs",),
        since_ms=1,
        until_ms=9,
        templates=(template_key(TEMPLATE),),
        words=tuple(sorted((5, field_word("x", "1")))),
        services=("a",),
        levels=("INFO",),
    )
    assert block_filter(LineFilter()) == BlockFilter()
    assert block_filter(LineFilter(), templates=[]).templates == ()


def test_an_empty_window_wants_nothing() -> None:
    assert LineFilter(since_ms=5, until_ms=5).wants_nothing
    assert not LineFilter(since_ms=4, until_ms=5).wants_nothing
    assert not LineFilter(until_ms=5).wants_nothing


def test_values_of_a_block_fit_wholly_or_in_part() -> None:
    every, some = values_fit([("a",), ("a", "b"), ("c",)], ("a", "d"))
    assert every.tolist() == [True, False, False]
    assert some.tolist() == [True, True, False]
    assert all(mask.all() for mask in values_fit([("a",), ("b",)], ()))
