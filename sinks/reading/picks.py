"""Single pieces picked out of several blocks, their order, and how they become lines."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.line import Line
from sinks.lines import line_at
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

    def take(self, picks: NDArray[np.int64]) -> "Picks":
        """Return some of them, in this order."""
        return Picks(self.parts, self.part[picks], self.row[picks], self.time[picks])

    def newest_first(self) -> NDArray[np.int64]:
        """Return the order in which the newest come first; of those with the same time, by partition, then the highest offset."""
        ranks = {place: rank for rank, place in enumerate(sorted({part.id.place for part in self.parts}))}
        place = np.array([ranks[part.id.place] for part in self.parts], np.int64)[self.part]
        offset, sub, chunk = np.empty_like(self.row), np.empty_like(self.row), np.empty_like(self.row)
        for number, part in enumerate(self.parts):
            at = self.part == number
            rows = self.row[at]
            offset[at], sub[at], chunk[at] = part.lines.offset[rows], part.lines.sub[rows], part.lines.chunk[rows]
        order: NDArray[np.int64] = np.lexsort((-chunk, -sub, -offset, place, -self.time))
        return order


def picks(parts: Sequence[UnionPart], rows: Sequence[NDArray[np.int64]]) -> Picks:
    """Return these rows of each block."""
    sizes = [len(one) for one in rows]
    nothing = np.empty(0, np.int64)
    return Picks(
        parts,
        np.repeat(np.arange(len(parts)), sizes),
        np.concatenate([nothing, *rows]),
        np.concatenate([nothing, *(part.lines.time[one] for part, one in zip(parts, rows, strict=True))]),
    )


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
