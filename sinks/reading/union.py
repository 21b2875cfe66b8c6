"""Which of several blocks count, and which of several copies of a line: pure functions, no sink.

1. An inner block (inside another of its run) is ignored: the outer one holds exactly the same lines.
2. Two of the others can share lines only if their numbers intersect (same run) or their offsets do (different runs).
3. Of the copies of a record those of its latest whole version hold (`sinks.reading.versions`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace, Lines
from sinks.heads import NO_HEADS, Heads
from sinks.lines import last_offset_of
from sinks.reading.versions import RecordCopies, holding


class UnionPart(NamedTuple):
    """One unpacked block.

    Thread: any.
    """

    id: BlockId
    lines: Lines


def outer_blocks(ids: Sequence[BlockId]) -> NDArray[np.int64]:
    """Return the places in `ids` (distinct) of the blocks that are not inside another one."""
    first, last = _numbers(ids)
    if (first == last).all():
        return np.arange(len(ids))  # only a merged block has others inside
    codes: dict[tuple[BlockPlace, str], int] = {}
    run = np.fromiter((codes.setdefault((one.place, one.run), len(codes)) for one in ids), np.int64, len(ids))
    order = np.lexsort((-last, first, run))
    # Run after run, each above whatever the one before it reached.
    ends = (run * (last.max() + 1) + last)[order]
    is_outer = np.append(True, ends[1:] > np.maximum.accumulate(ends)[:-1])
    return np.sort(order[is_outer])


def outer_heads(heads: Heads) -> Heads:
    """Return blocks without those that are inside another one."""
    return heads.select(outer_blocks(heads.ids))


def sharing_blocks(heads: Heads, of: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Return which blocks may share lines with another one (with one of those where `of` is true): bool[n]. None may be inside another."""
    of = np.ones(heads.size, np.bool_) if of is None else of
    shared = np.zeros(heads.size, np.bool_)
    for runs in _by_place_and_run(heads.ids):
        for blocks in runs:
            _mark_numbers(heads, blocks, of, shared)
        for ours, theirs in _runs_that_meet(heads, runs):
            _mark_offsets(heads, ours, theirs[of[theirs]], shared)
    return shared


def clusters(heads: Heads, blocks: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Cut blocks into groups of which no two share a line: those of one partition whose offsets overlap stay together."""
    groups: list[list[int]] = []
    place: BlockPlace | None = None
    reach = -1
    for at in sorted(blocks.tolist(), key=lambda at: (heads.ids[at].place, heads.first_offset[at])):
        if heads.ids[at].place != place or heads.first_offset[at] > reach:
            groups.append([])
            place, reach = heads.ids[at].place, -1
        groups[-1].append(at)
        reach = max(reach, int(heads.last_offset[at]))
    return [np.array(group, np.int64) for group in groups]


def unite(parts: Sequence[UnionPart]) -> list[NDArray[np.bool_]]:
    """Return of each block, bool[n], which pieces a reader gets: those of lines that no other copy hides.

    Of equal pieces of one run, that of the first block holds.
    """
    held = [part.lines.chunks > 0 for part in parts]
    mixed = [number for number, part in enumerate(parts) if part.lines.size]
    if len(mixed) > 1:
        mixed = _sharing_parts(parts, mixed)
    if len(mixed) > 1:
        holds = _holding([parts[number] for number in mixed])
        ends = np.cumsum([parts[number].lines.size for number in mixed])[:-1]
        for number, one in zip(mixed, np.split(holds, ends), strict=True):
            held[number] = one
    return held


def _sharing_parts(parts: Sequence[UnionPart], mixed: list[int]) -> list[int]:
    heads = NO_HEADS._replace(ids=[parts[number].id for number in mixed])
    if len({(one.place, one.run) for one in heads.ids}) > len({one.place for one in heads.ids}):  # else numbers say it all
        heads = heads._replace(
            first_offset=np.array([parts[number].lines.offset.min() for number in mixed], np.int64),
            last_offset=np.array([last_offset_of(parts[number].lines) for number in mixed], np.int64),
        )
    return [number for number, shares in zip(mixed, sharing_blocks(heads), strict=True) if shares]


def _holding(parts: Sequence[UnionPart]) -> NDArray[np.bool_]:
    """Return of all rows, joined, which hold."""
    places, runs = _codes([part.id.place for part in parts]), _codes([part.id.run for part in parts])
    sizes = [part.lines.size for part in parts]
    columns = [np.concatenate([getattr(part.lines, name) for part in parts]) for name in RecordCopies._fields[2:-1]]
    blocks = np.arange(len(parts))
    return holding(RecordCopies._make([*(np.repeat(one, sizes) for one in (places, runs)), *columns, np.repeat(blocks, sizes)]))


def _numbers(ids: Sequence[BlockId]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last number of each block."""
    size = len(ids)
    return np.fromiter((one.first for one in ids), np.int64, size), np.fromiter((one.last for one in ids), np.int64, size)


def _by_place_and_run(ids: Sequence[BlockId]) -> Iterator[list[NDArray[np.int64]]]:
    """Yield of each partition its blocks, run by run."""
    places: dict[BlockPlace, dict[str, list[int]]] = {}
    for at, one in enumerate(ids):
        places.setdefault(one.place, {}).setdefault(one.run, []).append(at)
    for runs in places.values():
        yield [np.array(blocks, np.int64) for blocks in runs.values()]


def _mark_numbers(heads: Heads, blocks: NDArray[np.int64], of: NDArray[np.bool_], shared: NDArray[np.bool_]) -> None:
    """Mark the blocks of one run whose numbers intersect those of others: both merged, by two who merged at the same time."""
    first, last = _numbers([heads.ids[at] for at in blocks.tolist()])
    order = np.argsort(first, kind="stable")
    if (first[order][1:] > np.maximum.accumulate(last[order])[:-1]).all():
        return
    ordered = blocks[order].tolist()
    for number, at in enumerate(ordered):
        for other in ordered[number + 1 :]:
            if heads.ids[other].first > heads.ids[at].last:
                break
            shared[at] |= of[other]
            shared[other] |= of[at]


def _runs_that_meet(heads: Heads, runs: Sequence[NDArray[np.int64]]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the pairs of runs, both ways round, whose ranges of offsets overlap."""
    if len(runs) > 1:
        first = np.array([heads.first_offset[blocks].min() for blocks in runs])
        last = np.array([heads.last_offset[blocks].max() for blocks in runs])
        meet = (first[:, None] <= last) & (first <= last[:, None])
        np.fill_diagonal(meet, val=False)
        for ours, theirs in np.argwhere(meet).tolist():
            yield runs[ours], runs[theirs]


def _mark_offsets(heads: Heads, ours: NDArray[np.int64], theirs: NDArray[np.int64], shared: NDArray[np.bool_]) -> None:
    """Mark those of `ours` whose offsets overlap those of one of `theirs`."""
    if not len(theirs):
        return
    theirs = theirs[np.argsort(heads.first_offset[theirs], kind="stable")]
    reach = np.maximum.accumulate(heads.last_offset[theirs])
    before = np.searchsorted(heads.first_offset[theirs], heads.last_offset[ours], side="right")
    shared[ours] |= (before > 0) & (reach[np.maximum(before, 1) - 1] >= heads.first_offset[ours])


def _codes(values: Sequence[BlockPlace] | Sequence[str]) -> NDArray[np.int64]:
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}  # type: ignore[type-var]
    return np.array([ranks[value] for value in values], np.int64)
