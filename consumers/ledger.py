"""Which offset may be committed, and how much may be open at once: the Ledger and its Receipts.

Theory of operation
1. Every record that the poller takes in is *admitted* and gets one Receipt. Whoever finishes its last piece settles it.
2. A partition's open records stand in *arrival order*. Settling pops the settled prefix; what may be committed is the next
   offset of the last one popped. Offsets are never counted through: compaction and transaction markers leave gaps.
3. Each assignment gets fresh PartitionLedgers. A receipt keeps the one that it came from, so a late settle after a
   revocation moves nothing but its own bytes.
4. The cap is the only bound of the system. A record counts until it is popped; its bytes count until its last piece is done.
5. A record with rejected pieces yields one dead letter and is settled when that is delivered, not before.

Not taken: a lock per partition (one is never contended for long, and the cap needs one total anyway), a watermark by
`offset + 1` (stalls at the first gap), settling in a `finally` (counts a failure as delivered), one ledger that outlives a
rebalance (a stale completion moves the new owner's position).
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from consumers.arrival import Outcomes, PartitionLedger, Slot
from consumers.record import Partition, Record
from consumers.rejection import RejectedPiece, Rejection

DeadLetterBox = Callable[["Receipt", Rejection, list[RejectedPiece]], None]
"""Takes a receipt, its first rejection and its rejected pieces (none: the whole record); calls `dead_letter_delivered` on it afterwards."""


class Receipt:
    """The open claim on one record: exactly one of `expect` (then a `settle` or `reject` a piece), `drop`, `refuse`.

    Thread: any.
    """

    __slots__ = ("_bytes", "_decoded_bytes", "_ledger", "_partition", "_pieces", "_rejects", "_slot", "record")

    def __init__(self, record: Record, ledger: "Ledger", partition: PartitionLedger, slot: Slot, size_bytes: int) -> None:
        self.record = record
        self._ledger = ledger
        self._partition = partition
        self._slot = slot
        self._bytes = size_bytes
        self._decoded_bytes = 0
        self._pieces: int | None = None
        self._rejects: list[RejectedPiece] | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the assignment that this record came with is still ours."""
        return self._partition.alive

    @property
    def assignment(self) -> PartitionLedger:
        """The assignment that this record came with; the same object for all of its records, and another one for the next."""
        return self._partition

    def expect(self, pieces: int, *, decoded_bytes: int) -> None:
        """Say once how many pieces will be settled, 1 or more, and the bytes they take after decoding."""
        if self._pieces is not None or pieces < 1:
            raise RuntimeError(f"a receipt expects once, one piece or more (was {self._pieces}, now {pieces})")
        self._pieces, self._decoded_bytes = pieces, decoded_bytes
        self._ledger.hold_decoded(decoded_bytes)

    def settle(self) -> None:
        """One piece is durably stored."""
        self._finish_piece(None)

    def reject(self, sub: int, chunk: int, rejection: Rejection) -> None:
        """One piece can never be stored; the record becomes a dead letter when its last piece is done."""
        self._finish_piece(RejectedPiece(sub, chunk, rejection))

    def drop(self, reason: str) -> None:
        """The record holds nothing to index (a tombstone, an empty line): done, and counted under `reason`."""
        self._claim_whole()
        self._ledger.close_receipt(self._partition, self._slot, self._bytes, 0, f"dropped:{reason}")

    def refuse(self, rejection: Rejection) -> None:
        """The record as a whole cannot be worked (undecodable, too large): one dead letter."""
        self._claim_whole()
        self._die(rejection, [])

    def dead_letter_delivered(self) -> None:
        """The dead letter was acknowledged by the broker: the record is settled."""
        self._ledger.close_receipt(self._partition, self._slot, self._bytes, self._decoded_bytes, "dead_letter")

    def _claim_whole(self) -> None:
        if self._pieces is not None:
            raise RuntimeError("a receipt that expects pieces cannot be dropped or refused as a whole")
        self._pieces = 0

    def _finish_piece(self, reject: RejectedPiece | None) -> None:
        with self._ledger.lock:
            if not self._pieces:
                raise RuntimeError(f"a piece of {self.record[:3]} is done that was not expected")
            self._pieces -= 1
            if reject is not None:
                self._rejects = [*(self._rejects or []), reject]
            if self._pieces:
                return
        if self._rejects is None:
            self._ledger.close_receipt(self._partition, self._slot, self._bytes, self._decoded_bytes, "indexed")
        else:
            self._die(self._rejects[0].rejection, self._rejects)

    def _die(self, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        if self._partition.alive:
            self._ledger.dead_letter(self, rejection, rejects)
        else:  # the partition's new owner reads the record again and sends the dead letter
            self._ledger.close_receipt(self._partition, self._slot, self._bytes, self._decoded_bytes, "abandoned")


class Ledger:
    """All open receipts of one consumer: says what may be committed, and when there is no more room.

    Thread: any; only the poller assigns, revokes and admits.
    """

    def __init__(
        self, *, cap_records: int, cap_bytes: int, dead_letter: DeadLetterBox, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.lock = threading.Lock()
        self.dead_letter = dead_letter
        self._changed = threading.Condition(self.lock)
        self._clock = clock
        self.cap_records = cap_records
        self.cap_bytes = cap_bytes
        self._owned: dict[Partition, PartitionLedger] = {}
        self.open_records = 0
        self.open_bytes = 0
        self.decoded_bytes = 0
        self._outcomes = Outcomes()

    def outcomes(self) -> dict[str, Counter[str]]:
        """Return the records of each topic by outcome: see `consumers.arrival`."""
        with self.lock:
            return self._outcomes.by_topic()

    @property
    def tally(self) -> Counter[str]:
        """Records of all topics by outcome."""
        return sum(self.outcomes().values(), Counter())

    def assign(self, partitions: Iterable[Partition]) -> None:
        """Begin a new assignment: a fresh ledger for each partition."""
        with self.lock:
            for partition in partitions:
                self._forget(partition)
                self._owned[partition] = PartitionLedger(self._outcomes.of(partition.topic))

    def revoke(self, partitions: Iterable[Partition]) -> None:
        """End an assignment: its open receipts move no offset any more, but still release their bytes."""
        with self.lock:
            for partition in partitions:
                self._forget(partition)
            self._changed.notify_all()

    def owned(self) -> list[Partition]:
        """Return the partitions assigned now."""
        with self.lock:
            return list(self._owned)

    def admit(self, record: Record) -> Receipt | None:
        """Give a receipt, or None when the cap is reached; one larger than the cap enters when nothing else is open."""
        size_bytes = record.size_bytes()
        with self.lock:
            full = self.open_records >= self.cap_records or self.open_bytes + size_bytes > self.cap_bytes
            if full and (self.open_records or self.open_bytes):
                return None
            partition = self._owned[Partition(record.topic, record.partition)]
            slot = partition.arrive(record.offset, self._clock())
            self.open_records += 1
            self.open_bytes += size_bytes
            partition.tally["admitted"] += 1
        return Receipt(record, self, partition, slot, size_bytes)

    def reach(self, partition: Partition, end_offset: int) -> None:
        """Note that all records of a partition before this offset were admitted; when they are settled, it may be committed."""
        with self.lock:
            if partition in self._owned:
                self._owned[partition].reach(end_offset)

    def has_room(self) -> bool:
        """Whether the ledger is below its low-water mark, half of the cap."""
        return self.open_records <= self.cap_records // 2 and self.open_bytes <= self.cap_bytes // 2

    def committable(self) -> dict[Partition, int]:
        """Return the next offset of each partition owned now that has advanced since it was last committed."""
        with self.lock:
            return {p: one.next_offset for p, one in self._owned.items() if one.next_offset not in (None, one.committed)}

    def mark_committed(self, partition: Partition, next_offset: int) -> None:
        """Note what the broker has accepted, of a partition owned now."""
        with self.lock:
            if partition in self._owned:
                self._owned[partition].committed = next_offset

    def committed(self) -> dict[Partition, int]:
        """Return the next offsets that the broker has accepted in this assignment."""
        with self.lock:
            return {p: one.committed for p, one in self._owned.items() if one.committed is not None}

    def positions(self) -> dict[Partition, int]:
        """Return where each partition stands: what the broker has accepted in this assignment, else its first record."""
        with self.lock:
            return {p: place for p, one in self._owned.items() if (place := one.place) is not None}

    def oldest_open_s(self) -> dict[Partition, float]:
        """Return since when (the ledger's clock) the oldest open record of each partition owned now is open; none open: left out."""
        with self.lock:
            return {p: one.open[0].came_s for p, one in self._owned.items() if one.open}

    def wait_until_settled(self, partitions: Iterable[Partition], timeout_s: float) -> bool:
        """Wait until no record of `partitions` is open; False when the time is up first."""
        with self._changed:
            watched = [self._owned[p] for p in partitions if p in self._owned]
            return self._changed.wait_for(lambda: not any(p.open for p in watched), timeout_s)

    def wait_for_decoded_room(self, timeout_s: float) -> bool:
        """Wait until the decoded bytes downstream are under the cap; False when the time is up first."""
        with self._changed:
            return self._changed.wait_for(self.has_decoded_room, timeout_s)

    def has_decoded_room(self) -> bool:
        """Whether the decoded bytes downstream are under the cap."""
        return self.decoded_bytes < self.cap_bytes

    def hold_decoded(self, decoded_bytes: int) -> None:
        """Count bytes that prepare has put downstream."""
        with self.lock:
            self.decoded_bytes += decoded_bytes

    def close_receipt(self, partition: PartitionLedger, slot: Slot, size_bytes: int, decoded_bytes: int, outcome: str) -> None:
        """Settle one record: pop what can be popped, release its bytes."""
        with self._changed:
            self.open_records -= partition.settle(slot)
            self.open_bytes -= size_bytes
            self.decoded_bytes -= decoded_bytes
            partition.tally[outcome if partition.alive else "abandoned"] += 1
            self._changed.notify_all()

    def _forget(self, partition: Partition) -> None:
        ledger = self._owned.pop(partition, None)
        if ledger is not None:
            ledger.alive = False
