"""What a question wants, as blocks and as rows."""

from sinks.reading.line_filter import LineFilter, block_filter, values_fit
from sinks.row import template_key
from sinks.sink import BlockFilter
from sinks.words import field_word
from tests.world import TEMPLATE


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
