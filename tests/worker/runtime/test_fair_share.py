"""Topics share a queue by weight: every entry once, each topic's in order, shares within one entry, and taking can be undone."""

from collections import deque
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.runtime.fair_share import FairQueue


class Entry(NamedTuple):
    topic: str
    size: int
    number: int


WEIGHTS = {"a": 1.0, "b": 2.0, "c": 0.5}
sizes = st.integers(1, 50)
topics = st.sampled_from("abc")
steps = st.lists(st.one_of(st.tuples(topics, sizes), st.none()), max_size=80)
"""An entry to add, or None: take one."""


def new_queue(weights: dict[str, float] = WEIGHTS) -> FairQueue[Entry]:
    return FairQueue(topic_of=lambda entry: entry.topic, size_of=lambda entry: entry.size, weight_of=weights.__getitem__)


def entries(topic: str, *of_sizes: int) -> list[Entry]:
    return [Entry(topic, size, number) for number, size in enumerate(of_sizes)]


def drain(queue: FairQueue[Entry]) -> list[Entry]:
    return [queue.popleft() for _ in range(len(queue))]


def test_without_topics_it_is_a_plain_queue() -> None:
    queue: FairQueue[int] = FairQueue()
    queue.extend([3, 1, 2])
    assert (len(queue), queue.first) == (3, 3)
    assert [queue.popleft() for _ in range(3)] == [3, 1, 2]
    assert not queue
    with pytest.raises(LookupError):
        queue.popleft()


def test_twice_the_weight_takes_twice_as_much() -> None:
    queue = new_queue()
    queue.extend(entries("a", *[1] * 30) + entries("b", *[1] * 30))
    taken = [queue.popleft().topic for _ in range(30)]
    assert (taken.count("a"), taken.count("b")) == (10, 20)


def test_shares_are_of_sizes_and_not_of_entries() -> None:
    queue = new_queue({"a": 1.0, "b": 1.0})
    queue.extend(entries("a", *[10] * 30) + entries("b", *[1] * 300))
    taken = [queue.popleft() for _ in range(110)]
    assert sum(entry.topic == "a" for entry in taken) == 10


def test_a_topic_that_waited_alone_owes_nothing_and_one_that_was_away_gains_nothing() -> None:
    queue = new_queue({"a": 1.0, "b": 1.0})
    queue.extend(entries("a", *[1] * 100))
    for _ in range(50):
        queue.popleft()
    queue.extend(entries("b", *[1] * 50))
    taken = [queue.popleft().topic for _ in range(20)]
    assert taken.count("a") == taken.count("b") == 10


def test_coming_and_going_gains_nothing() -> None:
    queue = new_queue({"a": 1.0, "b": 1.0})
    queue.extend(entries("a", *[1] * 100))
    taken = "b"
    for _ in range(20):
        if taken[-1] == "b":
            queue.append(Entry("b", 1, 0))
        taken += queue.popleft().topic
    assert taken[1:].count("b") == 10


@given(steps)
def test_every_entry_comes_out_once_and_those_of_a_topic_in_order(plan: list[tuple[str, int] | None]) -> None:
    queue, waiting = new_queue(), {topic: deque[Entry]() for topic in WEIGHTS}
    for number, step in enumerate(plan):
        if step is not None:
            waiting[step[0]].append(entry := Entry(*step, number))
            queue.append(entry)
        elif queue:
            first = queue.first
            assert queue.popleft() == first == waiting[first.topic].popleft()
        assert len(queue) == sum(map(len, waiting.values()))
    for entry in drain(queue):
        assert entry == waiting[entry.topic].popleft()
    assert not any(waiting.values())


@given(steps, st.lists(st.sampled_from([0.01, 0.3, 1.0, 7.0, 100.0]), min_size=3, max_size=3))
def test_over_any_stretch_in_which_two_wait_their_shares_differ_by_one_entry_of_each_at_most(
    plan: list[tuple[str, int] | None], some: list[float]
) -> None:
    weights = dict(zip("abc", some, strict=True))
    queue, waiting, taken = new_queue(weights), dict.fromkeys("abc", 0), dict.fromkeys("abc", Fraction(0))
    history: list[tuple[dict[str, int], dict[str, Fraction]]] = [(dict(waiting), dict(taken))]
    for number, step in enumerate([*plan, *[None] * len(plan)]):
        if step is not None:
            queue.append(Entry(*step, number))
            waiting[step[0]] += 1
        elif queue:
            entry = queue.popleft()
            waiting[entry.topic] -= 1
            taken[entry.topic] += entry.size / Fraction(weights[entry.topic])
        history.append((dict(waiting), dict(taken)))
    largest = max((step[1] for step in plan if step is not None), default=0)
    for one, other in (("a", "b"), ("a", "c"), ("b", "c")):
        bound = largest * (1 / Fraction(weights[one]) + 1 / Fraction(weights[other])) * Fraction(1001, 1000)
        since: dict[str, Fraction] | None = None
        least = most = Fraction(0)
        for now_waiting, now_taken in history:
            if not (now_waiting[one] and now_waiting[other]):
                since = None
                continue
            if since is None:
                since, least, most = now_taken, Fraction(0), Fraction(0)
            lead = (now_taken[one] - since[one]) - (now_taken[other] - since[other])
            least, most = min(least, lead), max(most, lead)
            assert most - least <= 2 * bound
            assert abs(lead) <= bound
