"""Values that the tests of the chain share: a record, golden vectors, what a block holds."""

from consumers.columns import as_texts
from consumers.record import Header, Partition, Record
from sinks.block import Block
from sinks.codec import decode_texts
from tests.fakes.engine import FakeEngine
from worker.embedding.model.golden import Golden
from worker.embedding.tokenizer import Tokenizer

LOGS = Partition("logs", 0)
LATE_MS = 1_000_000.0
"""What the wall clock of a chain says at its moment 0."""


def record(offset: int, value: bytes | None, *, partition: Partition = LOGS, headers: tuple[Header, ...] = ()) -> Record:
    """Return a record of the partition that was sent a second before the chain's moment 0."""
    return Record(partition.topic, partition.partition, offset, "e1", int(LATE_MS) - 1000, b"key", value, headers)


def golden_of(engine: FakeEngine, words: Tokenizer) -> Golden:
    """Return golden vectors that a sound fake engine agrees with."""
    ids = [words.encode([text]).text(0) for text in ("golden text", "another golden text")]
    return Golden(ids, engine.embed(ids))


def texts_of(block: Block) -> list[str]:
    """Return the texts of a block, in its order; empty ones of lines without."""
    return [text or "" for text in as_texts(decode_texts(block.texts))]
