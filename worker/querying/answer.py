"""The answer step: searches with a query's vector and words, and replies to whoever asked.

One thread, on which nobody waits for somebody else's index: refusals go first, then searches; of listings, which read many lines, one
at a time; and a query that found the index busy is tried again beside those that come after it. A query past its deadline is answered
`expired` and not computed. What came as a Kafka record settles when the reply is delivered, or when nobody can be waiting for it.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sinks.sink import Sink, SinkBusy, TemplateHit
from worker.messages import Answerable, FailedQuery, ReadyQuery
from worker.query import Requester, is_late
from worker.querying.documents import bounded_json, error_document, shown_line
from worker.querying.search.around import lines_around
from worker.querying.search.dense import MOST_TEMPLATES
from worker.querying.search.search import PreparedQuery, mode_of, search
from worker.querying.search.templates import StopWhen, find_templates, templates_document
from worker.runtime.histogram import Histogram
from worker.runtime.lane import Lane
from worker.runtime.stage import Abandoned

_AT_ONCE = 64
RETRY_S = 0.2
_SLOW_S = 1.0
_MOST_SLOW_FAILURES = 1
"""A query on which the index has worked so long in vain is tried once more, but not for ever: others wait meanwhile."""
_SEND_SHARE, _SEND_S = 0.1, 0.5
"""Of its time a query keeps so much, and so long at most, for its answer to travel: one that is cut short must still arrive."""
COUNT_S = 3.0
"""How long the lines of one listing are counted: other queries wait behind it."""
PATIENCE_S = 30.0
"""How long a query without a deadline is worked on, from when it was taken."""


STAGES = ("wait", "embed", "search")


@dataclass(frozen=True, slots=True)
class AnswerTally:
    """What was answered, and how long it took.

    Thread: written by the answer thread, read by anyone.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    """Queries by `answered`, or the code of their error."""
    seconds: dict[str, Histogram] = field(default_factory=lambda: {stage: Histogram() for stage in (*STAGES, "total")})
    """Of those that were answered, by where the time went."""


