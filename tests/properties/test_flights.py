"""Flights against an oracle that goes line by line, in any interleaving of prepare and store, and under real threads."""

import queue
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from consumers.record import Partition
from sinks.row import TemplateText
from tests.consumers.records import rejection
from tests.template_ids import id_of
from tests.worker.indexing.line_batches import LineBatches, numbers_of
from worker.indexing.flights import Completed, Flights
from worker.indexing.line_batch import LineBatch, NewTemplate

MOST_KNOWN = 3
MOST_REJECTED = 2
TEMPLATES = "abcdef"
PARTITIONS = (Partition("logs", 0), Partition("logs", 1), Partition("other", 0))
WAIT_S = 60.0
templates = st.sampled_from(TEMPLATES)
batches = st.tuples(st.sampled_from(PARTITIONS), st.lists(templates, min_size=1, max_size=6))


def tokens_of(template: str) -> int:
    """Return a number that tells templates apart."""
    return 3 + 10 * TEMPLATES.index(template)


class FlightsMachine(RuleBasedStateMachine):
    """Prepare joins flights, the engine or the sink ends them, in any order; the oracle records which lines wait in which flight."""

    def __init__(self) -> None:
        super().__init__()
        self.flights = Flights(most_known=MOST_KNOWN, most_rejected=MOST_REJECTED)
        self.batches = LineBatches(PARTITIONS)
        self.partition_of: list[Partition] = []
        """By the number of a line."""
        self.out: list[int] = []
        self.waiting: dict[str, list[int]] = {}
        self.known: list[str] = []
        self.rejected: dict[str, str] = {}
        self.counted: dict[str, Counter[str]] = defaultdict(Counter)
        """By topic, what the savings must say."""

    @rule(wanted=st.lists(batches, max_size=4))
    def join(self, wanted: list[tuple[Partition, list[str]]]) -> None:
        made = [self.batches(own, partition) for partition, own in wanted]
        known: list[list[int]] = []
        mine: list[str] = []
        topics: list[str] = []
        refused: dict[tuple[int, str], list[int]] = defaultdict(list)
        for place, (partition, own) in enumerate(wanted):
            known.append([])
            counted = self.counted[partition.topic]
            for template in own:
                number = len(self.partition_of)
                self.partition_of.append(partition)
                counted["chunks"] += 1
                if template in self.known:
                    known[-1].append(number)
                    counted["known"] += 1
                    counted["tokens_saved"] += tokens_of(template)
                elif template in self.waiting:
                    self.waiting[template].append(number)
                    counted["collapsed"] += 1
                elif template in self.rejected:
                    refused[place, template].append(number)
                    counted["rejected"] += 1
                else:
                    mine.append(template)
                    topics.append(partition.topic)
                    self.waiting[template] = [number]
        joined = self.flights.join(made)
        assert [numbers_of(batch) for batch in joined.known] == [some for some in known if some]
        assert all(
            batch is one for batch in joined.known for one in made if batch.size == one.size and numbers_of(batch) == numbers_of(one)
        )
        assert [(one.template, one.text, one.topic) for one in joined.mine] == [
            (id_of(template), template, topic) for template, topic in zip(mine, topics, strict=True)
        ]
        assert sorted((numbers_of(batch), why.reason) for batch, why in joined.rejected) == sorted(
            (numbers, self.rejected[template]) for (_, template), numbers in refused.items()
        )
        self.out += [number for some in (*known, *refused.values()) for number in some]

    @rule(asked=st.lists(templates, unique=True))
    def ask_which_are_new(self, asked: list[str]) -> None:
        new = [template not in (*self.known, *self.waiting, *self.rejected) for template in asked]
        assert self.flights.are_new([TemplateText(template) for template in asked]).tolist() == new

    @rule(most=st.integers(1, 5))
    def look_up_some(self, most: int) -> None:
        some = self.flights.sample_known(most)
        assert set(some) <= set(map(id_of, self.known))
        assert bool(some) == bool(self.known)

    @rule()
    def forget_all(self) -> None:
        self.flights.forget_all()
        self.known = []

    @precondition(lambda self: self.waiting)
    @rule(choice=st.data(), embedded=st.booleans())
    def land(self, choice: st.DataObject, *, embedded: bool) -> None:
        landing = choice.draw(st.lists(st.sampled_from(sorted(self.waiting)), min_size=1, unique=True))
        source = "engine" if embedded else "redis"
        freed = self.flights.land([Completed(id_of(template), tokens_of(template), source) for template in landing])  # type: ignore[arg-type]
        self.check_freed(freed, [number for template in landing for number in self.waiting[template]])
        for template in landing:
            first, *others = self.waiting.pop(template)
            self.count(first)["tokens_embedded" if embedded else "tokens_saved"] += tokens_of(template)
            for number in others:
                self.count(number)["tokens_saved"] += tokens_of(template)
            if template not in self.known:
                self.known = [*self.known, template][-MOST_KNOWN:]

    @precondition(lambda self: self.waiting)
    @rule(choice=st.data())
    def fail(self, choice: st.DataObject) -> None:
        template = choice.draw(st.sampled_from(sorted(self.waiting)))
        freed = self.flights.fail(id_of(template), rejection(f"no {template}"))
        expected = self.waiting.pop(template)
        self.check_freed(freed, expected)
        for number in expected:
            self.count(number)["rejected"] += 1
        for number in expected[1:]:
            self.count(number)["collapsed"] -= 1
        self.rejected[template] = f"no {template}"
        if len(self.rejected) > MOST_REJECTED:
            del self.rejected[next(iter(self.rejected))]

    def count(self, number: int) -> Counter[str]:
        return self.counted[self.partition_of[number].topic]

    def check_freed(self, freed: list[LineBatch], expected: list[int]) -> None:
        """Check that exactly these lines came out, each in a batch of its partition, in the order in which they went in."""
        self.out += expected
        assert sorted(numbers_of(*freed)) == sorted(expected)
        for batch in freed:
            numbers = numbers_of(batch)
            assert numbers == sorted(numbers)
            assert {self.partition_of[number] for number in numbers} == {batch.assignment.partition}

    @invariant()
    def no_line_is_lost_and_none_is_handed_out_twice(self) -> None:
        held = [one for waiting in self.waiting.values() for one in waiting]
        assert sorted(self.out + held) == list(range(len(self.partition_of)))

    @invariant()
    def what_is_saved_is_counted_by_topic(self) -> None:
        savings = self.flights.savings()
        names = ("chunks", "known", "collapsed", "rejected", "tokens_embedded", "tokens_saved")
        assert {topic: {name: getattr(one, name) for name in names} for topic, one in savings.items()} == {
            topic: {name: counted[name] for name in names} for topic, counted in self.counted.items()
        }

    def teardown(self) -> None:
        freed = self.flights.land([Completed(id_of(template), 1, "engine") for template in sorted(self.waiting)])
        self.check_freed(freed, [one for waiting in self.waiting.values() for one in waiting])
        self.waiting = {}
        self.no_line_is_lost_and_none_is_handed_out_twice()


