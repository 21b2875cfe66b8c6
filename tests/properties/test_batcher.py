"""The batcher keeps its promises for any sequence of arrivals, batches and shrinks."""

import math
from itertools import count
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.embedding.batch_cap import HOLD_S
from worker.embedding.batcher import Batch, Batcher
from worker.embedding.model.vectors import TokenIds


class Text(NamedTuple):
    number: int
    ids: TokenIds


class Limits(NamedTuple):
    budget: int
    floor: int


class Seen(NamedTuple):
    """One batch, and what waited before and after it."""

    queries: list[int]
    """Tokens of each query."""
    logs: int
    """Tokens of all logs."""
    waiting_queries: list[int]
    """Tokens of each that waited before the batch was formed."""
    logs_after: int
    next_log: int
    """Tokens of the first log that still waited; 0 if none did."""
    cap: int
    """Most tokens while queries arrive."""
    since_query_s: float


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    budget = draw(st.integers(1, 60))
    return Limits(budget, draw(st.integers(1, budget)))


class Arrival(NamedTuple):
    """Texts that arrive before a batch, and how long the previous batch took."""

    queries: list[int]
    logs: list[int]
    took_s: float


History = tuple[Limits, list[Arrival]]

NOTHING = Arrival([], [], 0.0)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw limits, and before each batch the tokens of the queries and logs that arrive."""
    chosen = draw(limits())
    longest_log = draw(st.integers(1, chosen.budget))
    longest_query = draw(st.integers(1, chosen.budget))
    query = st.lists(st.integers(1, longest_query), max_size=4)
    log = st.lists(st.integers(1, longest_log), max_size=6)
    took_s = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.8, 4.0])
    return chosen, draw(st.lists(st.builds(Arrival, query, log, took_s), max_size=60))


def play(chosen: Limits, arrivals: list[Arrival]) -> tuple[list[Seen], int]:
    """Process the arrivals, then the rest; check every batch; return the batches, and the tokens of the longest log."""
    batcher = new_batcher(chosen)
    numbers = count()
    waiting: tuple[list[Text], list[Text]] = ([], [])
    seen: list[Seen] = []
    longest = last_tokens = 0
    since_query_s = math.inf
    todo = list(arrivals)
    while todo or waiting[0] or waiting[1]:
        arrival = todo.pop(0) if todo else NOTHING
        batcher.observe(last_tokens, arrival.took_s)
        new = [[Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in some] for some in (arrival.queries, arrival.logs)]
        since_query_s = 0.0 if new[0] else since_query_s + arrival.took_s
        batcher.add_queries(new[0])
        batcher.add_logs(new[1])
        waiting[0].extend(new[0])
        waiting[1].extend(new[1])
        longest = max([longest, *(len(log.ids) for log in new[1])])
        asked = [len(query.ids) for query in waiting[0]]
        batch = batcher.next_batch()
        _check(batch, waiting, chosen.budget)
        last_tokens = batch.tokens
        del waiting[0][: len(batch.queries)], waiting[1][: len(batch.logs)]
        assert len(batcher) == len(waiting[0]) + len(waiting[1])
        next_log = len(waiting[1][0].ids) if waiting[1] else 0
        taken = [len(query.ids) for query in batch.queries]
        seen.append(Seen(taken, _tokens(batch.logs), asked, len(waiting[1]), next_log, batcher.capped_tokens, since_query_s))
    return seen, longest


def _check(batch: Batch[Text], waiting: tuple[list[Text], list[Text]], budget: int) -> None:
    """Each text comes out once and in order, within the budget; the batch is not empty while a text waits."""
    assert batch.queries == waiting[0][: len(batch.queries)]
    assert batch.logs == waiting[1][: len(batch.logs)]
    assert _tokens(batch.queries) + _tokens(batch.logs) <= budget
    assert bool(batch.queries or batch.logs) == bool(waiting[0] or waiting[1])


def late_tokens(chosen: Limits, seen: list[Seen]) -> int:
    """Return how many tokens the logs may lag behind their floor: one floor if a query was too long to fit beside it."""
    return chosen.floor if any(max(batch.waiting_queries, default=0) > chosen.budget - chosen.floor for batch in seen) else 0


def _tokens(some: list[Text]) -> int:
    return sum(len(text.ids) for text in some)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_every_text_comes_out_once_in_order_within_the_budget_and_something_always_comes(history: History) -> None:
    play(*history)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_logs_get_their_floor_over_any_run_of_batches(history: History) -> None:
    """One floor less if queries come that are too long to fit beside it."""
    chosen, _ = history
    seen, longest = play(*history)
    late = late_tokens(chosen, seen)
    if chosen.floor + longest - 1 + late > chosen.budget:
        return
    for start in range(len(seen)):
        tokens = 0
        for n, batch in enumerate(seen[start:], start=1):
            if not batch.logs_after:
                break
            tokens += batch.logs
            assert tokens >= n * chosen.floor - (longest - 1) - late, (start, n)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_a_query_is_not_passed_over_for_long(history: History) -> None:
    """Once if it is too long to fit beside the floor, else as often as the logs' credit lasts; long queries leave that higher."""
    chosen, _ = history
    seen, longest = play(*history)
    credit = max(longest - 1, 0) + late_tokens(chosen, seen)
    passed = 0
    for batch in seen:
        passed = 0 if batch.queries or not batch.waiting_queries else passed + 1
        if passed:
            room = chosen.budget - batch.waiting_queries[0] - chosen.floor
            assert passed <= (credit / (room + 1) if room >= 0 else 1)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_a_batch_with_queries_holds_few_logs_and_more_than_the_cap_only_for_its_first_query(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    for batch in seen:
        if batch.waiting_queries:
            assert batch.logs <= max(chosen.floor + longest - 1 + late_tokens(chosen, seen), 0)
            assert batch.logs + sum(batch.queries) <= batch.cap or len(batch.queries) <= 1
            if batch.queries and len(batch.queries) < len(batch.waiting_queries):
                left = batch.waiting_queries[len(batch.queries)]
                assert batch.logs + sum(batch.queries) + left > batch.cap, "there was room for one more"


@settings(max_examples=300, deadline=None)
@given(histories())
def test_logs_alone_fill_the_budget_or_the_cap_for_ten_seconds_of_work_after_a_query(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    for batch in seen:
        if not batch.waiting_queries:
            fill = batch.cap if batch.since_query_s < HOLD_S else chosen.budget
            assert batch.logs <= max(fill, min(chosen.floor + longest - 1 + late_tokens(chosen, seen), chosen.budget))
            assert not batch.logs_after or batch.logs + batch.next_log > fill


def new_batcher(chosen: Limits, *, topics: int = 1) -> Batcher[Text]:
    """Return a batcher whose log texts are of this many topics, in turn."""
    return Batcher(
        budget_tokens=chosen.budget,
        log_floor_tokens=chosen.floor,
        target_s=0.1,
        topic_of=lambda text: str(text.number % topics),
        weight_of=lambda topic: 1.0 + int(topic),
    )


@settings(max_examples=200, deadline=None)
@given(limits(), st.lists(st.tuples(st.integers(0, 2), st.floats(0.1, 1.0)), min_size=1, max_size=60))
def test_topics_share_the_tokens_of_logs_by_weight_while_they_wait(chosen: Limits, plan: list[tuple[int, float]]) -> None:
    """Of any two topics that still wait after a batch, tokens per weight since the beginning differ by one text of each at most."""
    texts = [(topic, max(int(chosen.budget * share), 1)) for topic, share in plan]
    weights = (1.0, 2.0, 0.25)
    batcher: Batcher[Text] = Batcher(
        budget_tokens=chosen.budget,
        log_floor_tokens=chosen.floor,
        topic_of=lambda text: str(texts[text.number][0]),
        weight_of=lambda topic: weights[int(topic)],
    )
    batcher.add_logs(Text(number, np.zeros(size, dtype=np.int32)) for number, (_, size) in enumerate(texts))
    longest = max(size for _, size in texts)
    waiting, taken = [sum(topic == one for topic, _ in texts) for one in range(3)], [0.0] * 3
    while len(batcher):
        for number in _names(batcher.next_batch())[1]:
            topic, size = texts[number]
            waiting[topic] -= 1
            taken[topic] += size / weights[topic]
            for one, other in ((0, 1), (0, 2), (1, 2)):
                if waiting[one] and waiting[other]:
                    assert abs(taken[one] - taken[other]) <= 1.001 * longest * (1 / weights[one] + 1 / weights[other])


def _names(batch: Batch[Text]) -> tuple[list[int], list[int]]:
    return [query.number for query in batch.queries], [log.number for log in batch.logs]


@settings(max_examples=300, deadline=None)
@given(limits(), st.data())
def test_after_a_shrink_every_batch_is_within_the_smaller_budget_and_something_always_comes(chosen: Limits, data: st.DataObject) -> None:
    """A shrink may come after any batch; no text is longer than the last budget."""
    least = data.draw(st.integers(1, chosen.budget))
    batcher = new_batcher(chosen)
    waiting: tuple[list[Text], list[Text]] = ([], [])
    numbers = count()
    budget = chosen.budget
    text = st.lists(st.integers(1, least), max_size=6)
    arrivals = data.draw(st.integers(0, 15))
    while arrivals or waiting[0] or waiting[1]:
        if arrivals:
            for some, add in zip(waiting, (batcher.add_queries, batcher.add_logs), strict=True):
                new = [Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in data.draw(text)]
                some.extend(new)
                add(new)
        batch = batcher.next_batch()
        _check(batch, waiting, budget)
        arrivals = max(arrivals - 1, 0)
        if arrivals and data.draw(st.booleans()):
            asked = data.draw(st.integers(least, chosen.budget))
            batcher.shrink(asked)
            budget = min(budget, asked)
        del waiting[0][: len(batch.queries)], waiting[1][: len(batch.logs)]
        assert len(batcher) == len(waiting[0]) + len(waiting[1])
    assert len(batcher) == 0
