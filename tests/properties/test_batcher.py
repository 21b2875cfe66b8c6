"""The batcher keeps its promises over any sequence of arrivals and batches."""

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


@st.composite
def histories(draw: st.DrawFn) -> tuple[Limits, list[tuple[list[int], list[int]]]]:
    """Draw limits, and before each batch the tokens of the queries and logs that arrive."""
    chosen = draw(limits())
    longest_log = draw(st.integers(1, chosen.budget))
    query = st.lists(st.integers(1, chosen.budget), max_size=4)
    log = st.lists(st.integers(1, longest_log), max_size=6)
    return chosen, draw(st.lists(st.tuples(query, log), max_size=60))


def play(chosen: Limits, arrivals: list[tuple[list[int], list[int]]]) -> tuple[list[Seen], int]:
    """Work the arrivals off, then the rest; check what every batch must keep; return what was seen, and the longest log."""
    batcher: Batcher[Text, Text] = Batcher(
        budget_tokens=chosen.budget, log_floor_tokens=chosen.floor, small_tokens=chosen.small, calm_batches=chosen.calm
    )
    numbers = count()
    waiting: tuple[list[Text], list[Text]] = ([], [])
    seen: list[Seen] = []
    longest = 0
    todo = list(arrivals)
    while todo or waiting[0] or waiting[1]:
        new = [[Text(next(numbers), np.zeros(n, dtype=np.int32)) for n in some] for some in (todo.pop(0) if todo else ([], []))]
        batcher.add_queries(new[0])
        batcher.add_logs(new[1])
        waiting[0].extend(new[0])
        waiting[1].extend(new[1])
        longest = max([longest, *(len(log.ids) for log in new[1])])
        asked = len(waiting[0])
        batch = batcher.next_batch()
        _check(batch, waiting, chosen)
        del waiting[0][: len(batch.queries)], waiting[1][: len(batch.logs)]
        assert batcher.waiting_log_tokens == sum(len(log.ids) for log in waiting[1])
        seen.append(Seen(_tokens(batch.queries), _tokens(batch.logs), asked, len(waiting[1]), len(waiting[1][0].ids) if waiting[1] else 0))
    return seen, longest


def _check(batch: Batch[Text, Text], waiting: tuple[list[Text], list[Text]], chosen: Limits) -> None:
    """Each text comes out once and in order, within the budget; something comes while something waits."""
    assert batch.queries == waiting[0][: len(batch.queries)]
    assert batch.logs == waiting[1][: len(batch.logs)]
    assert _tokens(batch.queries) + _tokens(batch.logs) <= chosen.budget
    assert bool(batch.queries or batch.logs) == bool(waiting[0] or waiting[1])


def _tokens(some: list[Text]) -> int:
    return sum(len(text.ids) for text in some)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_every_text_comes_out_once_in_order_within_the_budget_and_something_always_comes(
    history: tuple[Limits, list[tuple[list[int], list[int]]]],
) -> None:
    play(*history)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_logs_get_their_floor_over_any_run_of_batches(history: tuple[Limits, list[tuple[list[int], list[int]]]]) -> None:
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
def test_a_batch_with_queries_holds_few_logs(history: tuple[Limits, list[tuple[list[int], list[int]]]]) -> None:
    chosen, _ = history
    seen, longest = play(*history)
    for batch in seen:
        if batch.queries_before:
            assert batch.logs <= max(chosen.floor + longest - 1, 0)


@settings(max_examples=300, deadline=None)
@given(histories())
def test_logs_alone_fill_a_batch_unless_a_query_came_shortly_before(history: tuple[Limits, list[tuple[list[int], list[int]]]]) -> None:
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
