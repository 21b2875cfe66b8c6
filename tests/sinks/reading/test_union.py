"""Which blocks count and which copies hold: the rules one by one (all together: `tests/properties/test_reading.py`)."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sinks.block import Block, BlockId, BlockPlace
from sinks.heads import Heads, head_row, join_heads
from sinks.line import Line
from sinks.lines import all_lines, cut_of, lines_of, take_lines
from sinks.reading.union import UnionPart, clusters, outer_blocks, sharing_blocks, unite
from tests.world import block, line, run

PLACE = BlockPlace("logs", "0a0b0c0d", 0)


def ids(*numbers: tuple[int, int], run_number: int = 1) -> list[BlockId]:
    return [BlockId(PLACE, run(run_number), first, last) for first, last in numbers]


def heads(*blocks: Block) -> Heads:
    return join_heads([head_row(one) for one in blocks])


def part(lines: Sequence[Line], run_number: int, first: int = 0) -> UnionPart:
    return UnionPart(BlockId(BlockPlace(*lines[0][:3]), run(run_number), first, first), lines_of(lines))


def chunks(offset: int, *texts: str) -> list[Line]:
    cut = cut_of(texts)
    return [line(offset, chunk=chunk, chunks=len(texts), text=text, cut=cut) for chunk, text in enumerate(texts)]


def held(*parts: UnionPart) -> list[list[Line]]:
    """Return the lines that hold, block by block."""
    masks = unite(parts)
    return [all_lines(one.id.place, take_lines(one.lines, np.flatnonzero(mask))) for one, mask in zip(parts, masks, strict=True)]


NUMBERS = st.tuples(st.integers(0, 1), st.integers(0, 9), st.integers(0, 4))


@given(st.lists(NUMBERS, unique=True, max_size=12))
def test_outer_blocks_are_those_inside_no_other(runs: list[tuple[int, int, int]]) -> None:
    found = [one for number, first, longer in runs for one in ids((first, first + longer), run_number=number + 1)]
    expected = [at for at, one in enumerate(found) if not is_hidden(one, found)]
    assert outer_blocks(found).tolist() == expected


def is_hidden(one: BlockId, among: Sequence[BlockId]) -> bool:
    """Whether a block is inside another, or inside two that two writers merged so that neither is inside the other."""
    run_of = sorted((other for other in among if other.run == one.run), key=lambda other: (other.first, -other.last))
    return one.last <= max((other.last for other in run_of[: run_of.index(one)]), default=-1)


def test_blocks_of_one_run_share_only_where_their_numbers_intersect() -> None:
    lines = [line(offset) for offset in range(6)]
    settled_out_of_order = heads(block([lines[0], lines[5]], run(1), 0), block(lines[1:4], run(1), 1))
    assert not sharing_blocks(settled_out_of_order).any()
    merged_twice = heads(block(lines[:4], run(1), 0, 1), block(lines[2:], run(1), 1, 2))
    assert sharing_blocks(merged_twice).all()


def test_blocks_of_two_partitions_share_nothing() -> None:
    found = heads(block([line(1)], run(1)), block([line(1, partition=1)], run(2)))
    assert not sharing_blocks(found).any()


def test_clusters_keep_what_overlaps_together() -> None:
    found = heads(
        block([line(0), line(5)], run(1)),
        block([line(5), line(9)], run(2)),
        block([line(10)], run(2), 1),
        block([line(0, partition=1)], run(1)),
    )
    assert sorted(group.tolist() for group in clusters(found, np.arange(4))) == [[0, 1], [2], [3]]


def test_of_two_copies_that_of_the_later_run_holds() -> None:
    old, new = line(1, text="old"), line(1, text="new")
    assert held(part([old, line(2)], 1), part([new], 2)) == [[line(2)], [new]]


def test_pieces_of_other_cuts_never_combine() -> None:
    """Union by piece would give run 1's first chunk and run 2's second."""
    first, second = chunks(1, "a", "b")[:1], chunks(1, "x", "y")[1:]
    whole = chunks(1, "a", "b")
    assert held(part(first, 1), part(second, 2)) == [[], second]
    assert held(part(whole, 1), part(second, 2)) == [whole, []]
