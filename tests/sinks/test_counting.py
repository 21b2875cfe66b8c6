"""The scan that counts templates: right in any order of rows, whatever the pace of lines, and in few queries."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.milvus.counting import Found, count_newest
from sinks.milvus.searching import MOST_ROWS, Window
from sinks.sink import LineFilter, TemplateCounts

START_MS = 1_700_000_000_000
Lines = list[tuple[int, str]]


class Backend:
    """Answers as a backend that cannot order: the first rows that it comes by."""

    def __init__(self, lines: Lines) -> None:
        self.times = np.array([time for time, _ in lines], np.int64)
        self.digests = [digest for _, digest in lines]
        self.queries = 0
        self.rows = 0

    def read(self, window: Window, rows: int) -> Found:
        assert rows <= MOST_ROWS
        self.queries += 1
        wanted = np.full(len(self.times), fill_value=True)
        if window.since_ms is not None:
            wanted &= self.times >= window.since_ms
        if window.until_ms is not None:
            wanted &= self.times < window.until_ms
        places = np.flatnonzero(wanted)[:rows]
        self.rows += len(places)
        return Found([self.digests[place] for place in places], self.times[places])

    def newest_ms(self, window: Window) -> int:
        until = 1 << 63 if window.until_ms is None else window.until_ms
        return max(int(time) for time in self.times if time < until)


def count(lines: Lines, only: LineFilter = LineFilter(), most_rows: int = 1 << 40) -> tuple[TemplateCounts, Backend]:  # noqa: B008 (immutable)
    backend = Backend(lines)
    within = Window(only.since_ms, only.until_ms)
    return count_newest(backend.read, backend.newest_ms, within, most_rows=most_rows, deadline_passed=lambda: False), backend


def expected(lines: Lines, most_rows: int) -> dict[str, int]:
    newest = sorted(lines, key=lambda line: -line[0])[:most_rows]
    return dict(Counter(digest for _, digest in newest))


def lines_of(answer: TemplateCounts) -> dict[str, int]:
    return {one.digest: one.lines for one in answer.counts}


def paced(*parts: tuple[int, int, int]) -> Lines:
    """Return so many lines from a start, so many milliseconds apart, for each part; ten templates in turn."""
    return [(start + step * number, f"{number % 10}") for start, rows, step in parts for number in range(rows)]


STREAMS = {
    "steady": paced((START_MS, 60_000, 72)),
    "dense": paced((START_MS, 60_000, 1)),
    "quiet for a year": paced((START_MS, 20_000, 10), (START_MS + 31_536_000_000, 20_000, 10)),
    "one line in 1970": paced((0, 1, 1), (START_MS, 40_000, 3)),
    "one line far ahead": paced((START_MS, 40_000, 3), (START_MS * 5, 1, 1)),
    "bursts": paced(*((START_MS + 3_600_000 * hour, 2_000, 1) for hour in range(20))),
    "a busy end": paced((START_MS, 5_000, 100_000), (START_MS + 500_000_000, 40_000, 1)),
    "the whole of time": paced((-(1 << 63), 3, 1), (START_MS, 30_000, 5), ((1 << 63) - 3, 3, 1)),
}


@pytest.mark.parametrize("order", ["oldest first", "newest first", "any"])
@pytest.mark.parametrize("lines", STREAMS.values(), ids=STREAMS)
def test_every_line_is_counted_once_and_few_are_read_in_vain(lines: Lines, order: str) -> None:
    shuffled = sorted(lines, reverse=order == "newest first")
    if order == "any":
        random.Random(3).shuffle(shuffled)
    answer, backend = count(shuffled)
    assert answer.complete
    assert lines_of(answer) == expected(lines, len(lines))
    assert backend.rows <= len(lines) + 16 * MOST_ROWS
    assert backend.queries <= 60


@pytest.mark.parametrize("most_rows", [1, 100, 20_000, 50_000, 59_999])
def test_of_too_many_the_newest_are_counted(most_rows: int) -> None:
    lines = STREAMS["steady"]
    answer, _ = count(lines, most_rows=most_rows)
    assert not answer.complete
    assert lines_of(answer) == expected(lines, most_rows)


def test_as_many_as_are_wanted_are_all() -> None:
    answer, _ = count(STREAMS["steady"], most_rows=60_000)
    assert answer.complete
    assert sum(lines_of(answer).values()) == 60_000


def test_more_lines_in_one_millisecond_than_a_query_returns_are_cut_and_said_so() -> None:
    answer, _ = count(paced((START_MS, 20_000, 0), (START_MS + 7, 50, 1), (START_MS - 100, 50, 1)))
    assert not answer.complete
    assert sum(lines_of(answer).values()) == MOST_ROWS + 100


def test_a_window_is_kept_to() -> None:
    lines = STREAMS["steady"]
    only = LineFilter(since_ms=START_MS + 72 * 10_000, until_ms=START_MS + 72 * 50_000)
    answer, _ = count(lines, only)
    assert lines_of(answer) == expected(lines[10_000:50_000], 40_000)
    assert (min(one.first_ms for one in answer.counts), max(one.last_ms for one in answer.counts)) == (lines[10_000][0], lines[49_999][0])


def test_a_quiet_window_takes_one_query() -> None:
    answer, backend = count(STREAMS["steady"], LineFilter(since_ms=START_MS + 72 * 50_000))
    assert (sum(lines_of(answer).values()), backend.queries) == (10_000, 1)


def test_time_that_is_up_in_between_keeps_the_newest() -> None:
    backend = Backend(STREAMS["steady"])
    asked = itertools.count()
    answer = count_newest(backend.read, backend.newest_ms, Window(None, None), most_rows=1 << 40, deadline_passed=lambda: next(asked) >= 3)
    assert not answer.complete
    counted = sum(lines_of(answer).values())
    assert 0 < counted < 60_000
    assert lines_of(answer) == expected(STREAMS["steady"], counted)


@pytest.mark.parametrize("most_rows", [1 << 40, 20_000, 100])
def test_time_that_is_up_while_the_newest_is_looked_for_leaves_the_page_that_was_read(most_rows: int) -> None:
    backend = Backend(STREAMS["steady"])
    answer = count_newest(backend.read, lambda _window: None, Window(None, None), most_rows=most_rows, deadline_passed=lambda: False)
    assert not answer.complete
    assert lines_of(answer) == dict(Counter(digest for _, digest in STREAMS["steady"][: min(MOST_ROWS, most_rows)]))
    assert backend.queries == 1


def test_time_that_is_up_after_a_page_that_was_thrown_away_leaves_that_page() -> None:
    backend = Backend(STREAMS["steady"])
    answer = count_newest(
        backend.read, backend.newest_ms, Window(None, None), most_rows=1 << 40, deadline_passed=lambda: backend.queries > 0
    )
    assert (sum(lines_of(answer).values()), answer.complete, backend.queries) == (MOST_ROWS, False, 1)


@settings(deadline=None, max_examples=30)
@given(
    groups=st.lists(
        st.tuples(
            st.integers(-(1 << 62), 1 << 62) | st.integers(START_MS, START_MS + 100_000), st.integers(1, 6_000), st.integers(0, 5_000)
        ),
        max_size=8,
    ),
    order=st.integers(0, 1 << 32),
    most_rows=st.integers(0, 80_000),
)
def test_any_stream_is_counted_as_if_all_of_it_were_read(groups: list[tuple[int, int, int]], order: int, most_rows: int) -> None:
    lines = paced(*groups)
    random.Random(order).shuffle(lines)
    answer, _ = count(lines, most_rows=most_rows)
    counted = sum(lines_of(answer).values())
    assert counted <= min(most_rows, len(lines))
    if answer.complete:
        assert lines_of(answer) == expected(lines, len(lines))
    busiest = max(Counter(time for time, _ in lines).values(), default=0)
    if busiest < MOST_ROWS:
        assert counted == min(most_rows, len(lines))
        assert answer.complete == (most_rows >= len(lines))
