"""The embed step: keeps one engine busy with batches, queries first.

It forms batches and sends the outcomes on: a template's vector to store, a query's to answer; a rejected text fails its flight.
`worker.embedding.compute` computes the batches on its own thread; the next batch is ready before the current one ends.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from consumers.rejection import Rejection
from worker.embedding.batcher import Batcher
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.compute import Computed, EmbedBatch
from worker.embedding.handoff import BatchHandoff
from worker.embedding.model.vectors import EmbeddingFailed, Outcome
from worker.messages import (
    Answerable,
    EmbeddedTemplate,
    EncodedQuery,
    EncodedTemplate,
    FailedQuery,
    ReadyQuery,
    StoreItem,
    late_query,
)
from worker.runtime.histogram import SIZES, TOKENS, Histogram
from worker.runtime.lane import Lane, QueueAges
from worker.runtime.limits import FaultLimit

_TAKE = 4096


@dataclass(slots=True)
class EmbedTally:
    """Counters that only grow.

    Thread: the embed stage's writes, any reads.
    """

    batches: int = 0
    templates: int = 0
    tokens: int = 0
    """Of templates; queries are not counted."""
    seconds: float = 0.0
    """Inside the engine."""
    sizes: Histogram = field(default_factory=lambda: Histogram(SIZES))
    """Texts per batch, queries included."""
    batch_tokens: Histogram = field(default_factory=lambda: Histogram(TOKENS))
    batch_seconds: Histogram = field(default_factory=Histogram)
    """Per batch, inside the engine."""
    waits: Histogram = field(default_factory=Histogram)
    """Seconds that the log text of each batch that came first waited for the engine."""


class Embed:
    """Every text that it takes leaves as a vector, or its flight fails; a query past its deadline is not computed.

    Thread: one, the embed stage's.
    """

    def __init__(  # noqa: PLR0913 - what it is wired to, each by name
        self,
        *,
        inlet: Lane[EncodedTemplate | EncodedQuery],
        batcher: Batcher[EncodedQuery, EncodedTemplate],
        handoff: BatchHandoff[EmbedBatch, Computed],
        cache: VectorCache,
        fail_flight: Callable[[str, Rejection], None],
        rejected: FaultLimit,
        store: Lane[StoreItem],
        answer: Lane[Answerable],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`fail_flight` remembers a template as rejected, with the reason, and rejects the lines that waited for it."""
        self.inlet = inlet
        self.batcher = batcher
        self.handoff = handoff
        self.tally = EmbedTally()
        self._cache = cache
        self._fail_flight = fail_flight
        self._rejected = rejected
        self._store = store
        self._answer = answer
        self._clock = clock
        self._ages = QueueAges()
        """Of the log texts that are not computed yet."""

    def body(self) -> None:
        """Run until the inlet is closed and everything is sent on, or until it is abandoned."""
        while self.turn():
            pass
        self.handoff.close()

    def turn(self) -> bool:
        """Send on what was computed, take new texts and offer a batch; False at the end."""
        taken = self.inlet.take(_TAKE, wait=not (self.handoff.has_results or (len(self.batcher) and self.handoff.has_room)))
        if self.inlet.is_abandoned:
            return False
        for computed in self.handoff.take_results():
            self._send(computed)
        self._add_texts(taken or ())
        if len(self.batcher) and self.handoff.has_room:
            self.handoff.offer_batch(self.batcher.next_batch())
        if taken is None:
            self.handoff.wait_for_result(or_room=bool(len(self.batcher)))
            return bool(len(self.batcher)) or not self.handoff.is_idle
        return True

    def _add_texts(self, taken: Sequence[EncodedTemplate | EncodedQuery]) -> None:
        """Queue texts; form the ready batch again if queries came or it may have had room for more."""
        queries = [entry for entry in taken if isinstance(entry, EncodedQuery)]
        if taken and (queries or not len(self.batcher)):
            ready = self.handoff.withdraw_batch()
            if ready is not None:
                self.batcher.put_back(ready)
        self.batcher.add_queries(queries)
        logs = [entry for entry in taken if isinstance(entry, EncodedTemplate)]
        self.batcher.add_logs(logs)
        now_s = self._clock()
        for topic, texts in Counter(log.topic for log in logs).items():
            self._ages.arrived(texts, now_s, topic)

    def _send(self, computed: Computed) -> None:
        queries, logs = computed.batch
        outcomes, started_s, ended_s = computed.outcomes, computed.started_s, computed.ended_s
        self._answer.put([late_query(query.requester, "the deadline has passed") for query in computed.late])
        if outcomes:
            self._count(computed)
        self.batcher.observe(computed.batch.tokens, ended_s - started_s)
        self.batcher.shrink(computed.limit_tokens)
        asked = len(queries)
        vectors = {q.digest: o for q, o in zip(queries, outcomes, strict=False) if not isinstance(o, EmbeddingFailed)}
        self._cache.put_many({digest: vector for digest, vector in vectors.items() if digest is not None})
        self._answer.put([_answerable(q, o, started_s, ended_s) for q, o in zip(queries, outcomes[:asked], strict=True)])
        self._send_templates(logs, outcomes[asked:])

    def _count(self, computed: Computed) -> None:
        tally, batch, seconds = self.tally, computed.batch, computed.ended_s - computed.started_s
        tally.batches += 1
        tally.seconds += seconds
        tally.sizes.add(len(computed.outcomes))
        tally.batch_tokens.add(batch.tokens)
        tally.batch_seconds.add(seconds)
        if batch.logs:
            first_s = min(self._ages.left(texts, topic) for topic, texts in Counter(log.topic for log in batch.logs).items())
            tally.waits.add(max(computed.started_s - first_s, 0.0))

    def _send_templates(self, encoded: list[EncodedTemplate], outcomes: list[Outcome]) -> None:
        embedded: list[EmbeddedTemplate] = []
        for one, outcome in zip(encoded, outcomes, strict=True):
            if isinstance(outcome, EmbeddingFailed):
                rejection = rejected_text(outcome)
                self._fail_flight(one.template, rejection)
                self._rejected.fault()
                continue
            self._rejected.good()
            embedded.append(EmbeddedTemplate(one.template, one.key, one.text, outcome, len(one.ids), "engine"))
        self.tally.templates += len(embedded)
        self.tally.tokens += sum(one.tokens for one in embedded)
        self._cache.put_many({one.key: one.vector for one in embedded})
        self._store.put(embedded)


def rejected_text(failed: EmbeddingFailed) -> Rejection:
    """Reject every piece whose text has no vector."""
    return Rejection("embed", "rejected", failed.reason)


def _answerable(query: EncodedQuery, outcome: Outcome, started_s: float, ended_s: float) -> Answerable:
    if isinstance(outcome, EmbeddingFailed):
        return FailedQuery(query.requester, "bad_query", "text", outcome.reason)
    return ReadyQuery(query.requester, query.query, outcome, started_s - query.requester.taken_s, ended_s - started_s)
