"""One assignment of one partition, and the claims on its records that the stages hold: Receipts for batches, Claims for single records.

`consumers.ledger` makes them and has the theory of operation. Every call takes the lock once, works on arrays, and changes nothing if it
raises; dead letters are handed on outside of the lock.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from consumers.arrival import ArrivalColumns, Arrivals
from consumers.cap import Cap
from consumers.originals import Originals
from consumers.record import Partition, Record, Records
from consumers.rejection import RejectedPiece, Rejection

DeadLetterBox = Callable[["Claim", Rejection, list[RejectedPiece]], None]
"""Takes a record's claim, its first rejection and its rejected pieces (none: the whole record); calls `dead_letter_delivered` on it
afterwards."""


class PartitionLedger:
    """One assignment of one partition: which of its records are open. Equal only to itself.

    Thread: any; what it calls is under its Ledger's lock.
    """

    __slots__ = (
        "_arrivals",
        "_asked_before",
        "_cap",
        "_dead_letter",
        "_held",
        "_originals",
        "_rejects",
        "_tally",
        "alive",
        "begin_again_at",
        "committed",
        "partition",
    )

    def __init__(
        self, partition: Partition, *, cap: Cap, dead_letter: DeadLetterBox, tally: Counter[str], asked_before: int | None = None
    ) -> None:
        """`tally` counts the records of its topic by outcome, over all assignments.

        `asked_before`: `begin_again_at` of the assignment in whose place this one has begun.
        """
        self.partition = partition
        self.alive = True
        """Whether this assignment is still ours, and goes on."""
        self.begin_again_at: int | None = None
        """Where it was asked to begin again; None: it was not. Only `begin_again` sets it."""
        self.committed: int | None = None
        """What the broker has accepted."""
        self._asked_before = asked_before
        self._cap = cap
        self._dead_letter = dead_letter
        self._tally = tally
        self._arrivals = ArrivalColumns()
        self._originals = Originals()
        self._rejects: dict[int, list[RejectedPiece]] = {}
        """Of records with pieces left, by arrival number."""
        self._held: tuple[int, int] | None = None
        """The first of the held records, and the number after the last."""

    @property
    def first_offset(self) -> int | None:
        """The offset of its first record; None before it came."""
        return self._arrivals.first_offset

    @property
    def next_offset(self) -> int | None:
        """What may be committed."""
        return self._arrivals.next_offset

    @property
    def place(self) -> int | None:
        """What is committed, else the first record."""
        return self.first_offset if self.committed is None else self.committed

    @property
    def has_open(self) -> bool:
        """Whether a record of a living assignment is not popped, other than those that wait for the next one of the partition."""
        oldest = self._arrivals.oldest_open if self.alive else None
        return oldest is not None and (self._held is None or oldest < self._held[0] or self._held[1] < self._arrivals.end)

    @property
    def oldest_open_s(self) -> float:
        """When the oldest open record came, on the ledger's clock; only while alive, and if one is open."""
        return self._originals.came_s(self._arrivals.oldest_open or 0)

    def begin_again(self, offset: int) -> bool:
        """Ask for another assignment in place of this one, which begins at an offset before it; this one has ended when it returns True.

        Nothing of it is committed any more. False: it had ended, or was begun again after no later offset was asked for: Kafka may not hold
        that one any more, and the partition would begin again for ever.
        """
        with self._cap.lock:
            if not self.alive or (self._asked_before is not None and offset >= self._asked_before):
                return False
            self.begin_again_at = offset
            self.end()
            self._cap.notify()
            return True

    def hold(self, first: int, records: int) -> None:
        """Say that these records, the last to have arrived, wait for the next one of the partition; none: no record does.

        They stay open, and nothing waits for them when the assignment ends.
        """
        with self._cap.lock:
            self._held = (first, first + records) if records else None
            self._cap.notify()

    def follow(self, arrival: Arrivals, followers: NDArray[np.int64]) -> None:
        """Say of each of these records, before it is expected, how many records behind it end as it does.

        If it is rejected, each of them is a dead letter as a whole.
        """
        with self._cap.lock:
            self._arrivals.follow(arrival, followers)

    def expect(self, arrival: Arrivals, pieces: NDArray[np.int64], decoded_bytes: NDArray[np.int64]) -> None:
        """Say once of each of these records how many pieces will be settled, 1 or more, and the bytes they take after decoding."""
        with self._cap.lock:
            self._cap.decoded_bytes += self._arrivals.expect(arrival, pieces, decoded_bytes)

    def settle(self, arrival: Arrivals) -> None:
        """One piece of each of these records is durably stored; a record may be there several times, in any order."""
        with self._cap.lock:
            letters = self._finish(self._arrivals.finish_pieces(arrival))
        self._post(letters)

    def reject(self, arrival: int, sub: int, chunk: int, rejection: Rejection) -> None:
        """One piece can never be stored; the record becomes a dead letter when its last piece is done."""
        with self._cap.lock:
            finished = self._arrivals.reject_piece(arrival)
            self._rejects.setdefault(arrival, []).append(RejectedPiece(sub, chunk, rejection))
            letters = self._finish(finished)
        self._post(letters)

    def drop(self, arrival: Arrivals, reason: str) -> None:
        """These records hold nothing to index (tombstones, empty lines): done, and counted under `reason`."""
        with self._cap.lock:
            self._close(self._arrivals.claim_whole(arrival), f"dropped:{reason}")

    def refuse(self, claim: "Claim", rejection: Rejection) -> None:
        """The whole record cannot be processed (undecodable, too large): one dead letter."""
        with self._cap.lock:
            arrival = self._arrivals.claim_whole(_one(claim.arrival))
            if not self.alive:
                self._close(arrival, "abandoned")
                return
        self._dead_letter(claim, rejection, [])

    def close_letter(self, arrival: int) -> None:
        """The dead letter of this record was acknowledged by the broker: the record is settled."""
        with self._cap.lock:
            if not self._arrivals.awaits_letter(arrival):
                raise RuntimeError("a dead letter was delivered for a record that expects none")
            self._close(_one(arrival), "dead_letter")

    def admit(self, records: Records, sizes_bytes: NDArray[np.int64], now_s: float) -> "Receipt":
        """Take records in; only the Ledger calls this, and holds the lock."""
        first = self._arrivals.arrive(records.offset, sizes_bytes)
        size_bytes = int(sizes_bytes.sum())
        if self.alive:  # else no dead letter comes of them
            self._originals.keep(records, first, size_bytes=size_bytes, came_s=now_s)
        self._cap.open_records += records.size
        self._cap.open_bytes += size_bytes
        self._tally["admitted"] += records.size
        return Receipt(records, self, first)

    def reach(self, end_offset: int) -> None:
        """Note that every record before this offset has arrived; only the Ledger calls this, and holds the lock."""
        self._arrivals.reach(end_offset)

    def end(self) -> None:
        """End the assignment: no dead letter comes of it any more, so the records are not needed; only the Ledger calls this, locked."""
        self.alive = False
        self._originals.forget_all()

    def _finish(self, arrival: Arrivals) -> "list[tuple[Claim, Rejection, list[RejectedPiece]]]":
        """Close records whose last piece is done, and their followers; return the dead letters of those with rejects, which stay open."""
        if not self._rejects:
            self._close(self._arrivals.with_followers(arrival), "indexed")
            return []
        is_rejected = self._arrivals.rejected(arrival)
        letters = [(self._arrivals.with_followers(_one(one)), self._rejects.pop(one)) for one in arrival[is_rejected].tolist()]
        if self.alive:
            self._close(self._arrivals.with_followers(arrival[~is_rejected]), "indexed")
            return [
                (Claim(self._originals.record(one), self, one), rejects[0].rejection, [] if place else rejects)
                for together, rejects in letters
                for place, one in enumerate(together.tolist())
            ]
        # The partition's new owner reads the records again and sends the dead letters.
        self._close(self._arrivals.with_followers(arrival), "abandoned")
        return []

    def _post(self, letters: "list[tuple[Claim, Rejection, list[RejectedPiece]]]") -> None:
        for letter in letters:
            self._dead_letter(*letter)

    def _close(self, arrival: Arrivals, outcome: str) -> None:
        if arrival.size:
            closed = self._arrivals.close(arrival)
            self._originals.release(closed.arrival, closed.raw_bytes)
            self._tally[outcome if self.alive else "abandoned"] += arrival.size
            self._cap.release(closed.popped, int(closed.raw_bytes.sum()), closed.decoded_bytes)


