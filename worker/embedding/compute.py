"""The compute step: one batch after another through the engine, and nothing else on its thread.

`worker.embedding.embed` forms the batches and sends the outcomes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from worker.embedding.batcher import Batch
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.handoff import BatchHandoff
from worker.embedding.model.vectors import Vector
from worker.messages import EncodedChunk, EncodedQuery
from worker.query import is_late

EmbedBatch = Batch[EncodedQuery, EncodedChunk]


class Computed(NamedTuple):
    """One batch with its outcomes.

    Thread: any.
    """

    batch: EmbedBatch
    """Without the queries that were too late."""
    outcomes: list[Vector | str]
    """For the batch's queries, then for its logs: a vector, or why there is none."""
    late: list[EncodedQuery]
    started_s: float
    ended_s: float
    limit_tokens: int
    """Most tokens that the next batch should have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Every batch that it begins comes back, unless the engine cannot be repaired.

    Thread: one, the engine's.
    """

    ahead: BatchHandoff[EmbedBatch, Computed]
    judge: GuardedEngine
    clock: Callable[[], float]
    fail_point: Callable[[str], None] = lambda _point: None

    def body(self) -> None:
        """Run until no more batches will come."""
        while self.turn():
            pass

    def turn(self, *, wait: bool = True) -> bool:
        """Compute one batch; False when there is none."""
        batch = self.ahead.next(wait=wait)
        if batch is None:
            return False
        self.ahead.done(self._computed(batch))
        return True

    def _computed(self, batch: EmbedBatch) -> Computed:
        started_s = self.clock()
        late = [query for query in batch.queries if is_late(query.asked, started_s)]
        batch = batch._replace(queries=[query for query in batch.queries if not is_late(query.asked, started_s)])
        texts = [query.ids for query in batch.queries] + [log.ids for log in batch.logs]
        self.fail_point("engine_asked")
        outcomes = self.judge.embed(texts) if texts else []
        self.fail_point("engine_answered")
        return Computed(batch, outcomes, late, started_s, self.clock(), self.judge.limit_tokens)
