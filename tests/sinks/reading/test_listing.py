"""Blocks are listed newest first, from a sink that orders them and from one that does not, in few queries."""

from random import Random

import pytest

from sinks.block import Block, BlockId
from sinks.reading.cache import BlockCache
from sinks.reading.line_filter import never
from sinks.reading.listing import NewestFirst, Pace
from sinks.reading.snapshot import Snapshot
from sinks.sink import BlockFilter
from tests.fakes.sink import FakeSink
from tests.world import DIM, block, line

DAY_MS = 86_400_000
_END_MS = 1 << 62


def fill(sink: FakeSink, spans: list[tuple[int, int]]) -> None:
    """Store a block of two lines for each first and last time, oldest names first."""
    sink.open()
    sink.write_blocks(
        [block([line(number, time=first), line(number, sub=1, time=last)], first=number) for number, (first, last) in enumerate(spans)]
    )


def listing(sink: FakeSink, only: BlockFilter, pace: Pace) -> NewestFirst:
    return NewestFirst(Snapshot(sink, BlockCache(0), lambda: 0.0, never, strong=False, is_last=False), only, pace)


def walk(sink: FakeSink, only: BlockFilter, pace: Pace) -> list[int]:
    """List page by page; check of each page that no block was passed over. Return how many queries each took."""
    end_ms = _END_MS if only.until_ms is None else only.until_ms
    expected = {one: min(stored.last_ms, end_ms - 1) for one, stored in sink.blocks.items() if _overlaps(stored, only)}
    newest = listing(sink, only, pace)
    queries = []
    while newest.unseen_ms is not None:
        before = len(sink.calls)
        newest.next_page()
        queries.append(len(sink.calls) - before)
        listed = list(newest.heads().ids)
        assert len(listed) == len(set(listed))
        unseen: dict[BlockId, int] = {one: last_ms for one, last_ms in expected.items() if one not in listed}
        assert _latest(unseen) <= _bound(newest)
    return queries


def _overlaps(stored: Block, only: BlockFilter) -> bool:
    return (only.since_ms is None or stored.last_ms >= only.since_ms) and (only.until_ms is None or stored.first_ms < only.until_ms)


def _latest(unseen: dict[BlockId, int]) -> int:
    return max(unseen.values(), default=-_END_MS)


def _bound(newest: NewestFirst) -> int:
    return -_END_MS if newest.unseen_ms is None else newest.unseen_ms


@pytest.mark.slow
@pytest.mark.parametrize("orders_blocks", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_no_block_is_passed_over(seed: int, *, orders_blocks: bool) -> None:
    random = Random(seed)
    sink = FakeSink(DIM, orders_blocks=orders_blocks)
    starts = [random.choice([random.randint(0, 50), random.randint(0, 10_000), 5_000]) for _ in range(60)]
    fill(sink, [(start, start + random.choice([0, 1, 500, 9_000])) for start in starts])
    pace = Pace(random.choice([1, 4, 16]))
    for _ in range(3):
        since, until = random.choice([None, random.randint(0, 9_000)]), random.choice([None, random.randint(0, 12_000)])
        walk(sink, BlockFilter(since_ms=since, until_ms=until), pace)


@pytest.mark.parametrize("orders_blocks", [True, False])
def test_the_first_page_is_small_and_the_next_listing_finds_it_at_once(*, orders_blocks: bool) -> None:
    sink = FakeSink(DIM, orders_blocks=orders_blocks)
    fill(sink, [(DAY_MS + 4_000 * number, DAY_MS + 4_000 * number + 3_999) for number in range(500)])
    pace = Pace(16)
    listing(sink, BlockFilter(), pace).next_page()
    before = len(sink.calls)
    newest = listing(sink, BlockFilter(), pace)
    newest.next_page()
    assert len(sink.calls) - before == 1
    assert 4 <= newest.heads().size <= 32
    assert newest.unseen_ms is not None


def test_one_odd_clock_costs_later_listings_little() -> None:
    sink = FakeSink(DIM, orders_blocks=False)
    spans = [(DAY_MS + 4_000 * number, DAY_MS + 4_000 * number + 3_999) for number in range(500)]
    fill(sink, [(0, DAY_MS + 4_000), *spans, (60_000 * DAY_MS, 60_000 * DAY_MS + 1)])
    pace = Pace(16)
    newest = listing(sink, BlockFilter(), pace)
    while newest.heads().size < 10:
        newest.next_page()
    before = len(sink.calls)
    listing(sink, BlockFilter(), pace).next_page()
    assert len(sink.calls) - before <= 2


def test_few_blocks_are_listed_in_one_query() -> None:
    sink = FakeSink(DIM, orders_blocks=False)
    fill(sink, [(number * DAY_MS, number * DAY_MS + 1) for number in range(20)])
    assert walk(sink, BlockFilter(), Pace()) == [1]


def test_an_empty_window_is_not_asked_for() -> None:
    sink = FakeSink(DIM, orders_blocks=False)
    fill(sink, [(0, 100)])
    assert walk(sink, BlockFilter(since_ms=50, until_ms=20), Pace()) == []


def test_an_empty_index_is_listed_in_one_query() -> None:
    sink = FakeSink(DIM, orders_blocks=False)
    fill(sink, [])
    assert walk(sink, BlockFilter(), Pace()) == [1]
