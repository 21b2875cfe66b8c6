"""Equal questions that wait share a search, and nobody notices but by the time; against a simple model of an index that grows."""

import json
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from sinks.reading.reader import BlockReader
from sinks.sink import SinkBusy
from tests.fakes.sink import FakeSink
from worker.asking.question import Query
from worker.asking.refusals import QueryReply
from worker.asking.requests import Requester
from worker.querying.answer import LONGEST_S, PATIENCE_S, Answer
from worker.querying.ranking import OutOfTime
from worker.querying.ready_query import ReadyQuery
from worker.querying.search import PreparedQuery
from worker.runtime.surroundings import Surroundings

TEXTS = ("disk", "network", "login")
LIGHT, HEAVY = 1, 11


class Model(RuleBasedStateMachine):
    """A search takes as long as the next rule says; its answer holds what the index held when it began."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 100.0
        self.stored = 0
        self.busy_searches = 0
        self.search_s = 0.0
        self.leaves: int | None = None
        """Who hangs up during the next search."""
        self.asked: list[ReadyQuery] = []
        self.stored_before: list[int] = []
        self.waiting: list[ReadyQuery] = []
        self.gone: set[int] = set()
        self.replied: set[int] = set()
        self.began_s = 0.0
        self.searched: Counter[tuple[str | None, int]] = Counter()
        self.was_cut = False
        sink = FakeSink()
        sink.open()
        surroundings = Surroundings(clock=lambda: self.now_s, pause=self._pause)
        self.answer = Answer(sink=sink, reader=BlockReader(sink), surroundings=surroundings)
        self.answer._answers["lines"] = self._search  # noqa: SLF001 - an index whose every step the test knows

    @rule(
        text=st.sampled_from(TEXTS),
        k=st.sampled_from([LIGHT, HEAVY]),
        deadline_s=st.sampled_from([None, 1.0, 8.0]),
        times=st.integers(1, 3),
    )
    def ask(self, text: str, k: int, deadline_s: float | None, times: int) -> None:
        for _ in range(times):
            number, until_s = len(self.asked), None if deadline_s is None else self.now_s + deadline_s
            query = Query(text=text, k=k, mode="words", deadline_ms=None if deadline_s is None else int(1000 * deadline_s))
            requester = Requester(
                lambda reply, *, deadline_s, number=number: self._take_reply(number, reply, deadline_s),
                self.now_s,
                until_s,
                is_gone=lambda number=number: number in self.gone,  # type: ignore[misc] # as above
            )
            self.asked.append(ReadyQuery(requester, query, None, 0.0, 0.0))
            self.stored_before.append(self.stored)
            self.waiting.append(self.asked[-1])

    @rule()
    def store(self) -> None:
        self.stored += 1

    @rule(data=st.data())
    def hang_up(self, data: st.DataObject) -> None:
        if self.asked:
            self.gone.add(data.draw(st.integers(0, len(self.asked) - 1)))

    @rule(searches=st.integers(0, 3))
    def be_busy(self, searches: int) -> None:
        self.busy_searches = searches

    @rule(search_s=st.sampled_from([0.0, 0.1, 0.7, 6.0]), leaves=st.none() | st.integers(0, 20))
    def turn(self, search_s: float, leaves: int | None) -> None:
        self.search_s, self.leaves, self.was_cut = search_s, leaves, False
        self.searched.clear()
        new, self.waiting = self.waiting, []
        self.answer.turn(new)
        assert self.was_cut or max(self.searched.values(), default=0) <= 1, "equal questions that waited have one search"

    def teardown(self) -> None:
        self.search_s, self.busy_searches = 0.0, 0
        self.answer.step(self.waiting)
        assert self.replied == set(range(len(self.asked)))
        assert self.answer.tally.outcomes.total() == len(self.asked)

    def _search(self, sought: PreparedQuery, deadline_passed: OutOfTime, stop_s: float) -> dict[str, object]:
        self.began_s = self.now_s
        held = self.stored
        self.searched[sought.query.text, sought.query.k] += 1
        self.now_s += self.search_s
        if self.leaves is not None:
            self.gone.add(self.leaves)
        if self.busy_searches:
            self.busy_searches -= 1
            raise SinkBusy("told to be")
        is_cut = deadline_passed()
        self.was_cut = self.was_cut or self.now_s >= stop_s
        return {"hits": [], "complete": not is_cut, "held": held, "of": [sought.query.text, sought.query.k]}

    def _take_reply(self, number: int, reply: QueryReply, deadline_s: float | None) -> None:
        assert number not in self.replied, "one reply"
        self.replied.add(number)
        requester, query = self.asked[number].requester, self.asked[number].query
        assert deadline_s == requester.deadline_s, "its own deadline"
        until_s = requester.taken_s + PATIENCE_S if requester.deadline_s is None else requester.deadline_s
        if reply.code != "answered":
            assert number in self.gone or self.now_s >= until_s or self.now_s - requester.taken_s > 1.0, "nobody else is in its way"
            assert (reply.code == "expired") <= (requester.deadline_s is not None)
            return
        document = json.loads(reply.value)
        assert document["of"] == [query.text, query.k]
        assert document["held"] >= self.stored_before[number], "an answer lacks what was stored before its question"
        assert number not in self.gone
        if not document["complete"]:
            assert self.now_s >= min(until_s - 0.5, self.began_s + LONGEST_S), "it is cut short only by its own deadline"

    def _pause(self, seconds: float) -> bool:
        self.now_s += seconds
        return False


TestOpenSearches = Model.TestCase
TestOpenSearches.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
