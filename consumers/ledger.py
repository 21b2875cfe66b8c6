"""Which offset may be committed, and how much may be open at once: the Ledger and its Receipts.

Theory of operation
1. What the poller takes in is *admitted* by the batch: a Receipt for records of one partition. Each record gets an *arrival number*, and
   whoever finishes its last piece settles it, by that number: lines do not carry receipts, and a block settles with one call.
2. A partition's open records stand in *arrival order*. Settling pops the settled prefix; what may be committed is the next
   offset of the last one popped. Offsets are never counted through: compaction and transaction markers leave gaps.
3. Each assignment gets a fresh PartitionLedger. A receipt keeps the one that it came from, so a late settle after a
   revocation moves nothing but its own bytes. An assignment may ask to *begin again* at an earlier offset: it has ended then, though its
   partition is still ours, and the poller begins another one in its place as soon as its source has moved back.
4. The cap is the only bound of the system. A record counts until it is popped; its bytes count until its last piece is done.
5. A record with rejected pieces yields one dead letter and is settled when that is delivered, not before.
6. Records that are lines of one event end together: the first settles for those that *follow* it. Records at the end of a partition that
   wait for the next one, because it may belong to the same event, are *held*: open as others are, so no commit passes them, but no
   revocation and no drain waits for them.
7. Every call takes the lock once, works on arrays, and changes nothing if it raises. Dead letters are handed on outside of the lock.

Not taken: a receipt for each record (it was most of the cost of a line), a lock per partition (one is never contended for long, and the
cap needs one total anyway), a watermark by `offset + 1` (stalls at the first gap), settling in a `finally` (counts a failure as
delivered), one ledger that outlives a rebalance (a stale completion moves the new owner's position).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from consumers.arrival import Outcomes
from consumers.assignment import DeadLetterBox, PartitionLedger, Receipt
from consumers.cap import Cap
from consumers.record import Partition, Records


class Ledger:
    """All open records of one consumer: says what may be committed, and when there is no more room.

    Thread: any; only the poller assigns, revokes and admits.
    """

    def __init__(
        self, *, cap_records: int, cap_bytes: int, dead_letter: DeadLetterBox, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cap = Cap(cap_records=cap_records, cap_bytes=cap_bytes)
        self._lock = self._cap.lock
        self.dead_letter = dead_letter
        """Takes the dead letters of assignments that begin from now on."""
        self._clock = clock
        self._owned: dict[Partition, PartitionLedger] = {}
        self._outcomes = Outcomes()

    @property
    def cap_records(self) -> int:
        """At most as many records are open."""
        return self._cap.cap_records

    @property
    def cap_bytes(self) -> int:
        """At most as many bytes of records are open; the decoded bytes downstream may pass it by one group of prepare's."""
        return self._cap.cap_bytes

    @property
    def open_records(self) -> int:
        """Records that are not popped."""
        return self._cap.open_records

    @property
    def open_bytes(self) -> int:
        """Bytes of records that are not finished, in all assignments."""
        return self._cap.open_bytes

    @property
    def decoded_bytes(self) -> int:
        """Bytes that prepare has put downstream, of records that are not finished."""
        return self._cap.decoded_bytes

    def outcomes(self) -> dict[str, Counter[str]]:
        """Return the records of each topic by outcome: see `consumers.arrival`."""
        with self._lock:
            return self._outcomes.by_topic()

    @property
    def tally(self) -> Counter[str]:
        """Records of all topics by outcome."""
        return sum(self.outcomes().values(), Counter())

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Begin a new assignment: a fresh ledger for each partition."""
        with self._lock:
            for partition in partitions:
                self._forget(partition)
                self._owned[partition] = self._new_assignment(partition)

    def revoke(self, partitions: Iterable[Partition]) -> None:
        """End an assignment: its open receipts move no offset any more, but still release their bytes."""
        with self._lock:
            for partition in partitions:
                self._forget(partition)
            self._cap.notify()

    def asked_to_begin_again(self) -> dict[Partition, int]:
        """Return where partitions shall be read again: those whose assignment has asked for it."""
        with self._lock:
            return {p: one.begin_again_at for p, one in self._owned.items() if one.begin_again_at is not None}

    def begin_again(self, partition: Partition) -> None:
        """Begin another assignment in place of one that has asked for it."""
        with self._lock:
            self._owned[partition] = self._new_assignment(partition, self._owned[partition].begin_again_at)

    def owned(self) -> list[Partition]:
        """Return the partitions assigned now."""
        with self._lock:
            return list(self._owned)

    def admit(self, records: Records, sizes_bytes: NDArray[np.int64] | None = None) -> Receipt | None:
        """Take in as many of the first of n ≥ 1 records as there is room for; None: there is none.

        One larger than the cap enters alone when nothing else is open. `sizes_bytes` are the sizes of the records where they are at hand.
        """
        sizes_bytes = records.sizes_bytes() if sizes_bytes is None else sizes_bytes
        with self._lock:
            assignment = self._owned[records.source]
            fitting = self._cap.fitting(sizes_bytes)
            if not fitting:
                return None
            admitted = records.between(0, fitting) if fitting < records.size else records
            return assignment.admit(admitted, sizes_bytes[:fitting], self._clock())

    def reach(self, partition: Partition, end_offset: int) -> None:
        """Note that all records of a partition before this offset were admitted; when they are settled, it may be committed."""
        with self._lock:
            if partition in self._owned:
                self._owned[partition].reach(end_offset)

    def has_room(self) -> bool:
        """Whether the ledger is below its low-water mark, half of the cap."""
        return self._cap.has_room()

    def committable(self) -> dict[Partition, int]:
        """Return the next offset of each partition owned now that has advanced since it was last committed; none of one that has ended."""
        with self._lock:
            living = [(partition, one) for partition, one in self._owned.items() if one.alive]
            return {p: due for p, one in living if (due := one.next_offset) is not None and due != one.committed}

    def mark_committed(self, partition: Partition, next_offset: int) -> None:
        """Note what the broker has accepted, of a partition owned now."""
        with self._lock:
            if partition in self._owned:
                self._owned[partition].committed = next_offset

    def committed(self) -> dict[Partition, int]:
        """Return the next offsets that the broker has accepted in this assignment."""
        with self._lock:
            return {p: one.committed for p, one in self._owned.items() if one.committed is not None}

    def positions(self) -> dict[Partition, int]:
        """Return where each partition stands: what the broker has accepted in this assignment, else its first record."""
        with self._lock:
            return {p: place for p, one in self._owned.items() if (place := one.place) is not None}

    def oldest_open_s(self) -> dict[Partition, float]:
        """Return since when (the ledger's clock) the oldest open record of each partition owned now is open; none open: left out."""
        with self._lock:
            return {p: one.oldest_open_s for p, one in self._owned.items() if one.has_open}

    def wait_until_settled(self, partitions: Iterable[Partition], timeout_s: float) -> bool:
        """Wait until no record of `partitions` is open; False when the time is up first."""
        with self._lock:
            watched = [self._owned[p] for p in partitions if p in self._owned]
        return self._cap.wait_for(lambda: not any(one.has_open for one in watched), timeout_s)

    def wait_for_room(self, size_bytes: int, timeout_s: float) -> bool:
        """Wait until a record of this size fits and an eighth of the cap is free; False when the time is up first."""
        return self._cap.wait_for_room(size_bytes, timeout_s)

    def wait_for_decoded_room(self, timeout_s: float) -> bool:
        """Wait until the decoded bytes downstream are under the cap; False when the time is up first."""
        return self._cap.wait_for(self._cap.has_decoded_room, timeout_s)

    def has_decoded_room(self) -> bool:
        """Whether the decoded bytes downstream are under the cap."""
        return self._cap.has_decoded_room()

    def _new_assignment(self, partition: Partition, asked_before: int | None = None) -> PartitionLedger:
        tally = self._outcomes.of(partition.topic)
        return PartitionLedger(partition, cap=self._cap, dead_letter=self.dead_letter, tally=tally, asked_before=asked_before)

    def _forget(self, partition: Partition) -> None:
        assignment = self._owned.pop(partition, None)
        if assignment is not None:
            assignment.end()
