"""The metrics of an engine and its batches: the index's, or that of the embedding service's default model."""

from collections.abc import Iterator
from typing import Protocol

from worker.embedding.embedder import Embedder
from worker.embedding.guarded_engine import GuardedEngine
from worker.watching import metrics as m
from worker.watching.metrics import Sample


class EmbeddingPart(Protocol):
    """Whatever has an engine and what forms its batches."""

    @property
    def embedder(self) -> Embedder:
        """What forms the batches."""

    @property
    def guarded_engine(self) -> GuardedEngine:
        """The engine."""


def engine_samples(part: EmbeddingPart) -> Iterator[Sample]:
    """Return the values of the engine's metrics."""
    tally, engine = part.embedder.tally, part.guarded_engine
    yield Sample(m.BATCH_SIZE, tally.sizes.seen())
    yield Sample(m.BATCH_TOKENS, tally.batch_tokens.seen())
    yield Sample(m.BATCH_WAIT_SECONDS, tally.waits.seen())
    yield Sample(m.EMBED_SECONDS, tally.batch_seconds.seen())
    yield Sample(m.ENGINE_UP, float(engine.is_up))
    yield Sample(m.ENGINE_RESTARTS_TOTAL, engine.restarts)
    yield Sample(m.ENGINE_BUSY_TOTAL, tally.seconds)
    batcher = part.embedder.batcher
    yield Sample(m.BATCH_LIMIT_TOKENS, min(batcher.capped_tokens, engine.limit_tokens) if batcher.queries_arrive else engine.limit_tokens)
