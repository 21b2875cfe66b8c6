"""What the oracle of the ledger's state machine remembers: single records in the order of arrival, and what was done with them."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from consumers.assignment import Claim, PartitionLedger, Receipt
from consumers.record import HEADER_BYTES, Partition, Record
from consumers.rejection import RejectedPiece

arrivals = st.fixed_dictionaries(
    {
        "gap": st.integers(0, 3),
        "key_bytes": st.sampled_from([0, 0, 0, 2]),
        "value_bytes": st.sampled_from([0, *[10] * 4, 20, 50, 100, 200, 500, 501, 800, 1_000, 1_001, 2_500]),
        "header_bytes": st.sampled_from([0, 0, 0, 2]),
    }
)


class Value(bytes):
    """The value of a record, which says when nothing can reach it any more."""

    freed: set[int]
    number: int

    def __del__(self) -> None:
        self.freed.add(self.number)


@dataclass(eq=False)
class Told:
    """What the test has done with one record; it does not keep the record."""

    offset: int
    size_bytes: int
    number: int
    """Of its value."""
    has_value: bool
    assignment: "Assignment"
    arrival: int
    receipt: Receipt | None
    """The batch that it came with, while a stage holds it."""
    row: int
    pieces: int | None = None
    done: int = 0
    rejects: list[RejectedPiece] = field(default_factory=list)
    decoded_bytes: int = 0
    outcome: str | None = None
    """Set when the record is closed."""
    waits_for_letter: bool = False
    leader: "Told | None" = None
    """The record as which it ends."""
    followers: "list[Told]" = field(default_factory=list)

    @property
    def left(self) -> int:
        return (self.pieces or 0) - self.done

    @property
    def ledger(self) -> PartitionLedger:
        assert self.assignment.ledger is not None
        return self.assignment.ledger

    def claim(self) -> Claim:
        """Return a claim that does not have the value."""
        return Claim(Record(*self.assignment.partition, self.offset, "e", 0, None, None, ()), self.ledger, self.arrival)


@dataclass(eq=False)
class Assignment:
    """The records of one partition in one assignment, in arrival order."""

    partition: Partition
    ledger: PartitionLedger | None = None
    batches: list[list[Told]] = field(default_factory=list)
    is_over: bool = False
    is_owned: bool = True
    """Whether the partition is still ours; one that is to begin again is over before."""
    asked_before: int | None = None
    """Where the one in whose place it began was to begin again."""
    begin_again_at: int | None = None
    ends: list[int] = field(default_factory=lambda: [0])
    """Offsets that were reached: every record before them has arrived."""
    held: "list[Told]" = field(default_factory=list)
    """The last records, if they wait for the next one."""

    @property
    def records(self) -> list[Told]:
        return [told for batch in self.batches for told in batch]

    def unpopped(self) -> list[Told]:
        records = self.records
        for n, told in enumerate(records):
            if told.outcome is None:
                return records[n:]
        return []

    def has_open(self) -> bool:
        """Whether a record is not popped, other than those that are held, and they only while they are the last."""
        unpopped = self.unpopped()
        return bool(unpopped) and not (self.held and self.held[-1] is self.records[-1] and set(unpopped) <= set(self.held))

    def next_offset(self) -> int | None:
        settled = self.records[: len(self.records) - len(self.unpopped())]
        behind_last = settled[-1].offset + 1 if settled else 0
        open_offsets = [told.offset for told in self.unpopped()]
        return max(behind_last, *(end for end in self.ends if all(offset >= end for offset in open_offsets))) or None

    def arrived_up_to(self) -> int | None:
        """Return the offset after the last record."""
        return self.records[-1].offset + 1 if self.records else None


def places_of(some: list[Told]) -> tuple[Receipt | None, NDArray[np.int64]]:
    """Return the receipt that all of these records came with and their rows; none: their arrival numbers."""
    receipt = some[0].receipt
    if receipt is not None and all(told.receipt is receipt for told in some):
        return receipt, np.array([told.row for told in some])
    return None, np.array([told.arrival for told in some])


def size_bytes_of(gap: int, key_bytes: int, value_bytes: int, header_bytes: int) -> int:  # noqa: ARG001 - one of `arrivals`
    """Return the size that the ledger must count."""
    return key_bytes + value_bytes + (2 * HEADER_BYTES + len("hnone") + header_bytes if header_bytes else 0)


def new_records(partition: Partition, next_offset: int, arrived: list[dict[str, int]], *, number: int, freed: set[int]) -> list[Record]:
    """Return records as `arrivals` says; their values have numbers from `number` on, put into `freed` when they are."""
    records: list[Record] = []
    for one in arrived:
        value = Value(b"v" * one["value_bytes"]) if one["value_bytes"] else None
        if value is not None:
            value.freed, value.number = freed, number + len(records)
        headers = (("h", b"x" * one["header_bytes"]), ("none", None)) if one["header_bytes"] else ()
        records.append(Record(*partition, next_offset + one["gap"], "e", 0, b"k" * one["key_bytes"] or None, value, headers))
        next_offset = records[-1].offset + 1
    return records
