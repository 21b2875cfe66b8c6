"""Canaries: found, found late, lost, and one that Kafka does not accept."""

import json
import threading
from typing import Any, cast

import pytest

from producers.kafka import Delivered, KafkaProducer, OutgoingRecord, QueueFull
from worker.asking.refusals import QueryReply
from worker.asking.requests import QueryRequest
from worker.runtime.surroundings import Surroundings
from worker.watching.canary import Canary

LOST_S = 60.0


class Line:
    """The log topic, the query lane and the clock of a canary, all under the test's control.

    Each reading of the clock takes `step_s`.
    """

    def __init__(self) -> None:
        self.now_s = 0.0
        self.step_s = 1.0
        self.sent: list[tuple[str, str]] = []
        self.asked: list[dict[str, Any]] = []
        self.is_full = False
        self.is_delivered = True
        self.is_open = True
        self.invisible = 0
        """How many queries find other canaries only."""
        self.canary = Canary(
            cast("KafkaProducer", self),
            "logs",
            self.ask,
            Surroundings(clock=self.clock, wall_ms=lambda: 1_000_000.0),
            every_s=5,
            lost_s=LOST_S,
        )

    def clock(self) -> float:
        self.now_s += self.step_s
        return self.now_s

    def send(self, topic: str, record: OutgoingRecord, *, delivered: Delivered, wait_s: float) -> None:
        value = record.value or b""
        assert (wait_s, record) == (0.0, OutgoingRecord(value))
        if self.is_full:
            raise QueueFull
        self.sent.append((topic, value.decode()))
        delivered(None if self.is_delivered else "no broker")

    def ask(self, request: QueryRequest) -> bool:
        if not self.is_open:
            return False
        self.asked.append(json.loads(request.value or b""))
        texts = ["vectail canary 99999999x"]
        if self.invisible:
            self.invisible -= 1
        else:
            texts.append(self.sent[-1][1])
        hits = [{"text": text} for text in texts]
        reply = QueryReply(json.dumps({"hits": hits}).encode(), "answered")
        threading.Thread(target=request.requester.reply, args=(reply,), kwargs={"deadline_s": None}).start()
        return True


def test_a_line_that_a_search_shows_is_found() -> None:
    line = Line()
    line.canary.send_and_find(cast("KafkaProducer", line))
    assert line.canary.tally.results == {"found": 1}
    ((topic, text),) = line.sent
    assert topic == "logs"
    assert text.startswith("vectail canary ")
    (asked,) = line.asked
    assert asked["text"] == text
    assert asked["filters"] == {"since_ms": 939_999, "topic": ["logs"]}
    assert line.canary.tally.seconds.seen().buckets[-1][1] == 1


def test_it_asks_until_its_own_line_is_there_and_counts_all_of_that_time() -> None:
    line = Line()
    line.invisible = 3
    line.canary.send_and_find(cast("KafkaProducer", line))
    assert line.canary.tally.results == {"found": 1}
    assert len(line.asked) == 4
    assert line.canary.tally.seconds.seen().total >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "is_asked"),
    [({"invisible": 10**6}, True), ({"is_open": False}, False), ({"is_delivered": False}, False), ({"is_full": True}, False)],
    ids=["never found", "no question is taken", "not delivered", "not sent"],
)
def test_what_nobody_finds_in_time_is_lost(fault: dict[str, int], *, is_asked: bool) -> None:
    line = Line()
    line.step_s = 10.0
    line.__dict__.update(fault)
    line.canary.send_and_find(cast("KafkaProducer", line))
    assert line.canary.tally.results == {"lost": 1}
    assert line.canary.tally.seconds.seen().total == 0.0
    assert bool(line.asked) == is_asked


def test_once_stopped_it_sends_no_more_and_looks_no_longer() -> None:
    line = Line()
    line.canary.stop()
    line.canary.body()
    assert line.sent == []
    line.canary.send_and_find(cast("KafkaProducer", line))
    assert line.canary.tally.results == {}
