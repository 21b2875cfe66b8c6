"""Remembers the leader epochs of accepted records, so that positions and commits carry one (KIP-320).

A log that is truncated and grows again holds other records at the same offsets. The client notices that only where it knows the leader
epoch of the record before its position; after a restart it knows the one that was committed. Not to be confused with a topic's epoch
(`consumers.kafka.epochs`).
"""

from collections import deque
from collections.abc import Collection, Sequence
from itertools import compress, pairwise
from operator import ne

import numpy as np
from numpy.typing import NDArray

from consumers.kafka.message import ClientMessage
from consumers.record import Partition

_MAX_SPANS = 16
"""Leadership changes remembered for each partition; far more than happen between a record and its commit."""


class _Span:
    """Consecutive accepted records of one leader epoch. Epochs never decrease in a log, so what lies between them has it too."""

    __slots__ = ("first_offset", "last_offset", "leader_epoch")

    def __init__(self, first_offset: int, last_offset: int, leader_epoch: int) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.leader_epoch = leader_epoch


class LeaderEpochs:
    """Returns a leader epoch only where records prove it; a wrong one would look like a truncation.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._spans: dict[Partition, deque[_Span]] = {}

    def note_messages(self, partition: Partition, offset: NDArray[np.int64], messages: Sequence[ClientMessage]) -> None:
        """Note n ≥ 1 accepted records; `offset`: int64[n], ascending."""
        first, last = messages[0].leader_epoch(), messages[-1].leader_epoch()
        if first is not None and first == last:
            self.note_records(partition, int(offset[0]), int(offset[-1]), first)
            return
        leader_epochs = [message.leader_epoch() for message in messages]
        changes = compress(range(1, len(messages)), map(ne, leader_epochs[1:], leader_epochs))
        for begin, end in pairwise([0, *changes, len(messages)]):
            self.note_records(partition, int(offset[begin]), int(offset[end - 1]), leader_epochs[begin])

    def note_records(self, partition: Partition, first_offset: int, last_offset: int, leader_epoch: int | None) -> None:
        """Note accepted records of one leader epoch; None: their batch has an old format, which has none."""
        if leader_epoch is None:
            return
        spans = self._spans.get(partition)
        if spans is None:
            spans = self._spans[partition] = deque(maxlen=_MAX_SPANS)
        if spans and spans[-1].leader_epoch == leader_epoch:
            spans[-1].last_offset = last_offset
        else:
            spans.append(_Span(first_offset, last_offset, leader_epoch))

    def start_at(self, partition: Partition, next_offset: int, leader_epoch: int | None) -> None:
        """Continue the partition at an offset; the record before it has this leader epoch, None if that is not known."""
        self._spans.pop(partition, None)
        self.note_records(partition, next_offset - 1, next_offset - 1, leader_epoch)

    def before(self, partition: Partition, next_offset: int) -> int | None:
        """Return the leader epoch of the record before `next_offset`.

        None if that is not known, as behind a transaction's marker: it may have been written by a later leader.
        """
        for span in self._spans.get(partition, ()):
            if span.first_offset < next_offset <= span.last_offset + 1:
                return span.leader_epoch
        return None

    def drop(self, gone: Collection[Partition]) -> None:
        """Forget these partitions (WaitingPlace)."""
        for partition in gone:
            self._spans.pop(partition, None)
