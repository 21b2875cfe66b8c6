"""The dead letters of a ledger whose steps a test moves by hand."""

from consumers.assignment import Claim
from consumers.rejection import RejectedPiece, Rejection


class Letters:
    """Dead letters of a ledger, delivered at once unless `held`.

    Thread: the test's.
    """

    def __init__(self) -> None:
        self.posted: list[tuple[Claim, Rejection, list[RejectedPiece]]] = []
        self.held = False

    def __call__(self, claim: Claim, rejection: Rejection, rejects: list[RejectedPiece]) -> None:
        self.posted.append((claim, rejection, rejects))
        if not self.held:
            claim.dead_letter_delivered()

    def offsets(self) -> list[int]:
        return [claim.record.offset for claim, _, _ in self.posted]
