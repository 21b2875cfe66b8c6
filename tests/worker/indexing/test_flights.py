"""What becomes of a line, by example; `tests/properties/test_flights.py` has the rules."""

import weakref

import numpy as np
import pytest

from consumers.ledger import Ledger
from consumers.record import Partition
from consumers.rejection import RejectedPiece
from sinks.row import TemplateText
from tests.consumers.records import admit_batch, record, rejection
from tests.template_ids import id_of
from tests.worker.indexing.line_batches import LOGS, LineBatches, numbers_of
from tests.worker.letters import Letters
from worker.embedding.cache.vector_levels import VectorSource
from worker.indexing.flights import Completed, Flights, Joined
from worker.indexing.line_batch import LineBatch, NewTemplate
from worker.indexing.parked import Parked

OTHER = Partition("other", 0)
A, B, C = (NewTemplate(id_of(text), TemplateText(text), "logs") for text in "abc")


@pytest.fixture
def batches() -> LineBatches:
    return LineBatches([LOGS, OTHER])


@pytest.fixture
def flights() -> Flights:
    return Flights()


def landing(template: str, *, tokens: int = 5, source: VectorSource = "engine") -> Completed:
    return Completed(id_of(template), tokens, source)


def test_landing_twice_hands_nothing_out_twice(flights: Flights, batches: LineBatches) -> None:
    flights.join([batches("a")])
    assert numbers_of(*flights.land([landing("a"), landing("a")])) == [0]
    assert flights.land([landing("a")]) == []


def test_rejected_lines_are_rejected_one_by_one() -> None:
    letters = Letters()
    ledger = Ledger(cap_records=10, cap_bytes=1_000, dead_letter=letters)
    ledger.assign([LOGS])
    receipt = admit_batch(ledger, record(0), record(1))
    receipt.expect(np.arange(2), np.array([2, 1]), np.zeros(2, np.int64))
    lines = LineBatches()("aaa").lines._replace(sub=np.array([0, 7, 5], np.int32), chunk=np.array([0, 3, 0], np.int32))
    LineBatch(receipt.assignment, np.array([0, 0, 1]), lines).reject(rejection("bad"))
    assert letters.offsets() == [0, 1]
    assert letters.posted[0][2] == [RejectedPiece(0, 0, rejection("bad")), RejectedPiece(7, 3, rejection("bad"))]


@pytest.mark.parametrize("templates", ["ab", "aa"], ids=["some of it", "all of it"])
def test_what_waits_holds_no_memory_of_its_batch(flights: Flights, batches: LineBatches, templates: str) -> None:
    flights.join([batches("b")])
    flights.land([landing("b")])
    batch = batches(templates)
    times = np.zeros(1 << 20, np.int64)
    batch = batch._replace(lines=batch.lines._replace(time=times[:2]))
    memory = weakref.ref(times)
    joined = flights.join([batch])
    del batch, times
    assert memory() is None
    assert len(joined.known) == templates.count("b")
    assert flights.land([landing("a")])[0].lines.time.tolist() == [0] * templates.count("a")


def test_lines_that_are_left_hold_little_of_the_memory_of_those_that_came_with_them() -> None:
    batches = LineBatches()
    parked = Parked(batches("abcdefgh" * 4).take(np.arange(32)))
    sizes = [parked.batch.size]
    for place in range(7):
        assert numbers_of(parked.release([place])) == [place, place + 8, place + 16, place + 24]
        sizes.append(parked.batch.size)
    assert sizes == [32, 32, 32, 32, 32, 12, 12, 4]
    assert (parked.count(7), numbers_of(parked.release([7]))) == (4, [7, 15, 23, 31])


def test_a_template_is_known_no_longer_than_it_may_be(batches: LineBatches) -> None:
    now_s = 100.0
    flights = Flights(keep_s=lambda: 60.0, clock=lambda: now_s)
    flights.join([batches("a")])
    flights.land([landing("a")])
    now_s = 160.0
    assert len(flights.join([batches("a")]).known) == 1
    assert not flights.are_new([TemplateText("a")]).any()
    now_s = 160.1
    assert flights.are_new([TemplateText("a")]).all()
    assert flights.sample_known(1) == []
    assert flights.join([batches("aa")]) == Joined([], [A], [])
    assert numbers_of(*flights.land([landing("a", source="memory")])) == [2, 3]
    assert len(flights.join([batches("a")]).known) == 1


def test_a_shorter_time_holds_for_what_is_known_already(batches: LineBatches) -> None:
    keep_s, now_s = 60.0, 100.0
    flights = Flights(keep_s=lambda: keep_s, clock=lambda: now_s)
    flights.join([batches("a")])
    flights.land([landing("a")])
    now_s = 120.0
    assert not flights.are_new([TemplateText("a")]).any()
    keep_s = 10.0
    assert flights.are_new([TemplateText("a")]).all()
    assert flights.join([batches("a")]).mine == [A]


def test_every_line_is_counted_by_what_became_of_it(flights: Flights, batches: LineBatches) -> None:
    flights.join([batches("aab")])
    flights.land([landing("a"), landing("b", source="index")])
    flights.join([batches("ab"), batches("b")])
    total = flights.total()
    assert (total.chunks, total.known, total.collapsed, int(total.distinct)) == (6, 3, 1, 2)
    assert total.sources == {"engine": 1, "index": 1}
    assert total.facts()["from_index"] == 1
