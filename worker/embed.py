"""The embed step: keeps one engine busy with batches, queries first.

One thread owns the engine. It takes whatever is there, never waits for a fuller batch, and sends every vector on: a
template's to store, a query's to answer. A text that the judge blames fails its flight.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from worker.answer import Answerable, EmbeddedQuery, EncodedQuery, FailedQuery
from worker.batcher import Batch, Batcher
from worker.cache import Vector, VectorCache
from worker.encoded import EmbeddedChunk, EncodedChunk
from worker.flights import Flights
from worker.judge import Judge
from worker.lane import Lane
from worker.limits import FaultLimit
from worker.prepare import StoreItem
from worker.query import is_late

_TAKE = 4096


@dataclass(slots=True)
class EmbedTally:
    """Counters, written by the embed thread, read by anyone."""

    batches: int = 0
    templates: int = 0
    tokens: int = 0
    """Of log templates; queries are not counted."""
    seconds: float = 0.0
    """Inside the engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """Every text that it takes leaves as a vector, or its flight fails; a query past its deadline is not computed.

    Thread: one, the engine's.
    """

    inlet: Lane[EncodedChunk | EncodedQuery]
    batcher: Batcher[EncodedQuery, EncodedChunk]
    judge: Judge
    cache: VectorCache
    flights: Flights
    rejected: FaultLimit
    store: Lane[StoreItem]
    answer: Lane[Answerable]
    clock: Callable[[], float]
    tally: EmbedTally = field(default_factory=EmbedTally)

    def body(self) -> None:
        """Run until the inlet is closed and nothing waits, or until it is abandoned."""
        while self.turn():
            pass

    def turn(self) -> bool:
        """Take what has come and embed one batch, waiting only for the first text; False when there is no more to do."""
        taken = self.inlet.take(_TAKE, wait=not len(self.batcher))
        if self.inlet.is_abandoned or (taken is None and not len(self.batcher)):
            return False
        self.batcher.add_queries(entry for entry in taken or () if isinstance(entry, EncodedQuery))
        self.batcher.add_logs(entry for entry in taken or () if isinstance(entry, EncodedChunk))
        self._embed(self.batcher.next_batch())
        return True

    def _embed(self, batch: Batch[EncodedQuery, EncodedChunk]) -> None:
        started_s = self.clock()
        late = [query for query in batch.queries if is_late(query.asked, started_s)]
        self.answer.put([FailedQuery(query.asked, "expired", "deadline_ms", "the deadline has passed") for query in late])
        batch = batch._replace(queries=[query for query in batch.queries if not is_late(query.asked, started_s)])
        if not (batch.queries or batch.logs):
            return
        outcomes = self.judge.embed([query.ids for query in batch.queries] + [log.ids for log in batch.logs])
        ended_s = self.clock()
        self.tally.batches += 1
        self.tally.seconds += ended_s - started_s
        asked = len(batch.queries)
        self.cache.put_many({q.digest: o for q, o in zip(batch.queries, outcomes, strict=False) if not isinstance(o, str)})
        self.answer.put([_answerable(q, o, started_s, ended_s) for q, o in zip(batch.queries, outcomes[:asked], strict=True)])
        self._send_templates(batch.logs, outcomes[asked:])

    def _send_templates(self, encoded: list[EncodedChunk], outcomes: list[Vector | str]) -> None:
        embedded: list[EmbeddedChunk] = []
        for chunk, outcome in zip(encoded, outcomes, strict=True):
            if isinstance(outcome, str):
                for parked in self.flights.fail(chunk.template, outcome):
                    parked.entry.receipt.reject(parked.entry.sub, parked.chunk, outcome)
                self.rejected.fault()
                continue
            self.rejected.good()
            embedded.append(EmbeddedChunk(chunk.template, chunk.masked, outcome, len(chunk.ids), embedded=True))
        self.tally.templates += len(embedded)
        self.tally.tokens += sum(chunk.tokens for chunk in embedded)
        self.cache.put_many({chunk.template: chunk.vector for chunk in embedded})
        self.store.put(embedded)


def _answerable(query: EncodedQuery, outcome: Vector | str, started_s: float, ended_s: float) -> Answerable:
    if isinstance(outcome, str):
        return FailedQuery(query.asked, "bad_query", "text", outcome)
    return EmbeddedQuery(query.asked, query.query, outcome, started_s - query.asked.taken_s, ended_s - started_s)
