"""A Kafka that goes away while a worker runs, behind a proxy: a black hole, refused connections, resets; and missing topics.

The tests with `away` share one worker.
"""

import re
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.faults.group_offsets import WAIT_S
from tests.faults.records import strange
from tests.faults.scene import FLOWS_S, Scene
from tests.faults.topics import Topics
from tests.faults.worker_process import WorkerProcess
from tests.services.kafka import KafkaServer
from tests.services.proxy import Proxy, kafka_proxy
from worker.embedding.model.prepared import PreparedModel
from worker.service.shutdown import LEAVE_S

BACKLOG = 300
HOLE_S, LONG_HOLE_S = 8.0, 65.0
"""Longer than two sessions of the group; with `--long` also longer than the client waits for an answer (60 s)."""
REFUSED_S = 4.0
RESETS, EVERY_S = 5, 1.0
DOWN_S = 10.0
"""`kafka.down_exit_s`, of the one worker that has it."""
END_S, BUSY_S = 5.0 + LEAVE_S, 10.0
"""How long an exit with nothing to drain may take, and how long a busy machine may take for a short step."""
CRASHED = 1
MOST_LINES = 6
SAID_AGAIN_S = 60.0
LOOK_AGAIN_S = 0.1


class Away(NamedTuple):
    """A worker that reaches Kafka through a proxy."""

    scene: Scene
    proxy: Proxy
    worker: WorkerProcess
    began_s: float

    def give_work(self) -> None:
        """Send a backlog, and return when the worker is in the middle of it."""
        self.scene.topics.send(BACKLOG, strange)
        self.scene.wait_progress(self.worker)

    def outlives(self, seconds: float) -> None:
        """During a fault: the worker lives on, and records sent past the proxy must wait."""
        self.send_past()
        assert self.worker.stays_alive(seconds), self.worker.lines
        self.check_work_is_left()

    def send_past(self) -> None:
        """Send more records that the worker cannot reach."""
        self.scene.topics.send(self.scene.topics.partitions, strange)

    def check_work_is_left(self) -> None:
        """Check that no partition is committed to its end: the worker cannot have read it."""
        ends = self.scene.topics.ends()
        assert {place: offset for place, offset in self.scene.topics.committed().items() if offset >= ends[place]} == {}

    def goes_on(self) -> None:
        """After a fault: everything is committed, and a fresh record too, in time."""
        began_s = time.monotonic()
        if self.scene.topics.committed() != self.scene.topics.ends():
            self.scene.wait_progress(self.worker)
        assert time.monotonic() - began_s < FLOWS_S, "no commit came back in time"
        self.scene.wait_all_committed(self.worker)
        self.scene.fresh_record_flows(self.worker)

    def check_complaints(self) -> None:
        """Check that the worker logged only a few lines, however often it retried."""
        complaints = Counter(event["event"] for event in self.worker.events("warning"))
        assert max(complaints.values(), default=0) <= 1 + (time.monotonic() - self.began_s) // SAID_AGAIN_S, complaints
        assert len({re.sub(r"/\d+", "/N", line) for line in complaints}) <= MOST_LINES, complaints
        assert self.worker.events("error") == []
        assert self.worker.words() == []


def begin(scene: Scene, proxy: Proxy, **settings: str) -> Away:
    scene.members_die()
    return Away(
        scene,
        proxy,
        scene.start(kafka__bootstrap_servers=f"127.0.0.1:{proxy.port}", limits__max_in_flight_records="100", **settings),
        time.monotonic(),
    )


@pytest.fixture(scope="module")
def away(kafka: KafkaServer, model: PreparedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Away]:
    scene = Scene(Topics(kafka, lambda stem: f"{stem}-{uuid.uuid4().hex[:12]}"), tmp_path_factory.mktemp("away"), model)
    with kafka_proxy(kafka.bootstrap) as proxy:
        yield begin(scene, proxy)
        scene.close()


def test_a_black_hole_in_mid_run_is_waited_out_and_commits_come_back(away: Away, *, long: bool) -> None:
    away.give_work()
    away.proxy.silence()
    away.outlives(LONG_HOLE_S if long else HOLE_S)
    away.proxy.release()
    away.goes_on()
    away.check_complaints()


