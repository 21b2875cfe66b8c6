"""Resumes partitions that have no usable committed offset: none was committed yet, it expired, or the log was truncated.

The client runs with `auto.offset.reset=error`: it never jumps by itself, but reports the error and stops the partition. `consumers.kafka`
notes such a partition here and resumes it where `choose_resume_point` says. Asking the broker never blocks polling for long: a question
without an answer is asked again by the next call.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable

from consumers.kafka.resume_point import ExpiredPolicy, OffsetGone, PartitionState, ResumePoint, StartPolicy, choose_resume_point
from consumers.record import Partition

AskState = Callable[[Partition], PartitionState | None]
"""Asks the broker, for a short time only; None: no answer."""
ResumeAt = Callable[[Partition, ResumePoint], bool]
"""Resumes a partition; False: not possible now."""


class OffsetReset:
    """Resumes the partitions that the client has stopped; touches no others.

    Thread: one, its source's.
    """

    def __init__(
        self, *, start: StartPolicy, expired: ExpiredPolicy, ask_state: AskState, resume_at: ResumeAt, say: Callable[[str], None]
    ) -> None:
        self._start: StartPolicy = start
        self._expired: ExpiredPolicy = expired
        self._ask_state = ask_state
        self._resume_at = resume_at
        self._say = say
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

    def note_delivered(self, partition: Partition) -> None:
        """Note that a record of this assignment was accepted: from now on the ledger commits the position."""
        self._delivered.add(partition)

    def end_assignment(self, partitions: Iterable[Partition]) -> None:
        """Forget these partitions."""
        for partition in partitions:
            self._pending.pop(partition, None)
            self._recreated.discard(partition)
            self._delivered.discard(partition)

    def resume_partitions(self, owned: Collection[Partition], *, must_wait: Callable[[Partition], bool] = lambda _partition: False) -> None:
        """Resume all stopped partitions, except those that `must_wait`. Raises SourceExpired.

        The first one without an answer ends the call; the next call asks again.
        """
        self._pending = {partition: gone for partition, gone in self._pending.items() if partition in owned}
        for partition, gone in list(self._pending.items()):
            if must_wait(partition):
                continue
            state = self._ask_state(partition)
            if state is None:
                return
            point = self._choose_resume_point(partition, gone, state)
            if not self._resume_at(partition, point):
                self._say(f"{partition.topic}/{partition.partition} cannot resume at {point.offset} yet; trying again")
                return
            self._pending.pop(partition, None)
            self._recreated.discard(partition)
            self.expired_records[partition.topic] += point.expired_records
            if point.message:
                self._say(point.message)

    def _choose_resume_point(self, partition: Partition, gone: OffsetGone, state: PartitionState) -> ResumePoint:
        if partition in self._recreated:
            return ResumePoint(state.first_offset, "", must_commit=True)
        has_delivered = partition in self._delivered
        if state.committed is None and not has_delivered:
            gone = gone._replace(position=None)
        point = choose_resume_point(partition, state, gone, start=self._start, expired=self._expired)
        is_behind = has_delivered and gone.position is not None and point.offset < gone.position.next_offset
        # A start that skips records is committed at once, as a restart before the first commit would skip more; never past open records.
        return point._replace(must_commit=is_behind or (bool(point.message) and not has_delivered), is_behind=is_behind)


class PendingStartCommits:
    """Start offsets that must be committed, until the broker accepts them or a later commit replaces them.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._starts: dict[Partition, int] = {}
        self._sent: dict[Partition, int] = {}

    def add_start(self, partition: Partition, offset: int) -> None:
        """Commit that the partition starts there."""
        self._starts[partition] = offset
        self._sent.pop(partition, None)

    def drop_starts(self, partitions: Iterable[Partition]) -> None:
        """Drop partitions that are no longer assigned, or that a later commit covers."""
        for partition in partitions:
            self._starts.pop(partition, None)
            self._sent.pop(partition, None)

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
            self._starts.pop(partition, None)
        return True
