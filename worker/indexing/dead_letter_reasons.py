"""Why the worker rejects records and pieces, and the dead letters that say so.

The stream makes them, and so does `vectail verify --repair` for those that are missing.
"""

from collections.abc import Mapping, Sequence

from consumers.decode.found import UNDECODABLE, UNKNOWN_SCHEMA
from consumers.record import Record
from consumers.rejection import RejectedPiece, RejectingStage, Rejection
from producers.envelope import DeadLetter, ListedPiece
from sinks.sink import SinkRejected
from worker.embedding.model.vectors import EmbeddingFailed

REJECTION_KINDS: Mapping[RejectingStage, tuple[str, ...]] = {
    "decode": (UNDECODABLE, UNKNOWN_SCHEMA, "too_large", "too_many_entries"),
    "chunk": ("too_many_chunks",),
    "embed": ("rejected",),
    "store": ("refused",),
}
"""The kinds of rejection that each stage makes: the label values that the metric shows from the start."""
TOO_MANY_CHUNKS = Rejection("chunk", "too_many_chunks", "too_many_chunks")
"""Rejects an entry as piece (sub, 0) of its record."""


def rejected_by_engine(failed: EmbeddingFailed) -> Rejection:
    """Reject every piece whose text has no vector."""
    return Rejection("embed", "rejected", failed.reason)


def refused_by_sink(error: SinkRejected) -> Rejection:
    """Reject the one row of a write that the sink refused."""
    return Rejection("store", "refused", f"refused by the sink: {error}")


def letter_of(record: Record, rejection: Rejection, pieces: Sequence[RejectedPiece]) -> DeadLetter:
    """Make the dead letter of a record for its first rejection; without `pieces` the whole record is rejected."""
    return DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        epoch=record.epoch,
        time_ms=record.time_ms,
        key=record.key,
        value=record.value,
        headers=record.headers,
        stage=rejection.stage,
        reason=rejection.reason,
        pieces=[ListedPiece(sub, chunk, why.reason) for sub, chunk, why in pieces],
    )
