"""Known, in flight, or mine: every template is embedded once, and its lines wait as data, not as threads.

Theory of operation
1. `board` decides in one locked step for a list of chunks: *known* (its template row was seen acknowledged), *parked* (somebody
   has begun the template's flight; the chunk waits in it), *mine* (this call begins the flight and the chunk waits in it
   too), or *rejected* (the template failed alone before).
2. A flight belongs to the process. Once begun it is finished, whatever happens to the record that began it.
3. `land` marks a template known and takes its parked chunks in one locked step, so that no chunk can board in between and be
   forgotten. The store step that got the row acknowledged writes those chunks in the same turn.
4. `fail` remembers the template as rejected (bounded) and hands back its parked chunks, for each to be rejected.
5. A template is known no longer than its row lives. Another collection under the same name ends the process (`sinks.sink`), and what
   was known with it. Rows that go in another way are noticed by looking up a few known templates from time to time (`sample_known`):
   one that is gone means that all are forgotten, and so written again when they are seen next.

Not taken: waiting threads (a slow engine would block prepare), marks left by another process (they may lie after a restore).
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from consumers.rejection import Rejection
from worker.indexing.known_templates import KnownTemplates, halves_of
from worker.indexing.savings import Savings, merge_savings
from worker.messages import Chunk, Source


class JoinResult(NamedTuple):
    """What became of a list of chunks; the parked ones are not listed, their flight has them."""

    known: list[Chunk]
    mine: list[Chunk]
    """One chunk for each flight that this call began; it is parked too."""
    rejected: list[tuple[Chunk, Rejection]]


class Completed(NamedTuple):
    """A template whose row is acknowledged."""

    template: str
    tokens: int
    """Of the model's input, special tokens included."""
    source: Source
    """Who had the vector."""


class Flights:
    """No chunk is lost and none is handed out twice: each is in exactly one list that `board`, `land` or `fail` returns.

    Thread: any.
    """

    def __init__(
        self,
        *,
        most_known: int = 500_000,
        most_rejected: int = 10_000,
        keep_s: Callable[[], float] = lambda: math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A template stays known for `keep_s()` seconds after it landed: less than its row lives, so that it is written again in time."""
        self._lock = threading.Lock()
        self._clock = clock
        self._parked: dict[str, list[Chunk]] = {}
        self._keep_s = keep_s
        self._known = KnownTemplates(most=most_known)
        self._rejected: dict[str, Rejection] = {}
        self._most_rejected = most_rejected
        self._savings: dict[str, Savings] = {}

    def board(self, chunks: Sequence[Chunk]) -> JoinResult:
        """Place each chunk, in order."""
        boarding = JoinResult([], [], [])
        templates = [chunk.template for chunk in chunks]
        halves = halves_of(templates)
        keep_s = self._keep_s()
        with self._lock:
            self._known.keep_s = keep_s
            topics: dict[str, list[int]] = {}
            for i, (chunk, tokens) in enumerate(zip(chunks, self._known.find_tokens(templates, halves, self._clock()), strict=True)):
                topic = chunk.receipt.record.topic
                topics.setdefault(topic, []).append(i)
                self._place(chunk, tokens, boarding, self._of(topic))
            for topic, places in topics.items():
                self._of(topic).chunks += len(places)
                self._of(topic).distinct.add_digests(halves[np.array(places)])
        return boarding

    def land(self, landings: Iterable[Completed]) -> list[Chunk]:
        """Mark templates known; return the chunks that were parked with them."""
        freed: list[Chunk] = []
        with self._lock:
            now_s = self._clock()
            for landing in landings:
                parked = self._parked.pop(landing.template, [])
                self._known.add_template(landing.template, landing.tokens, now_s)
                self._count_landed(landing, parked)
                freed += parked
        return freed

    def fail(self, template: str, rejection: Rejection) -> list[Chunk]:
        """Remember a template that can never be stored; return the chunks that were parked with it."""
        with self._lock:
            self._rejected[template] = rejection
            if len(self._rejected) > self._most_rejected:
                del self._rejected[next(iter(self._rejected))]
            parked = self._parked.pop(template, [])
            for i, chunk in enumerate(parked):
                savings = self._of(chunk.receipt.record.topic)
                savings.rejected += 1
                savings.collapsed -= min(i, 1)
            return parked

    def sample_known(self, most: int) -> list[str]:
        """Return at most `most` templates that are known now, others each time until all have had their turn."""
        with self._lock:
            self._known.keep_s = self._keep_s()
            return self._known.sample(most, self._clock())

    def forget_all(self) -> None:
        """Know no template any more; what is in flight stays so, and what failed stays rejected."""
        with self._lock:
            self._known.forget_all()

    def savings(self) -> dict[str, Savings]:
        """Return what was saved so far, by topic."""
        with self._lock:
            return dict(self._savings)

    def total(self) -> Savings:
        """Return what was saved so far, all topics together."""
        with self._lock:
            return merge_savings(self._savings.values())

    def _of(self, topic: str) -> Savings:
        savings = self._savings.get(topic)
        if savings is None:
            savings = self._savings[topic] = Savings()
        return savings

    def _place(self, chunk: Chunk, tokens: int, boarding: JoinResult, savings: Savings) -> None:
        template = chunk.template
        if tokens >= 0:
            savings.known += 1
            savings.tokens_saved += tokens
            boarding.known.append(chunk)
        elif template in self._parked:
            savings.collapsed += 1
            self._parked[template].append(chunk)
        elif template in self._rejected:
            savings.rejected += 1
            boarding.rejected.append((chunk, self._rejected[template]))
        else:
            self._parked[template] = [chunk]
            boarding.mine.append(chunk)

    def _count_landed(self, landing: Completed, parked: Sequence[Chunk]) -> None:
        for i, chunk in enumerate(parked):
            savings = self._of(chunk.receipt.record.topic)
            if i == 0:
                savings.sources[landing.source] += 1
            if i == 0 and landing.source == "engine":
                savings.tokens_embedded += landing.tokens
            else:
                savings.tokens_saved += landing.tokens