@dataclass(slots=True)
class _Open:
    """A query that is not answered yet. Thread: the answer thread."""

    ready: ReadyQuery
    near: list[TemplateHit] | None = None
    """The nearest templates, if they were read together with those of others."""
    slow_failures: int = 0
    reason: str = ""
    """Why it is still open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Each query gets one reply.

    Thread: one, the answer thread; the receipt settles on the delivery thread.
    """

    sink: Sink
    clock: Callable[[], float]
    pause: Callable[[float], bool]
    """Waits so many seconds; True when the service stops hard."""
    tally: AnswerTally = field(default_factory=AnswerTally)
    _listings: deque[_Open] = field(default_factory=deque)
    _again: deque[_Open] = field(default_factory=deque)
    """Those that found the index busy."""

    def body(self, inlet: Lane[Answerable]) -> None:
        """Run until the inlet is closed and every query is answered, or until it is abandoned.

        Raises Abandoned, the producer's ProducerBroken, and the sink's own SinkBroken.
        """
        while (taken := inlet.take(_AT_ONCE, wait=not self._waits)) is not None or self._waits:
            if inlet.is_abandoned:
                return
            self.turn(taken or ())

    def step(self, answerables: Sequence[Answerable]) -> None:
        """Answer a list of queries, and all that wait. Raises as `body` does."""
        self.turn(answerables)
        while self._waits:
            self.turn(())

    def turn(self, answerables: Sequence[Answerable]) -> None:
        """Answer what is quick; then one listing; and try those again that found the index busy. Raises as `body` does."""
        searches: list[_Open] = []
        for one in answerables:
            if isinstance(one, FailedQuery):
                self._refuse(one)
            elif _is_slow(one):
                self._listings.append(_Open(one))
            else:
                searches.append(_Open(one))
        is_idle = not searches and not self._listings
        again = [self._again.popleft() for _ in range(len(self._again))]
        if is_idle and again and self.pause(RETRY_S):
            raise Abandoned
        self._read_nearest(searches)
        for query in searches:
            self._answer(query)
        if self._listings:
            self._answer(self._listings.popleft())
        for query in again:
            self._answer(query)

    @property
    def _waits(self) -> bool:
        return bool(self._listings or self._again)

    def _read_nearest(self, searches: Sequence[_Open]) -> None:
        """Read the nearest templates of several queries at once, where the index is not busy."""
        now_s = self.clock()
        asked = [(one, one.ready.vector) for one in searches if one.ready.vector is not None and not is_late(one.ready.asked, now_s)]
        asked = [(one, vector) for one, vector in asked if one.ready.query.k <= MOST_TEMPLATES]
        if len(asked) <= 1:
            return
        is_deep = self.sink.has_bm25 and any(one.ready.query.mode != "dense" for one, _ in asked)
        limit = MOST_TEMPLATES if is_deep else max(one.ready.query.k for one, _ in asked)
        try:
            found = self.sink.nearest_templates(np.stack([vector for _, vector in asked]), limit)
        except SinkBusy:
            return
        for (one, _), near in zip(asked, found, strict=True):
            one.near = near

    def _answer(self, query: _Open) -> None:
        """Answer a query, or have it tried again."""
        ready = query.ready
        asked, started_s = ready.asked, self.clock()
        deadline_s = asked.deadline_s
        give_up_s = asked.taken_s + PATIENCE_S if deadline_s is None else deadline_s
        if started_s >= give_up_s or query.slow_failures > _MOST_SLOW_FAILURES:
            self._give_up(query)
            return
        enough_s = give_up_s - min((give_up_s - asked.taken_s) * _SEND_SHARE, _SEND_S)
        try:
            found = self._found(ready, query.near, enough_s)
        except SinkBusy as error:
            query.slow_failures += self.clock() - started_s > _SLOW_S
            query.reason = f"the index does not answer: {error}"
            self._again.append(query)
            return
        search_s = self.clock() - asked.taken_s - ready.wait_s - ready.embed_s  # from when it was ready: others may have been before it
        times = {"wait": ready.wait_s, "embed": ready.embed_s, "search": max(search_s, 0.0)}
        self.tally.outcomes["answered"] += 1
        for stage, seconds in times.items():
            self.tally.seconds[stage].add(seconds)
        self.tally.seconds["total"].add(sum(times.values()))
        self._reply(asked, found | {"seconds": times})

    def _give_up(self, query: _Open) -> None:
        asked = query.ready.asked
        is_late_now = is_late(asked, self.clock())
        reason = query.reason or ("the deadline has passed" if is_late_now else f"not answered within {PATIENCE_S:g} s")
        code, field_name = ("expired", "deadline_ms") if is_late_now else ("unavailable", "")
        self._refuse(FailedQuery(asked, code, field_name, reason))

    def _found(self, ready: ReadyQuery, near: list[TemplateHit] | None, enough_s: float) -> dict[str, Any]:
        def deadline_passed() -> bool:
            return self.clock() >= enough_s

        query = ready.query
        if query.around is not None:
            around = lines_around(self.sink, query.around, deadline_passed)
            return {"hits": [shown_line(line) for line in around.lines], "complete": around.complete}
        sought = PreparedQuery(query, ready.vector, ready.is_exact, near)
        mode = {} if query.text is None else {"mode": mode_of(sought, self.sink)}
        if query.form == "templates":
            counted_s = self.clock() + COUNT_S
            enough = StopWhen(counted=lambda: self.clock() >= counted_s or deadline_passed(), all=deadline_passed)
            return templates_document(find_templates(self.sink, sought, enough)) | mode
        found = search(self.sink, sought, deadline_passed=deadline_passed)
        return {"hits": [{"score": round(hit.score, 6), **shown_line(hit.line)} for hit in found.hits], "complete": found.complete} | mode

    def _refuse(self, failed: FailedQuery) -> None:
        self.tally.outcomes[failed.code] += 1
        self._reply(failed.asked, error_document(failed.code, failed.field, failed.reason))

    def _reply(self, asked: Requester, document: dict[str, Any]) -> None:
        asked.reply(bounded_json(document), deadline_s=asked.deadline_s)


def _is_slow(ready: ReadyQuery) -> bool:
    return ready.query.form == "templates" or ready.query.around is not None
