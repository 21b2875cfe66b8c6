"""The one way to a vector: texts are submitted with what is to be done once they are embedded.

Theory of operation
1. `submit` queues texts in the batcher and returns at once. Nothing here bounds how many wait: each text belongs to a record or a request
   that is counted already (the ledgers' cap, the server's open requests).
2. The engine's thread *pulls*: when it and its device are free it takes the batcher's next batch, drops the texts for which it is too
   late, and computes the rest. There is no batch that stands ready, so a query is in the very next one.
3. The embed thread puts the vectors into the cache and calls `done`, while the engine computes the next batch. So `done` may wait (for the
   sink, say) without holding up the engine, and never runs beside another `done`.
4. Texts with one cache key are computed once (`worker.embedding.single_flight`): whoever asks for one that waits or is being computed
   waits for it, and one of a more urgent class takes it along. A text whose vector has come into memory while it waited is not computed.
5. `close` ends both threads when every text is computed and every `done` has returned; `abandon` ends them at once, and then no `done` is
   called any more.

Not taken: `done` on the engine's thread (the engine would be idle meanwhile: up to a tenth of the time on a GPU); a batch formed ahead,
which has to be formed again whenever a query comes.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

from sinks.row import Vector
from worker.embedding.batcher import Batch, Batcher, Urgency, tokens_of
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.encoded_text import Done, Embedded, EmbeddingLate, EncodedText
from worker.embedding.engine_pace import EnginePace
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.space import CacheKey
from worker.embedding.model.vectors import EmbeddingFailed, Outcome, TokenIds
from worker.embedding.single_flight import SingleFlight
from worker.runtime.histogram import SIZES, TOKENS, Histogram


@dataclass(slots=True)
class EmbedTally:
    """Counters that only grow.

    Thread: the embed stage's writes, any reads.
    """

    batches: int = 0
    templates: int = 0
    """Of the index, with a vector; queries and texts of clients are not counted."""
    tokens: int = 0
    """Of these templates."""
    joined: int = 0
    """Texts that waited for the computation of an equal one, or found its vector when their turn came."""
    seconds: float = 0.0
    """Inside the engine."""
    sizes: Histogram = field(default_factory=lambda: Histogram(SIZES))
    """Texts per batch, of all classes."""
    batch_tokens: Histogram = field(default_factory=lambda: Histogram(TOKENS))
    batch_seconds: Histogram = field(default_factory=Histogram)
    """Per batch, inside the engine."""
    waits: Histogram = field(default_factory=Histogram)
    """Seconds that the bulk text of each batch that came first waited for the engine."""


class Waiting(NamedTuple):
    """A text in the batcher."""

    ids: TokenIds
    text: EncodedText
    place: int
    done: Done
    since_s: float


class Computed(NamedTuple):
    """A batch that the engine has left."""

    texts: list[Waiting]
    """Those that the engine computed."""
    outcomes: list[Outcome]
    """Of these."""
    in_memory: list[tuple[Waiting, Vector]]
    """Those whose vector was there meanwhile."""
    late: list[Waiting]
    """All who waited for texts that came too late for each of them."""
    started_s: float
    ended_s: float

    @property
    def seconds(self) -> float:
        """How long it was in the engine."""
        return self.ended_s - self.started_s


class Embedder:
    """Each text that is submitted is in one call of its `done`, with a vector or the reason why it has none.

    Thread: `compute` the engine's, `deliver` the embed stage's, the rest any.
    """

    name = "embed"

    def __init__(
        self,
        *,
        batcher: Batcher[Waiting],
        engine: GuardedEngine,
        cache: VectorCache,
        memory: VectorCache,
        slot: AbstractContextManager[object] | None = None,
        clock: Callable[[], float] = time.monotonic,
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """`cache` gets every vector that has a key; `memory` is its fastest level. `slot` is held while the device computes."""
        self.tally = EmbedTally()
        self.batcher = batcher
        """Under the lock; its properties may be read without."""
        self.is_abandoned = False
        self.pace = EnginePace()
        self._flights: SingleFlight[Waiting] = SingleFlight()
        """Under the lock."""
        self._engine = engine
        self._cache = cache
        self._memory = memory
        self._slot = slot or nullcontext()
        self._clock = clock
        self._fail_point = fail_point
        lock = threading.Lock()
        self._work = threading.Condition(lock)
        """The engine's thread waits here for texts."""
        self._results = threading.Condition(lock)
        """The embed stage waits here for what was computed."""
        self._computed: list[Computed] = []
        self._begun: tuple[int, float] | None = None
        """Tokens in the engine now, and since when; None: it computes nothing."""
        self._is_closed = False

    def submit(self, texts: Sequence[EncodedText], done: Done) -> None:
        """Queue texts; see `Submit`. Raises RuntimeError once closed; drops them once abandoned."""
        now_s = self._clock()
        waiting = [Waiting(text.ids, text, place, done, now_s) for place, text in enumerate(texts)]
        if not waiting:
            return
        with self._work:
            if self.is_abandoned:
                return
            if self._is_closed:
                raise RuntimeError("the embedder is closed; a stage before it is still running")
            for one in waiting:
                if self._flights.joins(one.text.key, one, one.text.urgency):
                    self.batcher.add([one], one.text.urgency)
            self._work.notify()

    def __len__(self) -> int:
        """Return how many texts wait for the engine."""
        return len(self.batcher)

    @property
    def waits(self) -> Histogram:
        """Seconds that the first bulk text of each batch waited."""
        return self.tally.waits

    def wait_s(self, requester: str, tokens: int) -> float:
        """Return the seconds of work before so many further online tokens of a requester; 0 before the first batch."""
        with self._work:
            return self.pace.seconds(self.batcher.tokens_ahead(requester, tokens))

    def ready_s(self, urgency: Urgency, requester: str, tokens: int) -> float:
        """Return the seconds until so many further tokens would be computed, those of the batch in the engine included."""
        with self._work:
            ahead = self.batcher.waiting_tokens["query"] if urgency == "query" else self.batcher.tokens_ahead(requester, tokens)
            return self._left_s() + self.pace.seconds(ahead + tokens)

    def has(self, key: CacheKey | None) -> bool:
        """Whether a text with this cache key waits or is being computed here."""
        with self._work:
            return key in self._flights

    def backlog_s(self) -> float:
        """Return the seconds of work that wait, of queries and of clients."""
        with self._work:
            return self.pace.seconds(self.batcher.waiting_tokens["query"] + self.batcher.waiting_tokens["online"])

    def close(self) -> None:
        """Nothing more will be submitted; what waits is still computed and delivered."""
        self._end(abandon=False)

    def abandon(self) -> None:
        """Close, and drop what waits and what was computed: its records stay open, so they will be read again."""
        self._end(abandon=True)

    def compute(self) -> None:
        """Compute batches until it is closed and none is left, or abandoned. Raises EngineFailed."""
        while self.compute_batch():
            pass

    def deliver(self) -> None:
        """Deliver until it is closed and everything is delivered, or abandoned. Raises what a `done` raises."""
        while self.deliver_batches():
            pass

    def compute_batch(self, *, wait: bool = True) -> bool:
        """Pull a batch and compute it; False if there is none: at once without `wait`, else only at the end."""
        with self._work:
            while wait and not len(self.batcher) and not self._is_closed:
                self._work.wait()
            if not len(self.batcher):
                return False
        with self._slot:
            return self._compute_next()

    def deliver_batches(self, *, wait: bool = True) -> bool:
        """Deliver what has been computed; False if there is nothing: at once without `wait`, else only at the end."""
        with self._results:
            while wait and not self._computed and not self._has_ended:
                self._results.wait()
            computed, self._computed = self._computed, []
        for one in computed:
            if self.is_abandoned:
                return False
            self._deliver(one)
        return bool(computed)

    @property
    def _has_ended(self) -> bool:
        """Whether nothing more will be computed."""
        return self.is_abandoned or (self._is_closed and self._begun is None and not len(self.batcher))

    def _end(self, *, abandon: bool) -> None:
        with self._work:
            self._is_closed = True
            if abandon:
                self.is_abandoned = True
                self.batcher.clear()
                self._flights.clear()
                self._computed.clear()
            self._work.notify()
            self._results.notify()

    def _compute_next(self) -> bool:
        """Compute the next batch, on a device that is free; False if there is none any more."""
        with self._work:
            if not len(self.batcher):
                return False
            batch = self.batcher.next_batch()
            self._begun = batch.tokens, self._clock()
        computed = self._compute(batch)
        tokens, seconds = tokens_of(computed.texts), computed.seconds
        with self._results:
            self.batcher.observe(tokens, seconds)
            self.batcher.shrink(self._engine.limit_tokens)
            self.pace.observe(tokens, seconds)
            self._begun = None
            self._computed.append(computed)
            self._results.notify()
        return True

    def _left_s(self) -> float:
        """Return how long the engine still computes. One that is late by some time is thought to need as long again: it may be away."""
        if self._begun is None:
            return 0.0
        tokens, since_s = self._begun
        return abs(since_s + self.pace.seconds(tokens) - self._clock())

    def _compute(self, batch: Batch[Waiting]) -> Computed:
        started_s = self._clock()
        with self._work:
            begun, late = self._begin(batch, started_s)
        found = self._memory.get_many([one.text.key for one in begun if one.text.key is not None])
        texts, in_memory = [], []
        for one in begun:
            if one.text.key is not None and one.text.key in found:
                in_memory.append((one, found[one.text.key]))
            else:
                texts.append(one)
        self._fail_point("engine_asked")
        outcomes = self._engine.embed([one.ids for one in texts]) if texts else []
        self._fail_point("engine_answered")
        return Computed(texts, outcomes, in_memory, late, started_s, self._clock())

    def _begin(self, batch: Batch[Waiting], now_s: float) -> tuple[list[Waiting], list[Waiting]]:
        """Begin the flights of a batch; return the texts that somebody still waits for, and all who waited for the others."""
        begun: list[Waiting] = []
        late: list[Waiting] = []
        for one in (*batch.queries, *batch.others):
            key = one.text.key
            if not self._flights.begin(key):
                continue
            if all(waiter.text.is_late(now_s) for waiter in self._flights.waiters(key, one)):
                late += self._flights.land(key, one)
            else:
                begun.append(one)
        return begun, late

    def _deliver(self, computed: Computed) -> None:
        if computed.texts:
            self._count(computed)
        outcomes = list(zip(computed.texts, computed.outcomes, strict=True))
        vectors = {one.text.key: vector for one, vector in outcomes if not isinstance(vector, EmbeddingFailed)}
        self._cache.put_many({key: vector for key, vector in vectors.items() if key is not None})
        answered: list[tuple[Waiting, Outcome | EmbeddingLate]] = [(one, EmbeddingLate()) for one in computed.late]
        with self._work:
            for first, outcome in (*outcomes, *computed.in_memory):
                answered += [(waiter, outcome) for waiter in self._flights.land(first.text.key, first)]
        self.tally.joined += len(answered) - len(computed.late) - len(outcomes)
        by_done: dict[int, tuple[Done, list[Embedded]]] = {}
        for one, found in answered:
            embedded = Embedded(one.place, found, computed.started_s, computed.ended_s)
            by_done.setdefault(id(one.done), (one.done, []))[1].append(embedded)
        for done, each in by_done.values():
            done(each)

    def _count(self, computed: Computed) -> None:
        tally, texts = self.tally, computed.texts
        tally.batches += 1
        tally.seconds += computed.seconds
        tally.sizes.add(len(texts))
        tally.batch_tokens.add(tokens_of(texts))
        tally.batch_seconds.add(computed.seconds)
        since_s = [one.since_s for one in texts if one.text.urgency == "bulk"]
        if since_s:
            tally.waits.add(max(computed.started_s - min(since_s), 0.0))
        for one, outcome in zip(texts, computed.outcomes, strict=True):
            if one.text.is_template and not isinstance(outcome, EmbeddingFailed):
                tally.templates += 1
                tally.tokens += len(one.ids)
