"""What becomes of a chunk, by example; `tests/properties/test_flights.py` has the rules."""

import pytest

from consumers.decode.decoder import LogEntry
from consumers.ledger import Ledger
from consumers.record import Partition
from tests.consumers.records import rejection
from tests.worker.chain import LOGS, Letters, record
from worker.indexing.flights import Completed, Flights
from worker.messages import Chunk, Source


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger(cap_records=1_000, cap_bytes=1 << 20, dead_letter=Letters())
    ledger.assign([LOGS])
    return ledger


class Chunks:
    """Makes chunks: `chunks("a")` is a new line of template a.

    Thread: the test's.
    """

    def __init__(self, ledger: Ledger) -> None:
        receipt = ledger.admit(record(0, b"x"))
        assert receipt is not None
        self._receipt = receipt
        self._made = 0

    def __call__(self, template: str) -> Chunk:
        self._made += 1
        return Chunk(self._receipt, LogEntry(self._receipt.record, self._made, "text", 0, "", ""), 0, 1, 0, "text", "masked", template * 32)


@pytest.fixture
def chunks(ledger: Ledger) -> Chunks:
    return Chunks(ledger)


@pytest.fixture
def flights() -> Flights:
    return Flights()


def landing(template: str, *, tokens: int = 5, source: Source = "engine") -> Completed:
    return Completed(template * 32, tokens, source)


def test_the_first_of_a_template_begins_its_flight_and_the_others_wait_in_it(flights: Flights, chunks: Chunks) -> None:
    a1, b1, a2, a3 = chunks("a"), chunks("b"), chunks("a"), chunks("a")
    assert flights.board([a1, b1, a2]) == ([], [a1, b1], [])
    assert flights.board([a3]) == ([], [], [])
    assert flights.land([landing("a")]) == [a1, a2, a3]
    assert flights.land([landing("b")]) == [b1]


def test_a_landed_template_is_known(flights: Flights, chunks: Chunks) -> None:
    flights.board([chunks("a")])
    flights.land([landing("a")])
    known = chunks("a")
    assert flights.board([known]) == ([known], [], [])


def test_landing_twice_hands_nothing_out_twice(flights: Flights, chunks: Chunks) -> None:
    flights.board([chunks("a")])
    assert len(flights.land([landing("a"), landing("a")])) == 1
    assert flights.land([landing("a")]) == []


def test_a_failed_flight_gives_back_its_lines_and_remembers_why(flights: Flights, chunks: Chunks) -> None:
    first, second, later = chunks("a"), chunks("a"), chunks("a")
    flights.board([first, second])
    assert flights.fail("a" * 32, rejection("not finite")) == [first, second]
    assert flights.board([later]) == ([], [], [(later, rejection("not finite"))])
    assert flights.fail("a" * 32, rejection("not finite")) == []


def test_a_rejected_template_does_not_touch_others(flights: Flights, chunks: Chunks) -> None:
    flights.board([chunks("a"), chunks("b")])
    flights.fail("a" * 32, rejection("bad"))
    assert len(flights.land([landing("b")])) == 1


def test_known_templates_are_bounded_and_the_oldest_goes_first(chunks: Chunks) -> None:
    flights = Flights(most_known=2)
    for template in "abc":
        flights.board([chunks(template)])
        flights.land([landing(template)])
    boarding = flights.board([chunks("a"), chunks("b"), chunks("c")])
    assert [chunk.template[0] for chunk in boarding.mine] == ["a"]
    assert [chunk.template[0] for chunk in boarding.known] == ["b", "c"]


def test_rejected_templates_are_bounded_and_the_oldest_goes_first(chunks: Chunks) -> None:
    flights = Flights(most_rejected=2)
    for template in "abc":
        flights.board([chunks(template)])
        flights.fail(template * 32, rejection(f"because {template}"))
    boarding = flights.board([chunks("a"), chunks("b"), chunks("c")])
    assert [chunk.template[0] for chunk in boarding.mine] == ["a"]
    assert [why.reason for _, why in boarding.rejected] == ["because b", "because c"]


