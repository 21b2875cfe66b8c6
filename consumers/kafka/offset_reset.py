"""Resumes partitions that have no usable committed offset: none was committed yet, it expired, or the log was truncated.

The client runs with `auto.offset.reset=error`: it never jumps by itself, but reports the error and stops the partition. `consumers.kafka`
notes such a partition here and resumes it where `resume_point` says.
"""

from collections import Counter
from collections.abc import Collection

from consumers.kafka.resume_point import ExpiredPolicy, OffsetGone, PartitionState, ResumePoint, StartPolicy, choose_resume_point
from consumers.record import Partition


class OffsetReset:
    """Knows the partitions that the client has stopped, and where each resumes.

    Thread: one, its source's.
    """

    def __init__(self, *, start: StartPolicy, expired: ExpiredPolicy) -> None:
        self._start: StartPolicy = start
        self._expired: ExpiredPolicy = expired
        self._pending: dict[Partition, OffsetGone] = {}
        """The stopped partitions."""
        self._recreated: set[Partition] = set()
        """Those whose topic was re-created: no position in them is valid any more."""
        self._delivered: set[Partition] = set()
        self.expired_records: Counter[str] = Counter()
        """Records that expired before they were read, by topic."""

    def note_offset_gone(self, partition: Partition, gone: OffsetGone) -> None:
        """Note that the client has stopped a partition."""
        self._pending[partition] = gone

    def note_recreated(self, partition: Partition) -> None:
        """Note that the topic was re-created while it was read: everything in it is new, so nothing is skipped."""
        self._pending[partition] = OffsetGone(None)
        self._recreated.add(partition)

    def is_pending(self, partition: Partition) -> bool:
        """Whether the partition is stopped, so that its messages do not count."""
        return partition in self._pending

    def pending_partitions(self) -> list[Partition]:
        """Return the stopped partitions, in the order in which they stopped."""
        return list(self._pending)

    def note_delivered(self, partition: Partition) -> None:
        """Note that a record of this assignment was accepted: from now on the ledger commits the position."""
        self._delivered.add(partition)

    def drop(self, gone: Collection[Partition]) -> None:
        """Forget these partitions (WaitingPlace)."""
        for partition in gone:
            self._pending.pop(partition, None)
            self._recreated.discard(partition)
            self._delivered.discard(partition)

    def resume_point(self, partition: Partition, state: PartitionState) -> ResumePoint:
        """Return where a stopped partition resumes. Raises SourceExpired."""
        if partition in self._recreated:
            return ResumePoint(state.first_offset, "", must_commit=True)
        gone, has_delivered = self._pending[partition], partition in self._delivered
        if state.committed is None and not has_delivered:
            gone = gone._replace(position=None)
        point = choose_resume_point(partition, state, gone, start=self._start, expired=self._expired)
        is_behind = has_delivered and gone.position is not None and point.offset < gone.position.next_offset
        # A start that skips records is committed at once, as a restart before the first commit would skip more; never past open records.
        return point._replace(must_commit=is_behind or (bool(point.message) and not has_delivered), is_behind=is_behind)

    def note_resumed(self, partition: Partition, point: ResumePoint) -> None:
        """Note that the partition is read again, from this point."""
        self._pending.pop(partition, None)
        self._recreated.discard(partition)
        self.expired_records[partition.topic] += point.expired_records


class PendingStartCommits:
    """Start offsets that must be committed, until the broker accepts them or a later commit replaces them.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._starts: dict[Partition, int] = {}
        self._sent: dict[Partition, int] = {}
        self._first: set[Partition] = set()

    def add_start(self, partition: Partition, offset: int, *, comes_first: bool = False) -> None:
        """Commit that the partition starts there; `comes_first`: before any record of it leaves."""
        self._starts[partition] = offset
        self._sent.pop(partition, None)
        if comes_first:
            self._first.add(partition)

    def comes_first(self, partition: Partition) -> bool:
        """Whether the records of this partition wait for the commit of its start."""
        return partition in self._first

    def drop(self, gone: Collection[Partition]) -> None:
        """Drop partitions that are no longer assigned, or that a later commit covers (WaitingPlace)."""
        for partition in gone:
            self._starts.pop(partition, None)
            self._sent.pop(partition, None)
            self._first.discard(partition)

    def take_unsent(self) -> dict[Partition, int]:
        """Return the starts to send now, and note them as sent."""
        fresh = {partition: offset for partition, offset in self._starts.items() if partition not in self._sent}
        self._sent |= fresh
        return fresh

    def on_outcome(self, partition: Partition, offset: int, *, is_accepted: bool) -> bool:
        """Return whether this outcome was about a start; a refused one is sent again."""
        if self._sent.get(partition) != offset:
            return False
        del self._sent[partition]
        if is_accepted:
            self.drop([partition])
        return True
