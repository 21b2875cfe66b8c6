"""The events that wait for the next record of their partition: what prepare keeps of them between two batches.

The last event of a partition stays open until the partition's next record says that it is over, and so does a line whose last piece has not
come. Its records are copied out of their batch, with the entries that they hold, and go in front of that record. They are *held* in the
ledger: no commit passes them, and nothing waits for them when the assignment ends. Together they are at most a quarter of what may be in
flight: beyond that events are closed as they are, for a worker whose room is taken by open events would wait for ever. Whoever reads them
again may have more room and join other records: readers then get the later events (`sinks.reading.versions`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger, Receipt
from consumers.decode.entries import Decoded, Entries
from consumers.decode.joined import join_entries
from consumers.ledger import Ledger
from consumers.record import Records, join_records
from worker.indexing.events import EventJoiner
from worker.indexing.record_columns import RecordColumns
from worker.indexing.record_groups import RecordGroup
from worker.indexing.topic_readers import RuleTally

_SHARE = 4


class _Open(NamedTuple):
    """The records of an open event."""

    receipt: Receipt
    entries: Entries
    """Their rows are those of the receipt."""
    empty: NDArray[np.int64]
    size_bytes: int


class OpenEvents:
    """Every record that it holds is open in the ledger, and untouched.

    Thread: one, prepare's.
    """

    def __init__(self, ledger: Ledger, tally: RuleTally) -> None:
        self._tally = tally
        self._most_records = ledger.cap_records // _SHARE
        self._most_bytes = ledger.cap_bytes // _SHARE
        self._open: dict[PartitionLedger, _Open] = {}

    def first_offsets(self) -> Mapping[PartitionLedger, int]:
        """Return where the open event of each assignment begins."""
        return {assignment: int(one.receipt.records.offset[0]) for assignment, one in self._open.items()}

    def assignments(self) -> Collection[PartitionLedger]:
        """Return the assignments that have an open event (AssignmentPlace)."""
        return self._open.keys()

    def drop(self, gone: Collection[PartitionLedger]) -> None:
        """Drop the open events of these assignments: their new owners read the records again (WaitingPlace)."""
        for assignment in self._open.keys() & gone:
            assignment.drop(self._open.pop(assignment).receipt.arrival, "revoked")

    def join(self, group: RecordGroup, decoded: Decoded, joiner: EventJoiner) -> tuple[RecordGroup, Decoded]:
        """Return a group with the open events of its assignments in front of their records, and what all of it was decoded to.

        The last event of each assignment stays open if it may go on: its records are in the group, but hold nothing.
        """
        before = {own.assignment: self._open.pop(own.assignment) for own in group.assignments if own.assignment in self._open}
        if not before and not joiner.may_join(decoded, group.value):
            return group, decoded
        if before:
            after = group.after({assignment: one.receipt for assignment, one in before.items()})
            decoded = _put_before(group, after, decoded, before)
            group = after
        ends = [own.end for own in group.assignments]
        records = RecordColumns(group.offset, group.time_ms, group.keys(), group.value, ends)
        joined = joiner.join(records, decoded)
        if not self._has_room_for(group, joined.held, ends):
            self._tally.closed_early += sum(first < end for first, end in zip(joined.held, ends, strict=True))
            joined = joiner.join(records, decoded, is_over=True)
        for own, first in zip(group.assignments, joined.held, strict=True):
            if first < own.end:
                self._keep(group, own.assignment, first, own.end, decoded)
            elif own.assignment in before:
                own.assignment.hold(0, 0)
        return group, joined.decoded

    def _keep(self, group: RecordGroup, assignment: PartitionLedger, first: int, end: int, decoded: Decoded) -> None:
        """Copy records out of their batches, and hold them."""
        parts = [
            (one.receipt.records, one.first + max(first - one.begin, 0), one.first + min(end, one.end) - one.begin)
            for one in group.stretches
            if one.begin < end and one.end > first
        ]
        first_arrival = int(group.arrival[first])
        receipt = Receipt(_copied(parts), assignment, first_arrival)
        entries, empty = decoded.entries, decoded.empty
        own = entries.take(np.arange(*np.searchsorted(entries.row, [first, end])))
        own = own._replace(row=own.row - first)
        empty = empty[(empty >= first) & (empty < end)] - first
        self._open[assignment] = _Open(receipt, own, empty, int(receipt.records.sizes_bytes().sum()))
        assignment.hold(first_arrival, end - first)

    def _has_room_for(self, group: RecordGroup, held: Sequence[int], ends: Sequence[int]) -> bool:
        """Whether the events that are open, with these of a group, are few enough."""
        records = sum(one.receipt.records.size for one in self._open.values())
        records += sum(end - first for first, end in zip(held, ends, strict=True))
        size_bytes = sum(one.size_bytes for one in self._open.values())
        size_bytes += sum(len(value or b"") for first, end in zip(held, ends, strict=True) for value in group.value[first:end])
        return records <= self._most_records and size_bytes <= self._most_bytes


def _put_before(group: RecordGroup, after: RecordGroup, decoded: Decoded, before: Mapping[PartitionLedger, _Open]) -> Decoded:
    """Return what a group with open events in front was decoded to, given what the group was."""
    shift = np.zeros(group.size, np.int64)
    parts = []
    empty = []
    for own, own_after in zip(group.assignments, after.assignments, strict=True):
        shift[own.begin : own.end] = own_after.end - own.end
        if (one := before.get(own.assignment)) is not None:
            parts.append(one.entries._replace(row=one.entries.row + own_after.begin))
            empty.append(one.empty + own_after.begin)
    entries = decoded.entries
    return Decoded(
        join_entries([*parts, entries._replace(row=entries.row + shift[entries.row])]),
        np.sort(np.concatenate([*empty, decoded.empty + shift[decoded.empty]])),
        [(row + int(shift[row]), rejection) for row, rejection in decoded.rejected],
    )


def _copied(parts: Collection[tuple[Records, int, int]]) -> Records:
    """Copy rows of several batches of one partition into one."""
    return join_records([records.where(_rows_mask(records.size, first, end)) for records, first, end in parts])


def _rows_mask(size: int, first: int, end: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, np.bool_)
    mask[first:end] = True
    return mask
