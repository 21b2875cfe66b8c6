"""Which blocks are merged, and that a merged one holds exactly the lines of its sources."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.block import Block, BlockColumns, BlockId, BlockPlace, Lines
from sinks.build import DEFAULT_BOUNDS, BlockBounds
from sinks.codec import decode_lines
from sinks.lines import all_lines
from tests.world import MASKS, block, line
from worker.indexing.merging import (
    ABOUT_ONE_SIZE,
    DAY_MS,
    MOST_STANDING,
    NEIGHBOURS,
    QUIET_S,
    MergeRules,
    MergeSource,
    RunTail,
    blocks_missing,
    merge_lines,
    merge_rules,
    plan_stretch,
    stretches_of,
)

PLACE = BlockPlace("logs", "e1", 0)
RULES = MergeRules(most_pieces=1024, window_ms=DAY_MS)


def source(first: int, pieces: int, *, last: int | None = None, written_ms: int = 0) -> MergeSource:
    return MergeSource(BlockId(PLACE, "r", first, first if last is None else last), pieces, written_ms)


def of_sizes(*sizes: int) -> list[MergeSource]:
    return [source(number, size) for number, size in enumerate(sizes)]


def sizes_of(plans: Sequence[Sequence[MergeSource]]) -> list[list[int]]:
    return [[one.pieces for one in plan] for plan in plans]


def one_line(number: int, written_ms: int = 0) -> Block:
    made = block([line(number)], first=number)
    return made._replace(head=made.head._replace(written_ms=written_ms))


def columns_of(made: Block) -> Lines:
    return decode_lines(BlockColumns(made.places, made.texts, made.fields))


def merge_blocks(blocks: Sequence[Block], bounds: BlockBounds) -> tuple[Block, Lines] | None:
    """Return the merged block of blocks, and its lines."""
    sources = [MergeSource(one.id, int(one.head.pieces.sum()), one.head.written_ms) for one in blocks]
    return merge_lines(sources, [columns_of(one) for one in blocks], MASKS, bounds)


MIXED = [1, 20] * (MOST_STANDING // 2)


@pytest.mark.parametrize(
    ("sizes", "is_quiet", "merged"),
    [
        pytest.param([1] * NEIGHBOURS, False, [[1] * 8], id="eight of about one size"),
        pytest.param([1] * (NEIGHBOURS - 1), False, [], id="seven"),
        pytest.param([ABOUT_ONE_SIZE, *[1] * 7], False, [], id="a block eight times another is not of its size"),
        pytest.param([ABOUT_ONE_SIZE - 1, *[1] * 7], False, [[7, *[1] * 7]], id="one seven times another is"),
        pytest.param([300, 8, *[1] * 9], False, [[1] * 9], id="small ones behind a larger block, by themselves"),
        pytest.param([200] * 8, False, [], id="more than fits into one block"),
        pytest.param([200] * 8, True, [[200] * 5, [200] * 3], id="as much as fits, when it is quiet"),
        pytest.param([64, 64, 8, 8, 1, 1, 1], True, [[64, 64, 8, 8, 1, 1, 1]], id="what is left, when it is quiet"),
        pytest.param([400, 8, 8, 1], True, [[8, 8, 1]], id="a block larger than all others is not written again for them"),
        pytest.param([400, 1], True, [], id="nor for a single one"),
        pytest.param(MIXED, False, [], id="of any sizes, as long as few stand side by side"),
        pytest.param([*MIXED, 1], False, [[*MIXED, 1]], id="of any sizes, when too many do"),
    ],
)
def test_which_blocks_that_stand_side_by_side_are_merged(sizes: list[int], *, is_quiet: bool, merged: list[list[int]]) -> None:
    assert sizes_of(plan_stretch(of_sizes(*sizes), RULES, is_quiet=is_quiet)) == merged


def test_only_blocks_first_written_within_the_window_of_each_other_are_merged() -> None:
    hourly = [source(number, 1, written_ms=number * 3_600_000) for number in range(40)]
    plans = plan_stretch(hourly, RULES, is_quiet=True)
    assert sizes_of(plans) == [[1] * 25, [1] * 15]


def test_with_a_retention_the_window_is_a_tenth_of_it_and_older_blocks_are_left_alone() -> None:
    hour_s = 3_600.0
    rules = merge_rules(10_000_000_000, 50 * hour_s, DEFAULT_BOUNDS)
    assert rules.window_ms == 5 * hour_s * 1000
    assert not rules.allow(source(0, 1, written_ms=int(10_000_000_000 - 5 * hour_s * 1000 - 1)))
    assert rules.allow(source(0, 1, written_ms=int(10_000_000_000 - 5 * hour_s * 1000)))
    assert merge_rules(0, 1000 * 24 * hour_s, DEFAULT_BOUNDS).window_ms == DAY_MS
    assert merge_rules(10_000_000_000, None, DEFAULT_BOUNDS).allow(source(0, 1, written_ms=0))


@pytest.mark.parametrize(
    ("there", "stretches"),
    [
        pytest.param([(0, 0), (2, 2), (3, 3)], [[(0, 0)], [(2, 2), (3, 3)]], id="over a missing number"),
        pytest.param([(0, 7), (0, 0), (3, 3), (7, 7), (8, 8), (9, 9)], [[(0, 7), (8, 8), (9, 9)]], id="inner blocks and the outer one"),
        pytest.param([(0, 7), (4, 11), (12, 12)], [[(0, 7)], [(4, 11), (12, 12)]], id="two that overlap"),
    ],
)
def test_which_blocks_are_no_neighbours(there: list[tuple[int, int]], stretches: list[list[tuple[int, int]]]) -> None:
    sources = [source(first, last - first + 1, last=last) for first, last in there]
    assert [[(one.id.first, one.id.last) for one in stretch] for stretch in stretches_of(sources)] == stretches


SOURCES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 600), st.integers(0, 2 * DAY_MS), st.sampled_from((1, 1, 1, 4))), max_size=60
)


@given(SOURCES, st.booleans())
def test_every_plan_is_of_consecutive_numbers_and_fits_and_shares_no_block(drawn: list[tuple[int, int, int, int]], is_quiet: bool) -> None:  # noqa: FBT001
    sources: list[MergeSource] = []
    number = 0
    for skipped, pieces, written_ms, width in drawn:
        number += int(skipped == 3)
        sources.append(source(number, pieces, last=number + width - 1, written_ms=written_ms))
        number += width
    plans = [plan for stretch in stretches_of(sources) for plan in plan_stretch(stretch, RULES, is_quiet=is_quiet)]
    planned = [one for plan in plans for one in plan]
    assert len(set(planned)) == len(planned)
    assert set(planned) <= set(sources)
    for plan in plans:
        assert len(plan) > 1
        assert all(one.id.last + 1 == other.id.first for one, other in pairwise(plan))
        assert sum(one.pieces for one in plan) <= RULES.most_pieces
        assert max(one.written_ms for one in plan) - min(one.written_ms for one in plan) <= RULES.window_ms


@given(st.lists(st.integers(1, 40), min_size=1, max_size=400))
def test_few_small_blocks_stand_and_no_line_is_written_often(sizes: list[int]) -> None:
    """As the writer goes: after each new block whatever can be merged is merged."""
    standing: list[MergeSource] = []
    written = 0
    for number, size in enumerate(sizes):
        standing.append(source(number, size))
        written += size
        while plans := plan_stretch(standing, RULES, is_quiet=False):
            for plan in plans:
                merged = source(plan[0].id.first, sum(one.pieces for one in plan), last=plan[-1].id.last)
                standing = sorted({*standing, merged} - {*plan}, key=lambda one: one.id.first)
                written += merged.pieces
        standing = [] if standing and not RULES.allow(standing[-1]) else standing  # what comes after a large block is no neighbour
        assert len(standing) <= MOST_STANDING + 1
    assert written <= 6 * sum(sizes)


def test_a_merged_block_holds_the_lines_of_its_sources_in_their_order() -> None:
    blocks = [block([line(number), line(100 - number)], first=number) for number in range(8)]
    found = merge_blocks(blocks, DEFAULT_BOUNDS)
    assert found is not None
    merged = found[0]
    assert (merged.id.run, merged.id.first, merged.id.last) == (blocks[0].id.run, 0, 7)
    lines = all_lines(merged.id.place, columns_of(merged))
    assert lines == all_lines(merged.id.place, found[1])
    assert [one.offset for one in lines] == sorted([*range(8), *range(93, 101)])
    assert merged.lines == 16
    assert set(merged.words.tolist()) >= {word for one in blocks for word in one.words.tolist()}


def test_a_merged_block_is_as_old_as_its_oldest_source() -> None:
    merged = merge_blocks([one_line(0, 50), one_line(1, 30), one_line(2, 40)], DEFAULT_BOUNDS)
    assert merged is not None
    assert merged[0].head.written_ms == 30


def test_what_does_not_fit_into_one_block_is_no_merged_block() -> None:
    assert merge_blocks([one_line(number) for number in range(5)], DEFAULT_BOUNDS._replace(lines=4)) is None


def filled(count: int, added_s: float = 0.0) -> RunTail:
    tail = RunTail()
    for number in range(count):
        add(tail, one_line(number), added_s)
    return tail


def add(tail: RunTail, made: Block, added_s: float) -> None:
    tail.add(made, columns_of(made), added_s)


def test_a_tail_is_looked_at_when_eight_may_be_there_or_when_it_is_quiet() -> None:
    tail = filled(3)
    assert not tail.is_due(QUIET_S - 1)
    assert tail.is_due(QUIET_S)
    (plan,) = tail.plan(RULES, QUIET_S)
    assert [one.source.id.first for one in plan] == [0, 1, 2]


def test_a_tail_of_which_nothing_could_be_merged_is_looked_at_when_enough_has_come() -> None:
    tail = filled(5)
    assert tail.plan(RULES, 1.0) == []
    for number in (5, 6):
        add(tail, one_line(number), 1.0)
        assert not tail.is_due(2.0)
    add(tail, one_line(7), 1.0)
    assert tail.is_due(2.0)
    assert len(tail.plan(RULES, 2.0)[0]) == 8


def test_a_tail_is_looked_at_when_a_missing_block_comes_late() -> None:
    tail = RunTail()
    for number in (0, 1, 2, 3, 5, 6, 7):
        add(tail, one_line(number), 0.0)
    assert tail.plan(RULES, 1.0) == []
    add(tail, one_line(4), 1.0)
    assert tail.is_due(2.0)
    assert len(tail.plan(RULES, 2.0)[0]) == 8


def test_a_tail_that_stays_after_a_plan_is_looked_at_again() -> None:
    tail = filled(8)
    assert tail.is_due(0.0)
    tail.forget([one.source.id for one in tail.plan(RULES, 1.0)[0][:1]])
    assert tail.is_due(1.0)
    assert tail.plan(RULES, 1.0) == []
    assert not tail.is_due(1.0)


@given(st.lists(st.integers(1, 600), max_size=50), st.lists(st.integers(1, 600), min_size=1, max_size=MOST_STANDING))
def test_before_enough_blocks_have_come_there_is_nothing_to_merge(standing: list[int], coming: list[int]) -> None:
    stretch = [one for one in of_sizes(*standing) if RULES.allow(one)]
    stretch = (stretches_of(stretch) or [[]])[-1]
    if plan_stretch(stretch, RULES, is_quiet=False):
        return
    missing = blocks_missing(stretch)
    first = stretch[-1].id.last + 1 if stretch else 0
    more = [source(number, size) for number, size in enumerate(coming[: missing - 1], start=first)]
    assert plan_stretch([*stretch, *more], RULES, is_quiet=False) == []


@pytest.mark.parametrize(
    ("sizes", "missing"),
    [((), 8), ((1,), 7), ((1,) * 7, 1), ((300, 8, 1, 1), 6), ((8, 1), 7), ((7, 1), 6), ((1, 20) * 15, 3), ((200,) * 20, 1)],
)
def test_so_many_blocks_are_missing_until_something_can_be_merged(sizes: tuple[int, ...], missing: int) -> None:
    assert blocks_missing(of_sizes(*sizes)) == missing


def test_a_tail_goes_on_with_the_merged_block_in_place_of_its_sources() -> None:
    tail = filled(8)
    (plan,) = tail.plan(RULES, 1.0)
    alone_bytes = tail.size_bytes
    merged = merge_lines([one.source for one in plan], [one.lines for one in plan], MASKS, DEFAULT_BOUNDS)
    assert merged is not None
    tail.replace([one.source.id for one in plan], *merged)
    assert len(tail) == 1
    assert 0 < tail.size_bytes < alone_bytes / 4
    add(tail, one_line(8), 2.0)
    assert tail.plan(RULES, 2.0 + QUIET_S) == [], "eight lines are not written again for one"


def test_a_tail_that_was_renewed_ignores_a_merge_of_the_old_one() -> None:
    merged = merge_blocks([one_line(0), one_line(1)], DEFAULT_BOUNDS)
    assert merged is not None
    tail = RunTail()
    tail.replace([one_line(0).id, one_line(1).id], *merged)
    assert len(tail) == 0


def test_a_tail_forgets_what_can_never_be_merged() -> None:
    tail = filled(2)
    add(tail, block([line(number) for number in range(600)], first=2), 0.0)
    add(tail, one_line(3), 0.0)
    tail.plan(RULES, 1.0)
    assert len(tail) == 3, "a block of more than half the size"
    tail.plan(RULES, QUIET_S)
    tail.forget([one_line(0).id, one_line(1).id])
    add(tail, block([line(number) for number in range(600)], first=4), QUIET_S)
    add(tail, one_line(5), QUIET_S)
    tail.plan(RULES, 2 * QUIET_S)
    assert len(tail) == 1, "block 3 stands alone between two large ones for ever"
