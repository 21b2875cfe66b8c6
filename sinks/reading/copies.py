"""Which pieces of some unpacked blocks hold, when only the blocks that a question asks for were listed.

Blocks of other runs over the same offsets may hold copies, in another template, time, service or number, so that the question did not list
them; and the rest of a record may be in blocks that it did not list either. Where runs overlap, every block is listed.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace, Lines
from sinks.heads import Heads
from sinks.reading.listing import join_distinct
from sinks.reading.snapshot import Snapshot
from sinks.reading.union import UnionPart, clusters, outer_blocks, sharing_blocks, unite
from sinks.sink import BlockFilter, OffsetSpan, RunSpan

_SPANS_AT_ONCE = 256
"""Of runs, or of offsets, in one query."""
Span = TypeVar("Span", RunSpan, OffsetSpan)


class CopyReach(NamedTuple):
    """Offsets of a partition, from the first to before the end.

    Thread: any.
    """

    place: BlockPlace
    first_offset: int
    end_offset: int


def reach_of(heads: Heads) -> list[CopyReach]:
    """Return the offsets of each block."""
    offsets = zip(heads.ids, heads.first_offset.tolist(), heads.last_offset.tolist(), strict=True)
    return [CopyReach(one.place, first, last + 1) for one, first, last in offsets]


def with_other_runs(snapshot: Snapshot, listed: Heads) -> Heads:
    """Return listed blocks (inner ones left out), and behind them all others that may decide which of their lines hold.

    One query, which finds nothing where no two runs of a partition overlap: as long as no offsets are read again.
    """
    firsts, ends = _reach_of_runs(listed)
    spans = [RunSpan(place, run, first, ends[place, run]) for (place, run), first in firsts.items()]
    found = [snapshot.find(BlockFilter(besides=part)).heads for part in _cut(spans)]
    every = _joined(listed, found) if any(heads.size for heads in found) else listed
    if every.size == listed.size:
        return listed
    is_near = _sharing(every, listed.size)
    if not is_near.any():
        return listed
    every = _joined(listed, [every, *(snapshot.find(only).heads for only in _over_the_offsets(every, np.flatnonzero(is_near)))])
    return every.select(np.flatnonzero(sharing_blocks(every) | (np.arange(every.size) < listed.size)))


def with_events_beyond(snapshot: Snapshot, parts: Sequence[UnionPart], reach: Sequence[CopyReach]) -> list[UnionPart]:
    """Return unpacked blocks, and behind them those that decide about events which lead beyond these offsets.

    All blocks over the offsets are among `parts`. Where events of several runs overlap, what one hides hangs on what hides that one.
    """
    every = list(parts)
    known = {part.id for part in every}
    reach = _merged(reach)
    while wider := _wider(reach, every):
        reach = _merged([*reach, *wider])
        found = [*dict.fromkeys(one for only in _within(wider) for one in snapshot.find(only).heads.ids if one not in known)]
        new = [found[at] for at in outer_blocks(found).tolist()]
        known.update(found)
        every += [UnionPart(one, lines) for one, lines in snapshot.unpack(new).items()]
    return every


def _wider(reach: Sequence[CopyReach], parts: Sequence[UnionPart]) -> list[CopyReach]:
    """Return where events lead beyond these offsets, given ascending and apart: those that begin or end inside and go on outside."""
    wider: list[CopyReach] = []
    for place in {one.place for one in reach}:
        own = np.array([one[1:] for one in reach if one.place == place], np.int64)
        lines = [part.lines for part in parts if part.id.place == place]
        joined = [(one.offset[rows], one.records[rows]) for one in lines if len(rows := np.flatnonzero(one.records > 1))]
        if not joined:
            continue
        start = np.concatenate([offset for offset, _ in joined])
        end = start + np.concatenate([records for _, records in joined])
        at = np.minimum(np.searchsorted(own[:, 1], start, side="right"), len(own) - 1)  # the first that ends behind the event's start
        begins, ends = own[at, 0], own[at, 1]
        out = (start < ends) & (end > begins) & ((start < begins) | (end > ends))
        wider += [CopyReach(place, first, last) for first, last in {*zip(start[out].tolist(), end[out].tolist(), strict=True)}]
    return wider


def _merged(reach: Sequence[CopyReach]) -> list[CopyReach]:
    """Return the same offsets, ascending and apart."""
    merged: list[CopyReach] = []
    for place, first, end in sorted(reach):
        if merged and merged[-1][0] == place and first <= merged[-1][2]:
            merged[-1] = merged[-1]._replace(end_offset=max(end, merged[-1].end_offset))
        else:
            merged.append(CopyReach(place, first, end))
    return merged


def _joined(listed: Heads, found: Sequence[Heads]) -> Heads:
    """Return listed blocks, and behind them the others that were found, inner ones left out."""
    every = join_distinct([listed, *found])
    others = listed.size + outer_blocks(every.ids[listed.size :]) if every.size > listed.size else np.empty(0, np.int64)
    return every.select(np.concatenate([np.arange(listed.size), others]))


def _sharing(every: Heads, listed: int) -> NDArray[np.bool_]:
    """Return which blocks may share lines with one of the first `listed`, and which of those are shared."""
    is_listed = np.arange(every.size) < listed
    return sharing_blocks(every, is_listed) | (sharing_blocks(every, ~is_listed) & is_listed)


def _over_the_offsets(heads: Heads, rows: NDArray[np.int64]) -> list[BlockFilter]:
    """Return filters for all blocks of the offsets that some blocks span."""
    groups = clusters(heads, rows)
    return _within(
        [CopyReach(heads.ids[one[0]].place, int(heads.first_offset[one].min()), int(heads.last_offset[one].max()) + 1) for one in groups]
    )


def _within(reach: Sequence[CopyReach]) -> list[BlockFilter]:
    """Return filters for all blocks of these offsets."""
    filters: list[BlockFilter] = []
    for (topic, epoch), some in groupby(sorted(reach), key=lambda one: one[0][:2]):
        spans = [OffsetSpan(place.partition, first, end) for place, first, end in some]
        filters += [BlockFilter((topic,), epoch, spans=part) for part in _cut(spans)]
    return filters


def _cut(spans: Sequence[Span]) -> list[tuple[Span, ...]]:
    return [tuple(spans[at : at + _SPANS_AT_ONCE]) for at in range(0, len(spans), _SPANS_AT_ONCE)]


def _reach_of_runs(listed: Heads) -> tuple[dict[tuple[BlockPlace, str], int], dict[tuple[BlockPlace, str], int]]:
    """Return the first offset of each run's blocks, and where the offsets of all of them end."""
    firsts: dict[tuple[BlockPlace, str], int] = {}
    ends: dict[tuple[BlockPlace, str], int] = {}
    for one, first, last in zip(listed.ids, listed.first_offset.tolist(), listed.last_offset.tolist(), strict=True):
        run = one.place, one.run
        firsts[run] = min(first, firsts.get(run, first))
        ends[run] = max(last + 1, ends.get(run, last + 1))
    return firsts, ends