class Receipt:
    """The claims on the records of one batch: for each, exactly one of `expect` (then a `settle` or `reject` a piece), `drop`, `refuse`.

    Thread: any.
    """

    __slots__ = ("_first", "assignment", "records")

    def __init__(self, records: Records, assignment: PartitionLedger, first: int) -> None:
        """`first` is the arrival number of the first record."""
        self.records = records
        self.assignment = assignment
        """The assignment that the records came with; the same object for all of its receipts, and another one for the next."""
        self._first = first

    @property
    def is_alive(self) -> bool:
        """Whether the assignment that the records came with is still ours."""
        return self.assignment.alive

    @property
    def arrival(self) -> Arrivals:
        """The arrival number of each record, consecutive: int64[n]."""
        return np.arange(self._first, self._first + self.records.size)

    def expect(self, rows: NDArray[np.int64], pieces: NDArray[np.int64], decoded_bytes: NDArray[np.int64]) -> None:
        """Say once of each of these records how many pieces will be settled, 1 or more, and the bytes they take after decoding."""
        self.assignment.expect(rows + self._first, pieces, decoded_bytes)

    def settle(self, rows: NDArray[np.int64]) -> None:
        """One piece of each of these records is durably stored; a record may be there several times."""
        self.assignment.settle(rows + self._first)

    def reject(self, row: int, sub: int, chunk: int, rejection: Rejection) -> None:
        """One piece can never be stored; the record becomes a dead letter when its last piece is done."""
        self.assignment.reject(self._first + row, sub, chunk, rejection)

    def drop(self, rows: NDArray[np.int64], reason: str) -> None:
        """These records hold nothing to index (tombstones, empty lines): done, and counted under `reason`."""
        self.assignment.drop(rows + self._first, reason)

    def refuse(self, row: int, rejection: Rejection) -> None:
        """The whole record cannot be processed (undecodable, too large): one dead letter."""
        self.claim(row).refuse(rejection)

    def claim(self, row: int) -> "Claim":
        """Return the claim on one record."""
        return Claim(self.records.record(row), self.assignment, self._first + row)


