"""Remembers the leader epochs of accepted records, so that positions and commits carry one (KIP-320).

A log that is truncated and grows again holds other records at the same offsets. The client notices that only where it knows the leader
epoch of the record before its position; after a restart it knows the one that was committed. Not to be confused with a topic's epoch
(`consumers.kafka.epochs`).
"""

from collections import deque
from collections.abc import Iterable

from consumers.record import Partition

_MAX_SPANS = 16
"""Leadership changes remembered for each partition; far more than happen between a record and its commit."""


class _Span:
    """Consecutive accepted records of one leader epoch. Epochs never decrease in a log, so what lies between them has it too."""

    __slots__ = ("first_offset", "last_offset", "leader_epoch")

    def __init__(self, offset: int, leader_epoch: int) -> None:
        self.first_offset = self.last_offset = offset
        self.leader_epoch = leader_epoch


class LeaderEpochs:
    """Returns a leader epoch only where records prove it; a wrong one would look like a truncation.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._spans: dict[Partition, deque[_Span]] = {}

    def note_record(self, partition: Partition, offset: int, leader_epoch: int | None) -> None:
        """Note an accepted record; None: its batch has an old format, which has no leader epoch."""
        if leader_epoch is None:
            return
        spans = self._spans.get(partition)
        if spans is None:
            spans = self._spans[partition] = deque(maxlen=_MAX_SPANS)
        if spans and spans[-1].leader_epoch == leader_epoch:
            spans[-1].last_offset = offset
        else:
            spans.append(_Span(offset, leader_epoch))

    def start_at(self, partition: Partition, next_offset: int, leader_epoch: int | None) -> None:
        """Continue the partition at an offset; the record before it has this leader epoch, None if that is not known."""
        self._spans.pop(partition, None)
        self.note_record(partition, next_offset - 1, leader_epoch)

    def before(self, partition: Partition, next_offset: int) -> int | None:
        """Return the leader epoch of the record before `next_offset`.

        None if that is not known, as behind a transaction's marker: it may have been written by a later leader.
        """
        for span in self._spans.get(partition, ()):
            if span.first_offset < next_offset <= span.last_offset + 1:
                return span.leader_epoch
        return None

    def end_assignment(self, partitions: Iterable[Partition]) -> None:
        """Forget these partitions."""
        for partition in partitions:
            self._spans.pop(partition, None)