def test_refused_connections_in_mid_run_are_waited_out(away: Away) -> None:
    away.give_work()
    away.proxy.refuse()
    away.outlives(REFUSED_S)
    away.proxy.release()
    away.goes_on()
    away.check_complaints()


def test_a_storm_of_resets_costs_nothing(away: Away, *, long: bool) -> None:
    away.give_work()
    for _ in range(2 * RESETS if long else RESETS):
        away.scene.topics.send(BACKLOG // 5, strange)  # so that the resets hit its reads, its commits and its queries in turn
        away.proxy.reset()
        assert away.worker.stays_alive(EVERY_S), away.worker.lines
    away.goes_on()
    away.check_complaints()


@pytest.mark.long
def test_down_exit_s_ends_it_in_time_with_the_reason_and_nothing_is_lost(scene: Scene) -> None:
    """Silence is counted from poll to poll, at most a second each time, so a worker that had stopped polling would not exit."""
    with kafka_proxy(scene.topics.bootstrap) as proxy:
        away = begin(scene, proxy, kafka__down_exit_s=str(DOWN_S))
        worker = away.worker
        away.give_work()
        began_s = time.monotonic()
        proxy.silence()
        away.send_past()
        assert worker.wait(DOWN_S + END_S + BUSY_S) == CRASHED, worker.lines
        assert time.monotonic() - began_s > DOWN_S / 2  # the last response may be recent, and the worker probes only after that
        [word] = worker.words()
        assert f"no broker of kafka at 127.0.0.1:{proxy.port} has answered for {DOWN_S:g} s (kafka.down_exit_s)" in word
        away.check_work_is_left()
    scene.check_nothing_lost()
    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()


@pytest.mark.long
def test_topics_for_dead_letters_and_replies_that_are_missing_hold_what_must_be_held_until_they_are_made(
    scene: Scene, kafka: KafkaServer, unique: Callable[[str], str]
) -> None:
    topics = scene.topics
    topics.dead_letters, topics.replies = unique("later-letters"), unique("later-replies")
    topics.send(400)
    worker = scene.start()
    worker.wait_for("model ready")
    asked = [topics.ask(b'{"text": "socket refused voucher", "deadline_ms": 1000}') for _ in range(3)]
    wait_until(lambda: answered(topics) == len(asked), "the queries do not settle", worker)
    worker.wait_for(f"replies: {topics.replies} does not take them")
    worker.wait_for(f"dead letters: {topics.dead_letters} does not take them")
    stops = {**topics.ends(), **first_letters(topics)}
    wait_until(lambda: topics.committed() == stops, f"committed is not {stops}", worker)
    kafka.create_topic(topics.replies)
    kafka.create_topic(topics.dead_letters)
    scene.wait_all_committed(worker)
    answer = topics.ask(b'{"text": "socket refused voucher"}')
    assert topics.replies_to([answer])[answer]["hits"]
    scene.drain(worker)
    scene.judge_end()


def first_letters(topics: Topics) -> dict[int, int]:
    """Return, for each partition, the offset of the first record that must become a dead letter."""
    offsets: dict[int, int] = {}
    for sent in topics.sent:
        if sent.content.fate == "dead_letter":
            offsets[sent.partition] = min(offsets.get(sent.partition, sent.offset), sent.offset)
    return offsets


def answered(topics: Topics) -> int:
    """Return how many queries the workers' group has committed."""
    consumer = Consumer({"bootstrap.servers": topics.bootstrap, "log_level": 0, "group.id": topics.query_group})
    try:
        [place] = consumer.committed([TopicPartition(topics.queries, 0)], timeout=WAIT_S)
    finally:
        consumer.close()
    return max(place.offset, 0)


def wait_until(reached: Callable[[], bool], failing: str, worker: WorkerProcess) -> None:
    until_s = time.monotonic() + FLOWS_S
    while not reached():
        assert time.monotonic() < until_s, f"{failing}: {worker.lines}"
        assert worker.stays_alive(LOOK_AGAIN_S), worker.lines
