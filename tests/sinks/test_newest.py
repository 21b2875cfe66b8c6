"""The newest lines of one template or of many are found with few bounded queries, in whatever order the rows come."""

import itertools
import random
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.milvus.newest import PAGE_ROWS, Ask, newest, newest_of_each
from sinks.milvus.searching import MOST_ROWS, Place, Window

QUERIES = 240
"""Of one template: 54 doublings and 64 halvings with a guess before each, a first and a last. A group takes no more for each of it."""
ALL = Window(None, None)
START_MS = 1_700_000_000_000


class Backend:
    """Answers as a backend that cannot order: the first rows that it comes by."""

    def __init__(self, rows: Iterable[tuple[str, Place]]) -> None:
        self.rows = list(rows)
        self.queries = 0

    def read_each(self, asks: Sequence[Ask], rows: int) -> list[tuple[str, Place]]:
        assert 0 < rows <= MOST_ROWS
        self.queries += 1
        windows = {one: ask.window for ask in asks for one in ask.templates}
        assert len(windows) == sum(len(ask.templates) for ask in asks)
        found = ((one, place) for one, place in self.rows if one in windows and within(place, windows[one]))
        return list(itertools.islice(found, rows))

    def read(self, window: Window, rows: int) -> list[Place]:
        return [place for _, place in self.read_each([Ask(("",), window)], rows)]

    def newest_of(self, digests: Iterable[str], limit: int, window: Window) -> dict[str, list[Place]]:
        """Look at every row."""
        found: dict[str, list[Place]] = {}
        for one, place in sorted(self.rows, reverse=True, key=lambda row: row[1]):
            if one in digests and within(place, window) and len(found.setdefault(one, [])) < limit:
                found[one].append(place)
        return {one: places for one, places in found.items() if places}


def within(place: Place, window: Window) -> bool:
    since, until = window
    return (since is None or place.time >= since) and (until is None or place.time < until)


def at(time: int, number: int) -> Place:
    """Return a place at a time; `number` tells it from others."""
    return Place(time, "logs", 0, number, 0, 0, str(number))


times = st.one_of(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=30),
    st.lists(st.integers(0, 5), max_size=30),
    st.builds(
        lambda start, step, count: [start + step * n for n in range(count)],
        st.integers(0, 1 << 41),
        st.integers(0, 10_000),
        st.integers(0, 900),
    ),
)
bounds = st.none() | st.integers(-5, 10) | st.integers(0, 1 << 41)


@settings(deadline=None)
@given(
    groups=st.lists(times, max_size=4),
    order=st.randoms(use_true_random=False),
    limit=st.integers(1, 300),
    latest_ms=st.integers(-10, 1 << 42),
    since_ms=bounds,
    until_ms=bounds,
)
def test_the_newest_are_found_in_any_order_of_rows_and_from_any_guess(
    groups: list[list[int]], order: random.Random, limit: int, latest_ms: int, since_ms: int | None, until_ms: int | None
) -> None:
    rows = [("", at(time, number)) for number, time in enumerate(itertools.chain.from_iterable(groups))]
    order.shuffle(rows)
    backend, window = Backend(rows), Window(since_ms, until_ms)
    found = newest(backend.read, limit, window, latest_ms)
    assert found == backend.newest_of([""], limit, window).get("", [])
    assert backend.queries <= QUERIES


@settings(deadline=None)
@given(
    groups=st.lists(st.tuples(st.sampled_from("abcdef"), times), max_size=9),
    order=st.randoms(use_true_random=False),
    limit=st.integers(1, 60),
    latest_ms=st.integers(-10, 1 << 42),
    since_ms=bounds,
    until_ms=bounds,
    guesses=st.dictionaries(st.sampled_from("abcdef"), st.integers(-10, 1 << 42)),
)
def test_the_newest_of_each_of_a_group_are_what_looking_at_all_rows_finds(
    groups: list[tuple[str, list[int]]],
    order: random.Random,
    limit: int,
    latest_ms: int,
    since_ms: int | None,
    until_ms: int | None,
    guesses: dict[str, int],
) -> None:
    rows = [(one, at(time, number)) for one, some in groups for number, time in enumerate(some)]
    order.shuffle(rows)
    backend, window = Backend(rows), Window(since_ms, until_ms)
    found = newest_of_each(backend.read_each, "abcde", limit, window, latest_ms, guesses)
    assert found == backend.newest_of("abcde", limit, window)
    assert backend.queries <= QUERIES * len("abcde")


