"""The answer step: searches the index with a query's vector and words, and sends the reply.

It runs on one thread, so no query may hold up the others: errors go out at once, then searches for a few hits; heavy queries (many hits,
listings, counts, neighbours, exports, tails) run one per turn, the shortest first, and none reads for longer than `LONGEST_S`; a query
that finds the index busy is tried again in the next turn, beside newer ones. A query past its deadline is answered `expired` without a
search; one that nobody waits for is not searched for, or no further. One that came as a Kafka record settles when its reply is delivered
or can no longer be in time. Equal questions that wait are answered by one search (`worker.querying.open_searches`).
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from sinks.reading.reader import BlockReader
from sinks.sink import Sink, SinkBusy
from worker.asking.answers import ReachJson
from worker.asking.question import Query
from worker.asking.refusals import QueryReply, error_reply
from worker.asking.requests import Requester, is_late
from worker.embedding.model.nearness import Nearness
from worker.querying.answer_documents import bounded_json
from worker.querying.dense import MOST_TEMPLATES
from worker.querying.form import Sources
from worker.querying.forms import FORMS, form_of
from worker.querying.found_tally import FoundTally
from worker.querying.line_search import LINES
from worker.querying.open_searches import OpenSearch, OpenSearches
from worker.querying.ranking import AskedMeaning, Index
from worker.querying.ready_query import Answerable, FailedQuery, ReadyQuery, late_query
from worker.querying.search import PreparedQuery, mode_of
from worker.querying.template_groups import TemplateGroups
from worker.querying.template_index import TemplateIndex
from worker.runtime.histogram import Histogram
from worker.runtime.lane import Lane
from worker.runtime.stage import Abandoned
from worker.runtime.surroundings import Surroundings
from worker.settings.template_tables import TemplateTable

_AT_ONCE = 64
"""Queries taken from the lane in one turn."""
RETRY_S = 0.2
"""Pause before a retry when nothing else waits."""
_SLOW_S = 1.0
_MOST_SLOW_FAILURES = 1
"""A query whose search took longer than `_SLOW_S` and failed is tried once more and then given up, since others wait meanwhile."""
_SEND_SHARE, _SEND_S = 0.1, 0.5
"""A search ends before the deadline by this share of the query's time, but at most by this many seconds, so that the reply arrives."""
LONGEST_S = 5.0
"""How long one query may read; others wait behind it. What it has found by then is its answer."""
FEW_HITS = 10
"""A search for more is a heavy query."""
PATIENCE_S = 30.0
"""How long a query without a deadline is worked on, from its arrival."""

STAGES = ("wait", "embed", "search")
"""Where the time of a query goes; the keys of `seconds` in a reply."""


