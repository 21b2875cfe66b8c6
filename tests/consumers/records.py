"""Records, receipts and rejections for the tests of this folder."""

from consumers.ledger import Ledger, Receipt
from consumers.record import Header, Partition, Record
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
        self.posted: list[tuple[Receipt, Rejection, list[RejectedPiece]]] = []

    def __call__(self, receipt: Receipt, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        self.posted.append((receipt, rejection, rejects))

    def deliver_all(self) -> None:
        while self.posted:
            self.posted.pop()[0].dead_letter_delivered()


def rejection(reason: str) -> Rejection:
    return Rejection("embed", "rejected", reason)


def new_ledger(*, cap_records: int = 100, cap_bytes: int = 1_000_000, letters: Letters | None = None) -> Ledger:
    ledger = Ledger(cap_records=cap_records, cap_bytes=cap_bytes, dead_letter=letters or Letters())
    ledger.assign([LOGS_0, LOGS_1])
    return ledger


def admit(ledger: Ledger, *records: Record) -> list[Receipt]:
    receipts = [ledger.admit(record) for record in records]
    admitted = [receipt for receipt in receipts if receipt is not None]
    assert len(admitted) == len(records), "the ledger is full"
    return admitted


def receipt_of(made: Record) -> Receipt:
    """Return the open receipt of one record in a ledger of its own."""
    return admit(new_ledger(), made)[0]
