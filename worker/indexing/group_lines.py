"""The lines of a group of records while prepare decides what becomes of them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import Lines
from sinks.lines import lines_between, take_lines
from worker.indexing.line_batch import LineBatch
from worker.indexing.record_groups import RecordGroup


class GroupLines(NamedTuple):
    """The lines of a group that are to be stored, and which records they are of."""

    group: RecordGroup
    lines: Lines
    row: NDArray[np.int64]
    """int64[n]: which record of the group each line is of; ascending."""
    batches: list[LineBatch]
    """The same lines by assignment."""

    def take(self, rows: NDArray[np.int64]) -> "GroupLines":
        """Return some of the lines, in their order."""
        return divide(self.group, take_lines(self.lines, rows), self.row[rows])


def divide(group: RecordGroup, lines: Lines, row: NDArray[np.int64]) -> GroupLines:
    """Divide lines by assignment; `row` is the record of each."""
    batches: list[LineBatch] = []
    ends: list[int] = np.searchsorted(row, [own.end for own in group.assignments]).tolist()
    first = 0
    for own, end in zip(group.assignments, ends, strict=True):
        if end > first:
            batches.append(LineBatch(own.assignment, group.arrival[row[first:end]], lines_between(lines, first, end)))
            first = end
    return GroupLines(group, lines, row, batches)
