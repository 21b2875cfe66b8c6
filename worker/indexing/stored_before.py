"""What earlier runs have stored of the records that prepare works: passed over, or hidden where a record holds nothing any more."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger
from sinks.block import Lines
from sinks.lines import empty_records
from worker.indexing.group_lines import GroupLines
from worker.indexing.record_groups import RecordGroup
from worker.indexing.resume import Resume


class StoredBefore:
    """No line that it passes over differs from what readers get; nothing stored before is shown for a record that it hides.

    Thread: one, the prepare thread.
    """

    def __init__(self, resume: Resume, hide: Callable[[PartitionLedger, Lines], None]) -> None:
        """`hide` writes hollow entries and returns when they are acknowledged."""
        self.resume = resume
        self._hide = hide

    def has_any(self, group: RecordGroup) -> bool:
        """Whether anything was read back that records of a group may still ask for."""
        return any(self.resume.has_windows(own.assignment) for own in group.assignments)

    def hide(self, group: RecordGroup, is_emptied: NDArray[np.bool_], empty: Sequence[int] | NDArray[np.int64] = ()) -> None:
        """Write hollow entries for records that hold nothing, before those settle, where readers would get something else in their place.

        `is_emptied`: bool[n]. The rows `empty` of them are lines of events as well, if they are joined otherwise.
        """
        is_empty = np.zeros(group.size, np.bool_)
        is_empty[empty] = True
        for assignment, begin, end in group.assignments:
            rows = begin + np.flatnonzero(is_emptied[begin:end])
            offset, leader_epoch = group.offset[rows], group.leader_epoch[rows]
            is_other = self.resume.hold_other(assignment, offset, leader_epoch, is_empty[rows])
            if is_other.any():
                self._hide(assignment, empty_records(offset[is_other], group.time_ms[rows][is_other], leader_epoch[is_other]))

    def find(self, found: GroupLines) -> NDArray[np.bool_]:
        """Return which lines are of a record that is stored exactly so, and count them: bool[n]."""
        resumed = [self.resume.has_windows(batch.assignment) for batch in found.batches]
        if not any(resumed):
            return np.zeros(found.lines.size, np.bool_)
        stored = np.concatenate(
            [
                self.resume.stored(batch) if has_windows else np.zeros(batch.size, np.bool_)
                for batch, has_windows in zip(found.batches, resumed, strict=True)
            ]
        )
        self.resume.tally.skipped_lines += int(stored.sum())
        return stored
