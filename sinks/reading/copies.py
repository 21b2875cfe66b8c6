"""Which pieces of some unpacked blocks hold, when only the blocks that a question asks for were listed.

Other blocks may hold copies of the same entries. Those that were listed are unpacked too. An entry in chunks whose copies differ is
looked up exactly: its other chunks have other templates, so the blocks that they are in may not have been listed at all. What stays
unseen is a copy of a line under another template, or with other words or another service, than what is asked for (design: reading).
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace, Lines
from sinks.heads import Heads
from sinks.reading.snapshot import Snapshot
from sinks.reading.union import Part, outer_blocks, sharing_blocks, unite
from sinks.sink import BlockFilter

_SINGLE_LOOKUPS = 8
"""Of more entries of one partition the blocks are listed as one range."""


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