class Claim:
    """The open claim on one record: exactly one of `expect` (then as many `settle`), `drop`, `refuse`.

    Thread: any.
    """

    __slots__ = ("arrival", "assignment", "record")

    def __init__(self, record: Record, assignment: PartitionLedger, arrival: int) -> None:
        self.record = record
        self.assignment = assignment
        self.arrival = arrival

    @property
    def is_alive(self) -> bool:
        """Whether the assignment that this record came with is still ours."""
        return self.assignment.alive

    def expect(self, pieces: int, *, decoded_bytes: int) -> None:
        """Say once how many pieces will be settled, 1 or more, and the bytes they take after decoding."""
        self.assignment.expect(_one(self.arrival), _one(pieces), _one(decoded_bytes))

    def settle(self) -> None:
        """One piece is done."""
        self.assignment.settle(_one(self.arrival))

    def drop(self, reason: str) -> None:
        """The record holds nothing to work on: done, and counted under `reason`."""
        self.assignment.drop(_one(self.arrival), reason)

    def refuse(self, rejection: Rejection) -> None:
        """The whole record cannot be processed (undecodable, too large): one dead letter."""
        self.assignment.refuse(self, rejection)

    def dead_letter_delivered(self) -> None:
        """The dead letter was acknowledged by the broker: the record is settled."""
        self.assignment.close_letter(self.arrival)


def _one(number: int) -> NDArray[np.int64]:
    return np.array([number])