@dataclass(slots=True)
class AnswerTally:
    """What was answered, and how long it took.

    Thread: written by the answer thread, read by any.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    """Queries by the code of their reply."""
    seconds: dict[str, Histogram] = field(default_factory=lambda: {stage: Histogram() for stage in (*STAGES, "total")})
    """Of answered queries, by stage."""


SaysReach = Callable[[float, Collection[str], Collection[str]], ReachJson]
"""Returns how far the index is in these topics, all if none is named, without those; given when the question came."""


class Answer:
    """Every query gets exactly one reply, unless the service stops hard.

    Thread: one, the answer thread; receipts settle on the delivery thread.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        reader: BlockReader,
        surroundings: Surroundings,
        named: Sequence[TemplateTable] = (),
        nearness: Nearness | None = None,
        reach: SaysReach | None = None,
    ) -> None:
        """`reader` reads `sink`; `named`: what users call templates; `nearness`: what was measured of the model.

        `reach` tells how far the index is; without it answers are of what is stored, and say nothing of the rest.
        """
        self.tally = AnswerTally()
        self.found = FoundTally()
        self._sink = sink
        self._asked = AskedMeaning()
        templates = TemplateIndex(lambda: sink.templates, surroundings.clock, TemplateGroups(named))
        self._index = Index(sink, reader, templates, nearness, self._asked)
        sources = Sources(self._index, surroundings)
        self._answers = {name: form.open(sources) for name, form in FORMS.items()}
        self._surroundings = surroundings
        self._reach = reach
        self.searches = OpenSearches()
        self._heavy: list[OpenSearch] = []
        self._retries: deque[OpenSearch] = deque()
        """Those that found the index busy."""

    def body(self, inlet: Lane[Answerable]) -> None:
        """Run until the inlet is closed and every query is answered, or until it is abandoned.

        Raises Abandoned, the producer's ProducerBroken, and the sink's SinkBroken.
        """
        while (taken := inlet.take(_AT_ONCE, wait=not (self._has_open or self._index.templates.is_behind))) is not None or self._has_open:
            if inlet.is_abandoned:
                return
            if taken or self._has_open:
                self.turn(taken or ())
            else:
                self._read_on()

    def _read_on(self) -> None:
        """Read templates while no query waits. Raises SinkBroken."""
        with suppress(SinkBusy):
            self._index.templates.read_on()

    def step(self, answerables: Sequence[Answerable]) -> None:
        """Answer a list of queries, and all that are open. Raises as `body` does."""
        self.turn(answerables)
        while self._has_open:
            self.turn(())

    def turn(self, answerables: Sequence[Answerable]) -> None:
        """Send the errors, search for the rest, answer one heavy query, and retry what found the index busy. Raises as `body` does."""
        searches: list[OpenSearch] = []
        for answerable in answerables:
            if isinstance(answerable, FailedQuery):
                self._refuse(answerable)
            elif (search := self.searches.add_question(answerable)) is not None:
                (self._heavy if _is_heavy(answerable) else searches).append(search)
        is_idle = not searches and not self._heavy
        retries = [self._retries.popleft() for _ in range(len(self._retries))]
        if is_idle and retries and self._surroundings.pause(RETRY_S):
            raise Abandoned
        self._read_nearest(searches)
        for search in searches:
            self._answer(search)
        if self._heavy:
            self._heavy.sort(key=_queued_since_s)
            self._answer(self._heavy.pop(0))
        for search in retries:
            self._answer(search)

    @property
    def _has_open(self) -> bool:
        return bool(self._heavy or self._retries)

    def _read_nearest(self, searches: Sequence[OpenSearch]) -> None:
        """Read the nearest templates of several searches of one meaning in one call; if the index is busy, each reads its own later."""
        now_s = self._surroundings.clock()
        together = [
            (search, search.ready.vector)
            for search in searches
            if search.ready.vector is not None and not _names_templates(search.ready.query) and search.is_awaited(now_s)
        ]
        if len(together) <= 1 or len({id(search.ready.meaning) for search, _ in together}) > 1:
            return
        self._asked.meaning = together[0][0].ready.meaning
        try:
            found = self._index.vectors.nearest(np.stack([vector for _, vector in together]), MOST_TEMPLATES)
        except SinkBusy:
            return
        for (search, _), near in zip(together, found, strict=True):
            search.near = near

    def _answer(self, search: OpenSearch) -> None:
        """Answer the questions of a search, give them up, or keep them for a retry."""
        self.searches.begin(search)
        started_s = self._surroundings.clock()
        given_up, waiting = search.split(
            lambda one: started_s >= _give_up_s(one) or one.requester.is_gone() or search.slow_failures > _MOST_SLOW_FAILURES
        )
        for one in given_up:
            self._give_up(one, search.reason)
        if waiting is None:
            return
        stop_s = min(_stop_s(one, started_s) for one in waiting.asked)
        try:
            document = self._document(waiting, stop_s)
        except SinkBusy as error:
            waiting.slow_failures += self._surroundings.clock() - started_s > _SLOW_S
            waiting.reason = f"the index does not answer: {error}"
            self.searches.wait_again(waiting)
            self._retries.append(waiting)
            return
        told = waiting.asked
        if self._surroundings.clock() >= stop_s:  # it may have been cut short, and some have more time
            told, others = waiting.split(lambda one: _stop_s(one, started_s) <= stop_s)
            if others is not None:
                self.searches.wait_again(others)
                self._heavy.append(others)
        for one in told:
            self._tell(one, document)

    def _document(self, search: OpenSearch, stop_s: float) -> Mapping[str, object]:
        """Return what was found; reading ends at `stop_s`, or when all have gone, complete or not. Raises SinkBusy."""
        ready = search.ready
        self._asked.meaning = ready.meaning

        def deadline_passed() -> bool:
            return self._surroundings.clock() >= stop_s or all(one.requester.is_gone() for one in search.asked)

        sought = PreparedQuery(ready.query, ready.vector, ready.is_exact, search.near)
        answer = self._answers[form_of(ready.query).name]
        is_widened = bool(ready.query.widen and ready.is_exact and ready.query.mode is None)
        document: Mapping[str, object] = {} if is_widened else answer(sought, deadline_passed, stop_s)
        if is_widened or (ready.query.widen and not document.get("hits", document.get("templates"))):
            document = {**answer(_of_all_time(sought), deadline_passed, stop_s), "widened": True}
        return document if ready.query.text is None else {**document, "mode": mode_of(sought)}

    def _tell(self, ready: ReadyQuery, document: Mapping[str, object]) -> None:
        """Reply to one of those who asked; how far the index is depends on when the question came."""
        requester = ready.requester
        if requester.is_gone():
            self._give_up(ready)
            return
        if self._reach is not None and form_of(ready.query).says_reach:
            columns, around = ready.query.filters.by_column(), ready.query.around
            topics = columns["topics"] if around is None or around.by is not None else (around.topic,)
            reach = self._reach(requester.taken_s, topics, columns["not_topics"])
            document = {**document, **reach, "complete": document["complete"] and "behind" not in reach}
        if not requester.is_own:
            self.found.note(ready.query, document)
        search_s = self._surroundings.clock() - requester.taken_s - ready.wait_s - ready.embed_s  # includes the wait behind other queries
        times = {"wait": ready.wait_s, "embed": ready.embed_s, "search": max(search_s, 0.0)}
        for stage, seconds in times.items():
            self.tally.seconds[stage].add(seconds)
        self.tally.seconds["total"].add(sum(times.values()))
        self._reply(requester, QueryReply(bounded_json({**document, "seconds": times}), "answered"))

    def _give_up(self, ready: ReadyQuery, reason: str = "") -> None:
        if is_late(ready.requester, self._surroundings.clock()):
            failed = late_query(ready.requester, reason or "the deadline has passed")
        else:
            failed = FailedQuery(ready.requester, "unavailable", "", reason or f"not answered within {PATIENCE_S:g} s")
        self._refuse(failed)

    def _refuse(self, failed: FailedQuery) -> None:
        self._reply(failed.requester, error_reply(failed.code, failed.reason, field=failed.field))

    def _reply(self, requester: Requester, reply: QueryReply) -> None:
        self.tally.outcomes[reply.code] += 1
        requester.reply(reply, deadline_s=requester.deadline_s)


def _of_all_time(sought: PreparedQuery) -> PreparedQuery:
    filters = sought.query.filters.model_copy(update={"since_ms": None, "until_ms": None})
    return sought._replace(query=sought.query.model_copy(update={"filters": filters}))


def _is_heavy(ready: ReadyQuery) -> bool:
    query = ready.query
    return form_of(query) is not LINES or query.k > FEW_HITS


def _names_templates(query: Query) -> bool:
    return query.filters.names_templates


def _queued_since_s(search: OpenSearch) -> float:
    return search.ready.requester.taken_s - form_of(search.ready.query).head_start_s


def _give_up_s(ready: ReadyQuery) -> float:
    requester = ready.requester
    return requester.taken_s + PATIENCE_S if requester.deadline_s is None else requester.deadline_s


def _stop_s(ready: ReadyQuery, started_s: float) -> float:
    """Return when reading must end, so that the reply arrives in time, and others do not wait too long."""
    give_up_s = _give_up_s(ready)
    return min(give_up_s - min((give_up_s - ready.requester.taken_s) * _SEND_SHARE, _SEND_S), started_s + LONGEST_S)
