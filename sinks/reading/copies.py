"""Which pieces of some unpacked blocks hold, when only the blocks that a question asks for were listed.

Other blocks may hold copies of the same entries. Those that were listed are unpacked too. An entry in chunks whose copies differ is
looked up exactly: its other chunks have other templates, so the blocks that they are in may not have been listed at all.

Copies differ where settings were changed between two runs: in time, service, words or template. The copy that holds may then be in a
block that the question did not ask for. Who counts or exports lists such blocks `with_other_runs`. A search does not, for it would cost
every one a query more: until a repair it may show a line as it was before the change.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace, Lines
from sinks.heads import Heads
from sinks.reading.listing import join_distinct
from sinks.reading.snapshot import Snapshot
from sinks.reading.union import Part, outer_blocks, sharing_blocks, unite
from sinks.sink import BlockFilter, RunSpan

_SINGLE_LOOKUPS = 8
"""Of more entries of one partition the blocks are listed as one range."""
_SPANS_AT_ONCE = 256
"""Of other runs, in one query."""


def with_other_runs(snapshot: Snapshot, listed: Heads) -> Heads:
    """Return listed blocks (inner ones left out), and behind them the blocks of other runs that may hold copies of their lines.

    One query, which finds nothing where no two runs of a partition overlap: as long as no offsets are read again.
    """
    firsts, ends = _reach_of_runs(listed)
    spans = [RunSpan(place, run, first, ends[place, run]) for (place, run), first in firsts.items()]
    parts = [tuple(spans[at : at + _SPANS_AT_ONCE]) for at in range(0, len(spans), _SPANS_AT_ONCE)]
    every = join_distinct([listed, *(snapshot.find(BlockFilter(besides=part)).heads for part in parts)])
    if every.size == listed.size:
        return listed
    outer = outer_blocks(every.ids[listed.size :])
    every = every.select(np.concatenate([np.arange(listed.size), listed.size + outer]))
    is_listed = np.arange(every.size) < listed.size
    return every.select(np.flatnonzero(is_listed | sharing_blocks(every, is_listed)))


def _reach_of_runs(listed: Heads) -> tuple[dict[tuple[BlockPlace, str], int], dict[tuple[BlockPlace, str], int]]:
    """Return the first offset of each run's blocks, and where the offsets of all of them end."""
    firsts: dict[tuple[BlockPlace, str], int] = {}
    ends: dict[tuple[BlockPlace, str], int] = {}
    for one, first, last in zip(listed.ids, listed.first_offset.tolist(), listed.last_offset.tolist(), strict=True):
        run = one.place, one.run
        firsts[run] = min(first, firsts.get(run, first))
        ends[run] = max(last + 1, ends.get(run, last + 1))
    return firsts, ends


class Wanted(NamedTuple):
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
        self._looked_up: set[tuple[BlockPlace, int]] = set()
        self.are_exact = True
        """False: the read was over before every copy was looked up."""

    def held(self, listed: Heads, blocks: Mapping[BlockId, Wanted]) -> list[NDArray[np.bool_]]:
        """Return of each of `blocks` which of its wanted pieces hold.

        `listed` are all blocks that the question found, inner ones left out; `blocks` are among them.
        """
        is_ours = np.fromiter((one in blocks for one in listed.ids), np.bool_, listed.size)
        others = np.flatnonzero(sharing_blocks(listed, is_ours) & ~is_ours)
        self._unpack(listed.ids[at] for at in others.tolist())
        while True:
            parts = [Part(one, block.lines) for one, block in blocks.items()]
            parts += [Part(one, lines) for one, lines in self._others.items() if one not in blocks]
            # One of ours may be inside another: merged since, or not listed yet. Of equal pieces the first one holds: ours.
            union = unite(parts)
            unsure = self._unsure(blocks, union.doubtful)
            self.are_exact &= not (unsure and self._snapshot.is_over())
            if not unsure or not self.are_exact:
                return [held[block.rows] for block, held in zip(blocks.values(), union.held, strict=False)]
            for place, offsets in unsure.items():
                self._look_up(place, offsets, blocks)

    def _unsure(self, blocks: Mapping[BlockId, Wanted], doubtful: list[NDArray[np.bool_]]) -> dict[BlockPlace, NDArray[np.int64]]:
        """Return the offsets of the wanted pieces that are doubtful and were not looked up yet."""
        unsure: dict[BlockPlace, set[int]] = {}
        for (one, block), is_doubtful in zip(blocks.items(), doubtful, strict=False):
            for offset in np.unique(block.lines.offset[block.rows[is_doubtful[block.rows]]]).tolist():
                if (one.place, offset) not in self._looked_up:
                    self._looked_up.add((one.place, offset))
                    unsure.setdefault(one.place, set()).add(offset)
        return {place: np.array(sorted(offsets), np.int64) for place, offsets in unsure.items()}

    def _look_up(self, place: BlockPlace, offsets: NDArray[np.int64], blocks: Collection[BlockId]) -> None:
        """Unpack every block of the partition that covers one of these offsets."""
        ranges = [(offsets[0], offsets[-1])] if len(offsets) > _SINGLE_LOOKUPS else [(offset, offset) for offset in offsets]
        for first, last in ranges:
            only = BlockFilter((place.topic,), place.epoch, place.partition, first_offset=int(first), end_offset=int(last) + 1)
            heads = self._snapshot.find(only).heads
            heads = heads.select(outer_blocks(heads.ids))
            covers = np.searchsorted(offsets, heads.first_offset) < np.searchsorted(offsets, heads.last_offset, side="right")
            self._unpack(one for one, is_near in zip(heads.ids, covers.tolist(), strict=True) if is_near and one not in blocks)

    def _unpack(self, ids: Iterable[BlockId]) -> None:
        self._others |= self._snapshot.unpack([one for one in ids if one not in self._others])
