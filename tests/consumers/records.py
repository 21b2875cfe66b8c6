"""Records, claims, receipts and rejections for the tests of this folder."""

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import Claim, Receipt
from consumers.ledger import Ledger
from consumers.record import Header, Partition, Record, records_of
from consumers.rejection import RejectedPiece, Rejection

LOGS_0 = Partition("logs", 0)
LOGS_1 = Partition("logs", 1)


def record(
    offset: int = 0,
    value: bytes | None = b"a line",
    *,
    partition: Partition = LOGS_0,
    key: bytes | None = None,
    headers: tuple[Header, ...] = (),
) -> Record:
    return Record(*partition, offset, "e90c", 1_700_000_000_000 + offset, key, value, headers)


class Letters:
    """A dead-letter box that keeps the letters; the test delivers them.

    Thread: any.
    """

    def __init__(self) -> None:
        self.posted: list[tuple[Claim, Rejection, list[RejectedPiece]]] = []

    def __call__(self, claim: Claim, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        self.posted.append((claim, rejection, rejects))

    def deliver_all(self) -> None:
        while self.posted:
            self.posted.pop()[0].dead_letter_delivered()


def rejection(reason: str) -> Rejection:
    return Rejection("embed", "rejected", reason)


def new_ledger(*, cap_records: int = 100, cap_bytes: int = 1_000_000, letters: Letters | None = None) -> Ledger:
    ledger = Ledger(cap_records=cap_records, cap_bytes=cap_bytes, dead_letter=letters or Letters())
    ledger.assign([LOGS_0, LOGS_1])
    return ledger


def admit(ledger: Ledger, *records: Record) -> list[Claim]:
    """Admit records one at a time, all of them; return the claim on each."""
    return [admit_batch(ledger, record).claim(0) for record in records]


def admit_batch(ledger: Ledger, *records: Record) -> Receipt:
    """Admit records of one partition together, all of them."""
    receipt = ledger.admit(records_of(records))
    assert receipt is not None, "the ledger is full"
    assert receipt.records.size == len(records), "the ledger has no room for all of them"
    return receipt


def numbers(*given: int) -> NDArray[np.int64]:
    """Return rows, arrival numbers, counts or bytes as an array."""
    return np.array(given, np.int64)
