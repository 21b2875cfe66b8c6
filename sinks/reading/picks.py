"""Single pieces picked out of several blocks, their order, and how they become lines."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId
from sinks.line import Line
from sinks.lines import line_at
from sinks.reading.copies import WantedRows
from sinks.reading.snapshot import ALL_COLUMNS, Snapshot
from sinks.reading.union import UnionPart


class Picks(NamedTuple):
    """k pieces.

    Thread: any.
    """

    parts: Sequence[UnionPart]
    part: NDArray[np.int64]
    """int64[k]: which block."""
    row: NDArray[np.int64]
    """int64[k]: which of its pieces."""
    time: NDArray[np.int64]
    kafka_time: NDArray[np.int64]
    offset: NDArray[np.int64]
    sub: NDArray[np.int64]
    chunk: NDArray[np.int64]
    """Of each piece, as `Lines` has it."""

    def take(self, picks: NDArray[np.int64]) -> "Picks":
        """Return some of them, in this order."""
        return Picks(self.parts, *(column[picks] for column in self[1:]))

    def place_ranks(self) -> NDArray[np.int64]:
        """Return of each piece the number of its partition, in the order of all partitions here: int64[k]."""
        ranks = {place: rank for rank, place in enumerate(sorted({part.id.place for part in self.parts}))}
        return np.array([ranks[part.id.place] for part in self.parts], np.int64)[self.part]

    def newest_first(self) -> NDArray[np.int64]:
        """Return the order in which the newest come first; of those with the same time, by partition, then the highest offset."""
        order: NDArray[np.int64] = np.lexsort((-self.chunk, -self.sub, -self.offset, self.place_ranks(), -self.time))
        return order


def picks(parts: Sequence[UnionPart], rows: Sequence[NDArray[np.int64]]) -> Picks:
    """Return these rows of each block."""
    nothing = np.empty(0, np.int64)
    columns = (
        np.concatenate([nothing, *(getattr(part.lines, name)[one] for part, one in zip(parts, rows, strict=True))])
        for name in Picks._fields[3:]
    )
    part = np.repeat(np.arange(len(parts)), [len(one) for one in rows])
    return Picks(parts, part, np.concatenate([nothing, *rows]), *columns)


def held_picks(blocks: Mapping[BlockId, WantedRows], held: Sequence[NDArray[np.bool_]]) -> Picks:
    """Return those of the wanted rows of blocks that hold."""
    parts = [UnionPart(one, block.lines) for one, block in blocks.items()]
    return picks(parts, [block.rows[holds] for block, holds in zip(blocks.values(), held, strict=True)])


def picked_lines(snapshot: Snapshot, picked: Picks) -> list[Line]:
    """Return the pieces with their texts and fields, in their order; those of a block whose texts cannot be decoded are left out."""
    numbers = np.unique(picked.part).tolist()
    unpacked = snapshot.unpack([picked.parts[number].id for number in numbers], ALL_COLUMNS)
    lines = {number: unpacked.get(picked.parts[number].id) for number in numbers}
    found = []
    for number, row in zip(picked.part.tolist(), picked.row.tolist(), strict=True):
        if (one := lines[number]) is not None:
            found.append(line_at(picked.parts[number].id.place, one, row))
    return found
