"""Flights against an oracle that lists everything, in any interleaving of prepare and store, and under real threads."""

import queue
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from consumers.decode.decoder import LogEntry
from consumers.ledger import Ledger
from tests.consumers.records import rejection
from tests.worker.chain import LOGS, Letters, record
from worker.indexing.flights import Completed, Flights
from worker.messages import Chunk

MOST_KNOWN = 3
MOST_REJECTED = 2
TEMPLATES = "abcdef"
"""First digits of ids."""
WAIT_S = 60.0
templates = st.sampled_from([template.ljust(32, "0") for template in TEMPLATES])


def tokens_of(template: str) -> int:
    """Return a number that tells templates apart."""
    return 3 + 10 * TEMPLATES.index(template[0])


class Chunks:
    """Makes chunks that differ.

    Thread: any.
    """

    def __init__(self) -> None:
        ledger = Ledger(cap_records=1, cap_bytes=1 << 20, dead_letter=Letters())
        ledger.assign([LOGS])
        receipt = ledger.admit(record(0, b"x"))
        assert receipt is not None
        self._receipt = receipt
        self._numbers = count()

    def make(self, template: str) -> Chunk:
        return Chunk(
            self._receipt, LogEntry(self._receipt.record, next(self._numbers), "text", 0, "", ""), 0, 1, 0, "text", "masked", template
        )


def number(chunk: Chunk) -> int:
    """Return what tells a chunk from all others."""
    return chunk.entry.sub


class FlightsMachine(RuleBasedStateMachine):
    """Prepare joins flights, the engine or the sink ends them, in any order; the oracle records which chunks wait in which flight."""

    def __init__(self) -> None:
        super().__init__()
        self.flights = Flights(most_known=MOST_KNOWN, most_rejected=MOST_REJECTED)
        self.chunks = Chunks()
        self.boarded: list[int] = []
        self.out: list[int] = []
        self.waiting: dict[str, list[int]] = {}
        self.known: list[str] = []
        self.rejected: dict[str, str] = {}
        self.saved = 0

    @rule(wanted=st.lists(templates, max_size=6))
    def board(self, wanted: list[str]) -> None:
        chunks = [self.chunks.make(template) for template in wanted]
        self.boarded += map(number, chunks)
        known: list[int] = []
        mine: list[int] = []
        refused: list[tuple[int, str]] = []
        for chunk in chunks:
            if chunk.template in self.known:
                known.append(number(chunk))
                self.saved += tokens_of(chunk.template)
            elif chunk.template in self.waiting:
                self.waiting[chunk.template].append(number(chunk))
            elif chunk.template in self.rejected:
                refused.append((number(chunk), self.rejected[chunk.template]))
            else:
                mine.append(number(chunk))
                self.waiting[chunk.template] = [number(chunk)]
        boarding = self.flights.board(chunks)
        assert [number(chunk) for chunk in boarding.known] == known
        assert [number(chunk) for chunk in boarding.mine] == mine
        assert [(number(chunk), why.reason) for chunk, why in boarding.rejected] == refused
        self.out += known + [one for one, _ in refused]

    @rule(most=st.integers(1, 5))
    def look_up_some(self, most: int) -> None:
        some = self.flights.sample_known(most)
        assert set(some) <= set(self.known)
        assert bool(some) == bool(self.known)

    @rule()
    def forget_all(self) -> None:
        self.flights.forget_all()
        self.known = []

    @precondition(lambda self: self.waiting)
    @rule(choice=st.data(), embedded=st.booleans())
    def land(self, choice: st.DataObject, *, embedded: bool) -> None:
        landing = choice.draw(st.lists(st.sampled_from(sorted(self.waiting)), min_size=1, unique=True))
        freed = self.flights.land([Completed(template, tokens_of(template), "engine" if embedded else "redis") for template in landing])
        expected = [one for template in landing for one in self.waiting.pop(template)]
        assert list(map(number, freed)) == expected
        self.out += expected
        paid = sum(tokens_of(template) for template in landing) if embedded else 0
        self.saved += sum(tokens_of(chunk.template) for chunk in freed) - paid
        for template in landing:
            if template not in self.known:
                self.known = [*self.known, template][-MOST_KNOWN:]

    @precondition(lambda self: self.waiting)
    @rule(choice=st.data())
    def fail(self, choice: st.DataObject) -> None:
        template = choice.draw(st.sampled_from(sorted(self.waiting)))
        freed = list(map(number, self.flights.fail(template, rejection(f"no {template}"))))
        assert freed == self.waiting.pop(template)
        self.out += freed
        self.rejected[template] = f"no {template}"
        if len(self.rejected) > MOST_REJECTED:
            del self.rejected[next(iter(self.rejected))]

    @invariant()
    def no_line_is_lost_and_none_is_handed_out_twice(self) -> None:
        held = [one for waiting in self.waiting.values() for one in waiting]
        assert Counter(self.out + held) == Counter(self.boarded)

    @invariant()
    def tokens_saved_are_those_of_lines_that_the_engine_did_not_compute(self) -> None:
        assert self.flights.total().tokens_saved == self.saved

    def teardown(self) -> None:
        for template in sorted(self.waiting):
            freed = self.flights.land([Completed(template, 1, "engine")])
            self.out += map(number, freed)
        assert Counter(self.out) == Counter(self.boarded)


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
    chunks = Chunks()
    together = threading.Barrier(4)
    begun: queue.Queue[str | None] = queue.Queue()
    flown: list[list[str]] = [[] for _ in range(4)]
    boarded: list[list[int]] = [[] for _ in range(4)]
    out: list[list[int]] = [[] for _ in range(7)]

    def board(thread: int) -> None:
        for turn in range(600):
            mine = [chunks.make(f"{TEMPLATES[n % 6]}{turn - n // 6 + 2:015x}".ljust(32, "0")) for n in range(12)]
            together.wait(WAIT_S)
            boarded[thread] += map(number, mine)
            boarding = flights.board(mine)
            out[thread] += map(number, boarding.known)
            out[thread] += [number(chunk) for chunk, _ in boarding.rejected]
            flown[thread] += [chunk.template for chunk in boarding.mine]
            for chunk in boarding.mine:
                begun.put(chunk.template)

    def end(thread: int) -> None:
        while (template := begun.get()) is not None:
            if template.startswith("a"):
                out[thread] += map(number, flights.fail(template, rejection("bad")))
            else:
                out[thread] += map(number, flights.land([Completed(template, tokens_of(template), "engine")]))

    boarders = [threading.Thread(target=board, args=(thread,)) for thread in range(4)]
    enders = [threading.Thread(target=end, args=(thread,)) for thread in range(4, 7)]
    for thread in (*boarders, *enders):
        thread.start()
    _join(boarders)
    for _ in enders:
        begun.put(None)
    _join(enders)
    assert Counter(one for some in out for one in some) == Counter(one for some in boarded for one in some)
    assert flights.total().chunks == 4 * 600 * 12
    flights_of = Counter(template for some in flown for template in some)
    assert {template: n for template, n in flights_of.items() if n > 1} == {}