class WantedRows(NamedTuple):
    """A block's pieces that a question wants.

    Thread: any.
    """

    lines: Lines
    """All of the block; no texts are needed."""
    rows: NDArray[np.int64]
    """Which of them are wanted."""


class Copies:
    """Resolves the copies for one read, and remembers what it had to unpack for it.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._others: dict[BlockId, Lines] = {}
        self._looked_up: set[BlockId] = set()

    def held(self, listed: Heads, blocks: Mapping[BlockId, WantedRows]) -> list[NDArray[np.bool_]]:
        """Return of each of `blocks` which of its wanted pieces hold.

        `listed` are all blocks that the question found, inner ones left out; `blocks` are among them.
        """
        new = [at for at, one in enumerate(listed.ids) if one in blocks and one not in self._looked_up]
        if new:  # whatever the deadline: what is shown must hold
            every = with_other_runs(self._snapshot, listed.select(np.array(new, np.int64)))
            self._others |= self._snapshot.unpack([one for one in every.ids[len(new) :] if one not in self._others])
            self._looked_up.update(every.ids[: len(new)])
        parts = [UnionPart(one, block.lines) for one, block in blocks.items()]
        parts += [UnionPart(one, lines) for one, lines in self._others.items() if one not in blocks]
        if new:
            ours = listed.select(np.array([at for at, one in enumerate(listed.ids) if one in blocks], np.int64))
            parts = with_events_beyond(self._snapshot, parts, reach_of(ours))
            self._others |= {part.id: part.lines for part in parts[len(blocks) :]}
        # One of ours may be inside another: merged since, or not listed yet. Of equal pieces the first one holds: ours.
        return [held[block.rows] for block, held in zip(blocks.values(), unite(parts), strict=False)]
