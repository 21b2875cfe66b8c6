"""The dead letters of a ledger whose steps a test moves by hand."""

from consumers.ledger import Receipt
from consumers.rejection import RejectedPiece, Rejection


class Letters:
    """Dead letters of a ledger, delivered at once unless `held`.

    Thread: the test's.
    """

    def __init__(self) -> None:
        self.posted: list[tuple[Receipt, Rejection, list[RejectedPiece]]] = []
        self.held = False

    def __call__(self, receipt: Receipt, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        self.posted.append((receipt, rejection, rejects))
        if not self.held:
            receipt.dead_letter_delivered()

    def offsets(self) -> list[int]:
        return [receipt.record.offset for receipt, _, _ in self.posted]
