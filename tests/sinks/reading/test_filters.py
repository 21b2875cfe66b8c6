"""What a question wants, as blocks and as rows."""

import numpy as np
import pytest

from sinks.lines import lines_of
from sinks.reading.filters import LineFilter, block_filter, values_fit, wanted_rows, with_fields
from sinks.row import template_key
from sinks.sink import BlockFilter
from sinks.words import field_word
from tests.world import TEMPLATE, line

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
        (LineFilter(not_services=("a",)), [1, 3]),
        (LineFilter(not_services=("",), not_levels=("INFO",)), [1, 2]),
        (LineFilter(services=("a", "b"), not_services=("b",)), [0, 2]),
        (LineFilter(services=("a",), not_services=("a",)), []),
        (LineFilter(not_levels=("\ud800", "WARN")), [0, 1, 2, 3]),
        (LineFilter(not_templates=frozenset({TEMPLATE})), []),
        (LineFilter(not_templates=frozenset({"0" * 32})), [0, 1, 2, 3]),
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
    assert with_fields(LINES.fields, np.arange(4), LineFilter(fields=fields)).tolist() == rows


@pytest.mark.parametrize(
    ("only", "rows"),
    [
        (LineFilter(not_fields=(("trace", "t1"),)), [1, 2, 3]),
        (LineFilter(not_fields=(("trace", "t1"), ("trace", "t2"))), [2, 3]),
        (LineFilter(not_fields=(("trace", "t2"), ("ok", "true"))), [2, 3]),
        (LineFilter(not_fields=(("none", ""),)), [0, 1, 2, 3]),
        (LineFilter(fields=(("code", "7"), ("code", "8")), not_fields=(("trace", "t1"),)), [1]),
        (LineFilter(fields=(("trace", "t1"),), not_fields=(("trace", "t1"),)), []),
    ],
)
def test_a_line_has_none_of_the_excluded_values(only: LineFilter, rows: list[int]) -> None:
    assert with_fields(LINES.fields, np.arange(4), only).tolist() == rows
    assert only.reads_fields


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
    without = LineFilter(not_services=("a",), not_levels=("INFO",), not_topics=("logs",), not_fields=(("x", "1"),))
    assert block_filter(without) == BlockFilter(not_topics=("logs",), not_services=("a",), not_levels=("INFO",))
    assert block_filter(LineFilter(), templates=[]).templates == ()


def test_an_empty_window_wants_nothing() -> None:
    assert LineFilter(since_ms=5, until_ms=5).wants_nothing
    assert not LineFilter(since_ms=4, until_ms=5).wants_nothing
    assert not LineFilter(until_ms=5).wants_nothing


def test_what_is_wanted_and_excluded_wants_nothing() -> None:
    assert LineFilter(services=("a",), not_services=("a", "b")).wants_nothing
    assert LineFilter(topics=("a", "b"), not_topics=("a", "b")).wants_nothing
    assert not LineFilter(levels=("a", "b"), not_levels=("a",)).wants_nothing
    assert not LineFilter(not_levels=("a",)).wants_nothing


def test_a_topic_is_admitted_unless_it_is_excluded_or_another_is_wanted() -> None:
    assert [LineFilter(topics=("a", "b"), not_topics=("b", "c")).admits_topic(one) for one in "abcd"] == [True, False, False, False]
    assert [LineFilter(not_topics=("b",)).admits_topic(one) for one in "ab"] == [True, False]


def test_values_of_a_block_fit_wholly_or_in_part() -> None:
    every, some = values_fit([("a",), ("a", "b"), ("c",)], ("a", "d"))
    assert every.tolist() == [True, False, False]
    assert some.tolist() == [True, True, False]
    assert all(mask.all() for mask in values_fit([("a",), ("b",)], ()))
    every, some = values_fit([("a",), ("a", "b"), ("c",)], (), ("a",))
    assert (every.tolist(), some.tolist()) == ([False, False, True], [False, True, True])
    every, some = values_fit([("a",), ("a", "b"), ("a", "c")], ("a", "b"), ("b",))
    assert (every.tolist(), some.tolist()) == ([True, False, False], [True, True, True])