def stream(lines: int, templates: int, step_ms: int, busy: float) -> list[tuple[str, Place]]:
    """Return lines at an even pace; so large a share is of template 0, the others divide the rest."""
    drawn = random.Random(5)
    each = [0 if drawn.random() < busy else drawn.randrange(1, templates) for _ in range(lines)]
    return [(str(one), at(START_MS + step_ms * number, number)) for number, one in enumerate(each)]


@pytest.mark.parametrize("order", ["oldest first", "newest first", "any"])
@pytest.mark.parametrize(
    ("rows", "most_queries"),
    [
        pytest.param(stream(200, 10, 50, 0.1), 1, id="few"),
        pytest.param(stream(16_000, 10, 50, 0.98), 3, id="one is busy"),
        pytest.param(stream(16_000, 10, 50, 0.1), 4, id="all are busy"),
        pytest.param(stream(16_000, 64, 1, 0.5), 4, id="64 at 1,000 a second"),
        pytest.param(stream(100_000, 10, 50, 0.1), 4, id="all are very busy"),
    ],
)
def test_a_group_takes_few_queries(rows: list[tuple[str, Place]], most_queries: int, order: str) -> None:
    shuffled = sorted(rows, key=lambda row: row[1], reverse=order == "newest first")
    if order == "any":
        random.Random(3).shuffle(shuffled)
    backend = Backend(shuffled)
    digests = {one for one, _ in rows}
    found = newest_of_each(backend.read_each, digests, 1, ALL, rows[-1][1].time, {})
    assert found == backend.newest_of(digests, 1, ALL)
    assert backend.queries <= most_queries


def test_templates_whose_newest_time_is_known_take_one_query() -> None:
    backend = Backend(stream(16_000, 10, 50, 0.3))
    expected = backend.newest_of("123", 1, ALL)
    assert newest_of_each(backend.read_each, "123", 1, ALL, 0, {one: places[0].time for one, places in expected.items()}) == expected
    assert backend.queries == 1


def test_a_rare_template_takes_one_query() -> None:
    backend = Backend(("", at(number, number)) for number in range(PAGE_ROWS - 1))
    assert newest(backend.read, 2, ALL, 0) == [at(254, 254), at(253, 253)]
    assert backend.queries == 1


def test_a_steady_busy_template_takes_few_queries_when_the_guess_is_good() -> None:
    backend = Backend(("", at(1_000 * number, number)) for number in range(100_000))
    assert newest(backend.read, 1, ALL, 99_999_000) == [at(99_999_000, 99_999)]
    assert backend.queries == 2


def test_lines_of_one_millisecond_are_ordered_up_to_the_most_that_a_query_returns() -> None:
    backend = Backend([("", at(7, number)) for number in range(MOST_ROWS)] + [("", at(9, MOST_ROWS))])
    assert newest(backend.read, 2, ALL, 0) == [at(9, MOST_ROWS), at(7, MOST_ROWS - 1)]


def test_one_millisecond_full_of_one_template_does_not_hide_the_others() -> None:
    rows = [("a", at(7, number)) for number in range(5_000)] + [("b", at(7, 3)), ("b", at(2, 4)), ("c", at(1, 1))]
    found = newest_of_each(Backend(rows).read_each, "abc", 2, ALL, 7, {})
    assert found == {"a": [at(7, 4_999), at(7, 4_998)], "b": [at(7, 3), at(2, 4)], "c": [at(1, 1)]}
