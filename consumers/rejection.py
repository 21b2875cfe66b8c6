"""Why a record, or a piece of one, can never be indexed.

The stage that finds the fault makes the Rejection, and it travels unchanged to the dead letter: no later step reads the stage or the
kind out of the reason's text.
"""

from typing import Literal, NamedTuple

RejectingStage = Literal["decode", "chunk", "embed", "store"]


class Rejection(NamedTuple):
    """One fault of a record; `stage` and `kind` are metric labels, `reason` is the text of the dead letter."""

    stage: RejectingStage
    kind: str
    """One word from a fixed set for each stage, whatever the reason says (`worker.indexing.dead_letter_reasons.REJECTION_KINDS`)."""
    reason: str
    """One line."""


class RejectedPiece(NamedTuple):
    """A piece of a record that can never be indexed, and why."""

    sub: int
    chunk: int
    rejection: Rejection
