"""Where a piece is in Kafka, as something that can be compared, written down and read again."""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockPlace, Lines
from sinks.row import line_id

PLACE_PATTERN = re.compile(r"([^@/]{1,256})@([^@/]{0,64})/(\d{1,10})/(-1|\d{1,18})/(\d{1,10})/(\d{1,10})", re.ASCII)
"""How `str` writes a place, bounded."""
_MOST = (1 << 31) - 1


class LinePlace(NamedTuple):
    """A piece's place; the order is that of the lines of one millisecond in an answer.

    Thread: any.
    """

    place: BlockPlace
    offset: int
    sub: int
    chunk: int

    def __str__(self) -> str:
        return line_id(*self.place, self.offset, self.sub, self.chunk)

    def is_before(self, place: BlockPlace, lines: Lines, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which rows of a block of `place` come after this one: bool[n]."""
        if self.place != place:
            return np.full(len(rows), self.place < place)
        offset, sub, chunk = lines.offset[rows], lines.sub[rows], lines.chunk[rows]
        same_record, same_entry = offset == self.offset, sub == self.sub
        is_after: NDArray[np.bool_] = (offset > self.offset) | (same_record & ((sub > self.sub) | (same_entry & (chunk > self.chunk))))
        return is_after


def end_before(place: BlockPlace, offset: int) -> LinePlace:
    """Return a place behind all pieces of a partition that have a lower offset, and before all others."""
    return LinePlace(place, offset - 1, _MOST, _MOST)


def parse_place(text: str) -> LinePlace:
    """Return the place that `str` wrote. Raises ValueError."""
    found = PLACE_PATTERN.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not the place of a line")
    topic, epoch, partition, *numbers = found.groups()
    offset, sub, chunk = map(int, numbers)
    return LinePlace(BlockPlace(topic, epoch, int(partition)), offset, sub, chunk)
