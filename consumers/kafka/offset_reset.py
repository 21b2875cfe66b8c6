"""Decides where a partition resumes when it has no usable committed offset: none was committed yet, or it no longer exists.

The client runs with `auto.offset.reset=error`: it never jumps by itself, but reports the error and stops the partition. `consumers.kafka`
notes such a partition here and resumes it where `choose_resume_point` says. Asking the broker never blocks polling for long: a question
without an answer is asked again by the next call.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from consumers.record import Partition
from consumers.source import SourceExpired

StartPolicy = Literal["earliest", "latest"]
ExpiredPolicy = Literal["stop", "earliest", "latest"]


class PartitionState(NamedTuple):
    """What a partition holds, and what its group has committed."""

    committed: int | None
    first_offset: int
    end_offset: int


class ResumePoint(NamedTuple):
    """Where a partition resumes."""

    offset: int
    message: str
    """One line about the records that are skipped; empty if none are."""
    expired_records: int = 0
    """How many expired before they were read, or are skipped because of that."""


AskState = Callable[[Partition], PartitionState | None]
"""Asks the broker, for a short time only; None: no answer."""
ResumeAt = Callable[[Partition, int, bool], bool]
"""Resumes a partition at an offset, which is committed as well if the flag says so; False: not possible now."""


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
        self._pending: dict[Partition, int | None] = {}
        """Stopped partitions with their next offset; None: none of the partition was read."""
        self._recreated: set[Partition] = set()
        """Those whose topic was re-created: no position in them is valid any more."""
        self._delivered: set[Partition] = set()
        self.expired_records: Counter[str] = Counter()
        """Records that expired before they were read, by topic."""

    def note_offset_gone(self, partition: Partition, next_offset: int | None) -> None:
        """Note that the client has stopped a partition; `next_offset` is the next record expected, None if none has arrived yet."""
        self._pending[partition] = next_offset

    def note_recreated(self, partition: Partition) -> None:
        """Note that the topic was re-created while it was read: everything in it is new, so nothing is skipped."""
        self._pending[partition] = None
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
        self._pending = {partition: next_offset for partition, next_offset in self._pending.items() if partition in owned}
        for partition, next_offset in list(self._pending.items()):
            if must_wait(partition):
                continue
            state = self._ask_state(partition)
            if state is None:
                return
            point, commit_it = self._choose_resume_point(partition, next_offset, state)
            if not self._resume_at(partition, point.offset, commit_it):
                self._say(f"{partition.topic}/{partition.partition} cannot resume at {point.offset} yet; trying again")
                return
            self._pending.pop(partition, None)
            self._recreated.discard(partition)
            self.expired_records[partition.topic] += point.expired_records
            if point.message:
                self._say(point.message)

    def _choose_resume_point(self, partition: Partition, next_offset: int | None, state: PartitionState) -> tuple[ResumePoint, bool]:
        """Return where the partition resumes, and whether to commit that at once because a restart would begin elsewhere."""
        if partition in self._recreated:
            return ResumePoint(state.first_offset, ""), True
        has_delivered = partition in self._delivered
        if next_offset is not None and (state.committed is not None or has_delivered):
            state = state._replace(committed=next_offset)
        point = choose_resume_point(partition, state, start=self._start, expired=self._expired)
        # A start that skips records is committed at once, as a restart before the first commit would skip more; never past open records.
        return point, bool(point.message) and not has_delivered


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


def choose_resume_point(partition: Partition, state: PartitionState, *, start: StartPolicy, expired: ExpiredPolicy) -> ResumePoint:
    """Return where the partition resumes: at its committed offset if that exists, else where the setting says. Raises SourceExpired."""
    committed, first_offset, end_offset = state
    name = f"{partition.topic}/{partition.partition}"
    if committed is None:
        offset, skipped = (first_offset, 0) if start == "earliest" else (end_offset, end_offset - first_offset)
        said = f"{name}: nothing committed yet; starting at {offset}, skipping {_records(skipped)} (kafka.offset_reset = latest)"
        return ResumePoint(offset, said if skipped else "")
    if first_offset <= committed <= end_offset:
        return ResumePoint(committed, "")
    lost = f"{name}: {_loss(committed, first_offset, end_offset)}"
    if expired == "stop":
        command = f"vectail offsets reset --to earliest --topic {partition.topic} --partition {partition.partition}"
        raise SourceExpired(f"{lost}; `{command}` continues with the oldest record left (kafka.on_expired_offset decides it in future)")
    offset = first_offset if expired == "earliest" else end_offset
    skipped = offset - first_offset
    gone = skipped + max(first_offset - committed, 0)
    also = f", skipping {skipped:,} more" if skipped else ""
    return ResumePoint(offset, f"{lost}; resuming at {offset}{also} (kafka.on_expired_offset = {expired})", gone)


def _loss(committed: int, first_offset: int, end_offset: int) -> str:
    if committed < first_offset:
        gone = _records(first_offset - committed)
        return f"offset {committed} is next, but the oldest record left is {first_offset}: {gone} expired before they were indexed"
    held = f"it holds offsets from {first_offset} and ends at {end_offset}"
    return f"offset {committed} is next, but the topic was truncated or re-created: {held}"


def _records(count: int) -> str:
    return f"{count:,} record" if count == 1 else f"{count:,} records"
