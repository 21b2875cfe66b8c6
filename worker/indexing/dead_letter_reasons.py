"""From a record that cannot be indexed to its dead letter: the stream makes them, and `vectail verify --repair` those that are missing."""

from collections.abc import Sequence

from consumers.record import Record
from producers.envelope import DeadLetter
from worker.indexing.pieces import TOO_MANY_CHUNKS

KINDS = {"decode": ("undecodable", "too_large"), "chunk": (TOO_MANY_CHUNKS,), "embed": ("rejected",), "store": ("refused",)}
"""Stages that give a record up, and in a word each why: what is counted."""
REFUSED_BY_SINK = "refused by the sink: "
"""How the reason of a row begins that the sink refuses alone."""


def letter_of(record: Record, reason: str, pieces: Sequence[tuple[int, int, str]]) -> DeadLetter:
    """Make the dead letter of a record; `pieces` are (sub, chunk, reason) of those that were rejected, none: the whole record is bad."""
    return DeadLetter(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        epoch=record.epoch,
        time_ms=record.time_ms,
        key=record.key,
        value=record.value,
        headers=record.headers,
        stage=_stage_of(reason) if pieces else "decode",
        reason=reason,
        pieces=pieces,
    )


def _stage_of(reason: str) -> str:
    """Say which stage gives a reason; what neither chunking nor the sink says is the engine's."""
    if reason == TOO_MANY_CHUNKS:
        return "chunk"
    return "store" if reason.startswith(REFUSED_BY_SINK) else "embed"


def kind_of(letter: DeadLetter) -> tuple[str, str]:
    """Return the stage that gave a record up and why, in the words of `KINDS`: a few, whatever the reason says."""
    kinds = KINDS[letter.stage]
    return letter.stage, next((kind for kind in kinds if letter.reason.startswith(kind)), kinds[0])