TestFlights = FlightsMachine.TestCase
TestFlights.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Make Python switch threads as often as it can, to expose a missing lock."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual_s)


@pytest.mark.usefixtures("hasty_threads")
def test_threads_that_prepare_and_store_at_once_lose_no_line_and_hand_none_out_twice() -> None:
    """Four threads join the same new templates at once, three end their flights; each template has only one flight at a time."""
    flights = Flights()
    batches = LineBatches()
    together = threading.Barrier(4)
    begun: queue.Queue[NewTemplate | None] = queue.Queue()
    flown: list[list[str]] = [[] for _ in range(4)]
    joined: list[list[int]] = [[] for _ in range(4)]
    out: list[list[int]] = [[] for _ in range(7)]

    def join(thread: int) -> None:
        for turn in range(600):
            mine = batches(f"{TEMPLATES[n % 6]} {turn - n // 6}" for n in range(12))
            together.wait(WAIT_S)
            joined[thread] += numbers_of(mine)
            found = flights.join([mine])
            out[thread] += numbers_of(*found.known, *(batch for batch, _ in found.rejected))
            flown[thread] += [one.template for one in found.mine]
            for one in found.mine:
                begun.put(one)

    def end(thread: int) -> None:
        while (one := begun.get()) is not None:
            if one.text.startswith("a"):
                out[thread] += numbers_of(*flights.fail(one.template, rejection("bad")))
            else:
                out[thread] += numbers_of(*flights.land([Completed(one.template, tokens_of(one.text[0]), "engine")]))

    joiners = [threading.Thread(target=join, args=(thread,)) for thread in range(4)]
    enders = [threading.Thread(target=end, args=(thread,)) for thread in range(4, 7)]
    for thread in (*joiners, *enders):
        thread.start()
    _join(joiners)
    for _ in enders:
        begun.put(None)
    _join(enders)
    assert sorted(one for some in out for one in some) == sorted(one for some in joined for one in some)
    assert flights.total().chunks == 4 * 600 * 12
    flights_of = Counter(template for some in flown for template in some)
    assert {template: n for template, n in flights_of.items() if n > 1} == {}