def test_a_template_is_known_no_longer_than_it_may_be(chunks: Chunks) -> None:
    now_s = 100.0
    flights = Flights(keep_s=lambda: 60.0, clock=lambda: now_s)
    flights.board([chunks("a")])
    flights.land([landing("a")])
    now_s = 160.0
    assert len(flights.board([chunks("a")]).known) == 1
    now_s = 160.1
    first, second = chunks("a"), chunks("a")
    assert flights.board([first, second]) == ([], [first], [])
    assert flights.land([landing("a", source="memory")]) == [first, second]
    assert len(flights.board([chunks("a")]).known) == 1


def test_known_templates_are_looked_up_in_turn(chunks: Chunks) -> None:
    now_s = 100.0
    flights = Flights(keep_s=lambda: 60.0, clock=lambda: now_s)
    assert flights.sample_known(3) == []
    for template in "abcd":
        flights.board([chunks(template)])
        flights.land([landing(template)])
        now_s += 10.0
    looked_up = [template[0] for template in flights.sample_known(3) + flights.sample_known(3)]
    assert (len(looked_up), set(looked_up)) == (6, set("abcd"))
    now_s = 165.0
    assert {template[0] for template in flights.sample_known(10)} == set("bcd"), "of those that are known still"


def test_what_is_forgotten_is_written_again_and_what_waits_or_failed_stays_so(flights: Flights, chunks: Chunks) -> None:
    waiting = chunks("e")
    flights.board([chunks("a"), waiting, chunks("f")])
    flights.land([landing("a")])
    flights.fail("f" * 32, rejection("bad"))
    flights.forget_all()
    assert flights.sample_known(10) == []
    again = chunks("a")
    boarding = flights.board([again, chunks("e"), chunks("f")])
    assert (boarding.known, boarding.mine, len(boarding.rejected)) == ([], [again], 1)
    assert len(flights.land([landing("e"), landing("a")])) == 3
    assert len(flights.board([chunks("a")]).known) == 1


@pytest.mark.parametrize(("source", "saved"), [("engine", 2 * 7), ("redis", 3 * 7)], ids=["computed", "found"])
def test_tokens_that_were_not_embedded_again_are_saved(flights: Flights, chunks: Chunks, source: Source, saved: int) -> None:
    flights.board([chunks("a"), chunks("a"), chunks("a")])
    flights.land([landing("a", tokens=7, source=source)])
    assert flights.total().tokens_saved == saved
    assert flights.total().tokens_embedded == 3 * 7 - saved
    flights.board([chunks("a")])
    assert flights.total().tokens_saved == saved + 7


def test_nothing_is_saved_by_a_template_that_failed(flights: Flights, chunks: Chunks) -> None:
    flights.board([chunks("a"), chunks("a")])
    flights.fail("a" * 32, rejection("bad"))
    flights.board([chunks("a")])
    assert (flights.total().tokens_saved, flights.total().rejected, flights.total().collapsed) == (0, 3, 0)


def test_every_chunk_is_counted_by_what_became_of_it(flights: Flights, chunks: Chunks) -> None:
    flights.board([chunks("a"), chunks("a"), chunks("b")])
    flights.land([landing("a"), landing("b", source="index")])
    flights.board([chunks("a"), chunks("b"), chunks("b")])
    total = flights.total()
    assert (total.chunks, total.known, total.collapsed, int(total.distinct)) == (6, 3, 1, 2)
    assert total.sources == {"engine": 1, "index": 1}
    assert total.facts()["from_index"] == 1


def test_each_topic_has_its_own_figures(flights: Flights, ledger: Ledger) -> None:
    ledger.assign([Partition("other", 0)])
    receipts = [ledger.admit(record(1, b"x")), ledger.admit(record(0, b"x", partition=Partition("other", 0)))]
    here, there = (
        Chunk(receipt, LogEntry(receipt.record, 0, "text", 0, "", ""), 0, 1, 0, "text", "masked", "a" * 32)
        for receipt in receipts
        if receipt
    )
    flights.board([here, there, there])
    flights.land([landing("a", tokens=7)])
    savings = flights.savings()
    assert {topic: (one.chunks, one.collapsed, one.tokens_embedded, one.tokens_saved) for topic, one in savings.items()} == {
        "logs": (1, 0, 7, 0),
        "other": (2, 2, 0, 14),
    }
    assert int(flights.total().distinct) == 1
