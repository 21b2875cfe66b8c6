"""The embed step: keeps one engine busy with batches, queries first.

It forms batches and sends what comes back on: a template's vector to store, a query's to answer; a text that the judge blames fails
its flight. `worker.embedding.compute` computes them on a thread of its own; the next batch stands ready before the last one ends.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from worker.embedding.batcher import Batcher
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.compute import Computed, EmbedBatch
from worker.embedding.handoff import BatchHandoff
from worker.embedding.model.vectors import Vector
from worker.messages import Answerable, Chunk, EmbeddedChunk, EncodedChunk, EncodedQuery, FailedQuery, ReadyQuery, StoreItem
from worker.runtime.histogram import SIZES, TOKENS, Histogram
from worker.runtime.lane import Lane, QueueAges
from worker.runtime.limits import FaultLimit

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
    sizes: Histogram = field(default_factory=lambda: Histogram(SIZES))
    """Texts of a batch, queries too."""
    batch_tokens: Histogram = field(default_factory=lambda: Histogram(TOKENS))
    batch_seconds: Histogram = field(default_factory=Histogram)
    """Of each batch, inside the engine."""
    waits: Histogram = field(default_factory=Histogram)
    """Seconds: how long the first log text of each batch had waited for it to begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """Every text that it takes leaves as a vector, or its flight fails; a query past its deadline is not computed.

    Thread: one, the embed stage's.
    """

    inlet: Lane[EncodedChunk | EncodedQuery]
    batcher: Batcher[EncodedQuery, EncodedChunk]
    ahead: BatchHandoff[EmbedBatch, Computed]
    cache: VectorCache
    fail_flight: Callable[[str, str], Sequence[Chunk]]
    """Remembers a template as rejected, with the reason; returns the chunks that waited for it."""
    rejected: FaultLimit
    store: Lane[StoreItem]
    answer: Lane[Answerable]
    clock: Callable[[], float] = time.monotonic
    tally: EmbedTally = field(default_factory=EmbedTally)
    _ages: QueueAges = field(default_factory=QueueAges)
    """Of the log texts that are not computed yet."""

    def body(self) -> None:
        """Run until the inlet is closed and nothing is left to do, or until it is abandoned."""
        while self.turn():
            pass
        self.ahead.close()

    def turn(self) -> bool:
        """Send on what was computed, take what has come, and have a batch ready; False when there is no more to do."""
        taken = self.inlet.take(_TAKE, wait=not (self.ahead.has_results or (len(self.batcher) and self.ahead.wants)))
        if self.inlet.is_abandoned:
            return False
        for computed in self.ahead.results():
            self._send(computed)
        self._add(taken or ())
        if len(self.batcher) and self.ahead.wants:
            self.ahead.offer(self.batcher.next_batch())
        if taken is None:
            self.ahead.wait(until_wants=bool(len(self.batcher)))
            return bool(len(self.batcher)) or not self.ahead.is_idle
        return True

    def _add(self, taken: Sequence[EncodedChunk | EncodedQuery]) -> None:
        """Queue texts. The ready batch is formed anew for a query, and where it had room for more."""
        queries = [entry for entry in taken if isinstance(entry, EncodedQuery)]
        if taken and (queries or not len(self.batcher)):
            ready = self.ahead.take_back()
            if ready is not None:
                self.batcher.put_back(ready)
        self.batcher.add_queries(queries)
        logs = [entry for entry in taken if isinstance(entry, EncodedChunk)]
        self.batcher.add_logs(logs)
        self._ages.came(len(logs), self.clock())

    def _send(self, computed: Computed) -> None:
        queries, logs = computed.batch
        outcomes, started_s, ended_s = computed.outcomes, computed.started_s, computed.ended_s
        self.answer.put([FailedQuery(query.asked, "expired", "deadline_ms", "the deadline has passed") for query in computed.late])
        if outcomes:
            self._count(computed)
        self.batcher.observe(computed.batch.tokens, ended_s - started_s)
        self.batcher.shrink(computed.limit_tokens)
        asked = len(queries)
        vectors = {q.digest: o for q, o in zip(queries, outcomes, strict=False) if not isinstance(o, str)}
        self.cache.put_many({digest: vector for digest, vector in vectors.items() if digest is not None})
        self.answer.put([_answerable(q, o, started_s, ended_s) for q, o in zip(queries, outcomes[:asked], strict=True)])
        self._send_templates(logs, outcomes[asked:])

    def _count(self, computed: Computed) -> None:
        tally, batch, seconds = self.tally, computed.batch, computed.ended_s - computed.started_s
        tally.batches += 1
        tally.seconds += seconds
        tally.sizes.add(len(computed.outcomes))
        tally.batch_tokens.add(batch.tokens)
        tally.batch_seconds.add(seconds)
        if batch.logs:
            tally.waits.add(max(computed.started_s - self._ages.gone(len(batch.logs)), 0.0))

    def _send_templates(self, encoded: list[EncodedChunk], outcomes: list[Vector | str]) -> None:
        embedded: list[EmbeddedChunk] = []
        for chunk, outcome in zip(encoded, outcomes, strict=True):
            if isinstance(outcome, str):
                for parked in self.fail_flight(chunk.template, outcome):
                    parked.receipt.reject(parked.entry.sub, parked.chunk, outcome)
                self.rejected.fault()
                continue
            self.rejected.good()
            embedded.append(EmbeddedChunk(chunk.template, chunk.masked, outcome, len(chunk.ids), "engine"))
        self.tally.templates += len(embedded)
        self.tally.tokens += sum(chunk.tokens for chunk in embedded)
        self.cache.put_many({chunk.template: chunk.vector for chunk in embedded})
        self.store.put(embedded)


def _answerable(query: EncodedQuery, outcome: Vector | str, started_s: float, ended_s: float) -> Answerable:
    if isinstance(outcome, str):
        return FailedQuery(query.asked, "bad_query", "text", outcome)
    return ReadyQuery(query.asked, query.query, outcome, started_s - query.asked.taken_s, ended_s - started_s)
