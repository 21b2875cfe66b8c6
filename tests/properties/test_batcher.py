"""The batcher keeps its promises over any sequence of arrivals, batches, batches that are put back, and shrinks."""

from itertools import count
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worker.batcher import Batch, Batcher
from worker.engine.engine import TokenIds


class Text(NamedTuple):
    number: int
    ids: TokenIds


class Limits(NamedTuple):
    budget: int
    floor: int
    small: int
    calm: int


class Seen(NamedTuple):
    """One batch, and what waited round it."""

    queries: int
    logs: int
    queries_before: int
    logs_after: int
    next_log: int
    """Tokens of the first log that was left behind; 0 without one."""


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    budget = draw(st.integers(1, 60))
    small = draw(st.integers(1, budget))
    return Limits(budget, draw(st.integers(1, small)), small, draw(st.integers(0, 4)))


class Arrival(NamedTuple):
    """What comes before a batch is formed, and whether the batch stays or is put back before the next."""

    queries: list[int]
    logs: list[int]
    put_back: bool


History = tuple[Limits, list[Arrival]]


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw limits, and before each batch the tokens of the queries and logs that arrive."""
    chosen = draw(limits())
    longest_log = draw(st.integers(1, chosen.budget))
    query = st.lists(st.integers(1, chosen.budget), max_size=4)
    log = st.lists(st.integers(1, longest_log), max_size=6)
    return chosen, draw(st.lists(st.builds(Arrival, query, log, st.booleans()), max_size=60))


def play(chosen: Limits, arrivals: list[Arrival]) -> tuple[list[Seen], int]:
    """Work the arrivals off, then the rest; check what every batch must keep; return what was seen, and the longest log.

    A batch that is put back is checked like any other, but only those that stay are seen.
    """
    batcher = new_batcher(chosen)
    numbers = count()
    waiting: tuple[list[Text], list[Text]] = ([], [])
    seen: list[Seen] = []
    longest = 0
    todo = list(arrivals)
    while todo or waiting[0] or waiting[1]:
        arrival = todo.pop(0) if todo else Arrival([], [], put_back=False)
        new = [[Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in some] for some in (arrival.queries, arrival.logs)]
        batcher.add_queries(new[0])
        batcher.add_logs(new[1])
        waiting[0].extend(new[0])
        waiting[1].extend(new[1])
        longest = max([longest, *(len(log.ids) for log in new[1])])
        asked = len(waiting[0])
        batch = batcher.next_batch()
        _check(batch, waiting, chosen.budget)
        if arrival.put_back:
            batcher.put_back(batch)
            assert batcher.waiting_log_tokens == _tokens(waiting[1])
            assert len(batcher) == len(waiting[0]) + len(waiting[1])
            continue
        del waiting[0][: len(batch.queries)], waiting[1][: len(batch.logs)]
        assert batcher.waiting_log_tokens == _tokens(waiting[1])
        seen.append(Seen(_tokens(batch.queries), _tokens(batch.logs), asked, len(waiting[1]), len(waiting[1][0].ids) if waiting[1] else 0))
    return seen, longest


def _check(batch: Batch[Text, Text], waiting: tuple[list[Text], list[Text]], budget: int) -> None:
    """Each text comes out once and in order, within the budget; something comes while something waits."""
    assert batch.queries == waiting[0][: len(batch.queries)]
    assert batch.logs == waiting[1][: len(batch.logs)]
    assert _tokens(batch.queries) + _tokens(batch.logs) <= budget
    assert bool(batch.queries or batch.logs) == bool(waiting[0] or waiting[1])


def _tokens(some: list[Text]) -> int:
    return sum(len(text.ids) for text in some)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_every_text_comes_out_once_in_order_within_the_budget_and_something_always_comes(history: History) -> None:
    play(*history)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_logs_get_their_floor_over_any_run_of_batches(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    if chosen.floor + longest - 1 > chosen.budget:
        return
    for start in range(len(seen)):
        tokens = 0
        for n, batch in enumerate(seen[start:], start=1):
            if not batch.logs_after:
                break
            tokens += batch.logs
            assert tokens >= n * chosen.floor - (longest - 1), (start, n)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_a_batch_with_queries_holds_few_logs(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    for batch in seen:
        if batch.queries_before:
            assert batch.logs <= max(chosen.floor + longest - 1, 0)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_logs_alone_fill_a_batch_unless_a_query_came_shortly_before(history: History) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    calm = 0
    for batch in seen:
        if batch.queries_before:
            calm = chosen.calm
            continue
        limit = max(chosen.small, min(chosen.floor + longest - 1, chosen.budget)) if calm else chosen.budget
        assert batch.logs <= limit
        if batch.logs_after:
            assert batch.logs + batch.next_log > (chosen.small if calm else chosen.budget)
        calm = max(calm - 1, 0) if batch.logs else calm


def new_batcher(chosen: Limits) -> Batcher[Text, Text]:
    return Batcher(budget_tokens=chosen.budget, log_floor_tokens=chosen.floor, small_tokens=chosen.small, calm_batches=chosen.calm)


@settings(max_examples=300, deadline=None)
@given(histories(), st.integers(1, 3))
def test_a_batch_that_is_put_back_comes_again_however_often_and_changes_nothing_after_it(history: History, times: int) -> None:
    """Two batchers see the same; one puts every batch back, and still they agree on every batch."""
    chosen, arrivals = history
    plain, undoing = new_batcher(chosen), new_batcher(chosen)
    numbers = count()
    todo = list(arrivals)
    while todo or len(plain):
        arrival = todo.pop(0) if todo else Arrival([], [], put_back=False)
        new = [[Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in some] for some in (arrival.queries, arrival.logs)]
        for batcher in (plain, undoing):
            batcher.add_queries(new[0])
            batcher.add_logs(new[1])
        expected = _names(plain.next_batch())
        for _ in range(times):
            again = undoing.next_batch()
            assert _names(again) == expected
            undoing.put_back(again)
        assert _names(undoing.next_batch()) == expected
        assert undoing.waiting_log_tokens == plain.waiting_log_tokens


def _names(batch: Batch[Text, Text]) -> tuple[list[int], list[int]]:
    return [query.number for query in batch.queries], [log.number for log in batch.logs]


@settings(max_examples=300, deadline=None)
@given(limits(), st.data())
def test_after_a_shrink_every_batch_is_within_the_smaller_budget_and_something_always_comes(chosen: Limits, data: st.DataObject) -> None:
    """Shrinks come at any time, also while a batch stands ready that may then be put back; no text is longer than the last budget."""
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
            if data.draw(st.booleans()):
                batcher.put_back(batch)
                continue
        del waiting[0][: len(batch.queries)], waiting[1][: len(batch.logs)]
        assert batcher.waiting_log_tokens == _tokens(waiting[1])
    assert len(batcher) == 0
