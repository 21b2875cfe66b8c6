"""Which topics a subscription reads: names, patterns over whole names, and what is never read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.subscription import Subscription, TopicPattern
from tests.rows import rows

TOPICS = ("app.a", "app.b", "xapp.a", "app.a.old", "app", "queries", "__app.a", "APP.A")


@pytest.mark.parametrize(("include", "exclude", "fitting"), rows("topic_patterns"))
def test_a_pattern_fits_whole_names(include: str, exclude: list[str], fitting: list[str]) -> None:
    assert TopicPattern(include=include, exclude=tuple(exclude)).matching(TOPICS) == set(fitting)


def test_names_are_read_literally_and_patterns_beside_them() -> None:
    reads = Subscription(names=("app.*", "__app.a"), patterns=(TopicPattern(include="app[.]."), TopicPattern(include="xapp.*")))
    assert reads.matching((*TOPICS, "app.*")) == {"app.*", "__app.a", "app.a", "app.b", "xapp.a"}


def test_what_is_never_read_is_not_read_by_name_nor_by_pattern() -> None:
    reads = Subscription(names=("app.a",), patterns=(TopicPattern(include=".*"),), never=frozenset({"app.a", "queries"}))
    assert not reads.reads("app.a")
    assert not reads.reads("queries")
    assert reads.reads("app.b")


def test_names_are_subscribed_to_before_they_exist_and_patterns_in_order() -> None:
    reads = Subscription(names=("z", "app.b"), patterns=(TopicPattern(include="app.*"),))
    assert reads.topics_among(()) == ("z", "app.b")
    assert reads.topics_among(TOPICS) == ("z", "app.b", "app", "app.a", "app.a.old")
    assert Subscription(names=("a",)).topics_among(("b",)) == ("a",)


@given(st.lists(st.text("ab.", min_size=1, max_size=6), max_size=12), st.sampled_from(("a.*", "[ab]+", "(a|b)", "a?b[.]?")))
def test_it_agrees_with_another_engine_on_whole_names(topics: list[str], include: str) -> None:
    assert TopicPattern(include=include).matching(topics) == {topic for topic in topics if re.fullmatch(include, topic)}
