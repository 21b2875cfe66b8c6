"""The compute step: runs one batch after another through the engine, and nothing else, on its own thread.

`worker.embedding.embed` forms the batches and sends the outcomes on.
"""

from collections.abc import Callable
from typing import NamedTuple

from worker.asking.requests import is_late
from worker.embedding.batcher import Batch
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.handoff import BatchHandoff
from worker.embedding.model.vectors import Outcome
from worker.messages import EncodedQuery, EncodedTemplate

EmbedBatch = Batch[EncodedQuery, EncodedTemplate]


class Computed(NamedTuple):
    """One batch with its outcomes."""

    batch: EmbedBatch
    """Without the late queries."""
    outcomes: list[Outcome]
    """Of the batch's queries, then of its logs."""
    late: list[EncodedQuery]
    """Queries past their deadline, which were not computed."""
    started_s: float
    ended_s: float
    limit_tokens: int
    """Most tokens that the next batch should have."""


class Compute:
    """Every batch that it begins comes back computed, unless the engine cannot be repaired.

    Thread: one, the engine's.
    """

    def __init__(
        self,
        *,
        handoff: BatchHandoff[EmbedBatch, Computed],
        engine: GuardedEngine,
        clock: Callable[[], float],
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._handoff = handoff
        self._engine = engine
        self._clock = clock
        self._fail_point = fail_point

    def body(self) -> None:
        """Run until no more batches will come."""
        while self.turn():
            pass

    def turn(self, *, wait: bool = True) -> bool:
        """Compute one batch; False when there is none."""
        batch = self._handoff.begin_batch(wait=wait)
        if batch is None:
            return False
        self._handoff.finish_batch(self._computed(batch))
        return True

    def _computed(self, batch: EmbedBatch) -> Computed:
        started_s = self._clock()
        late = [query for query in batch.queries if is_late(query.requester, started_s)]
        batch = batch._replace(queries=[query for query in batch.queries if not is_late(query.requester, started_s)])
        texts = [query.ids for query in batch.queries] + [log.ids for log in batch.logs]
        self._fail_point("engine_asked")
        outcomes = self._engine.embed(texts) if texts else []
        self._fail_point("engine_answered")
        return Computed(batch, outcomes, late, started_s, self._clock(), self._engine.limit_tokens)
