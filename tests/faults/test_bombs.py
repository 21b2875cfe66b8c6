"""Malicious records, each through a real worker: each has the outcome in the table, and the next record flows."""

import time
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Message, Producer

from tests.consumers.kafka.raw_headers import produce_with_header
from tests.faults.bombs import ALLOWED, LARGE, SQUEEZED, WITHIN_LIMITS, Bomb
from tests.faults.group_offsets import WAIT_S
from tests.faults.records import BASE_MS, Content, Entry, Sent
from tests.faults.scene import FLOWS_S, Scene
from tests.faults.worker_process import WorkerProcess
from tests.services.kafka import KafkaServer

MB = 1_000_000
MAX_MESSAGE_BYTES = 16_777_216
LOOK_AGAIN_S = 0.05
RARE_LAG = {"status__refresh_s": "60"}
"""What reads the lag has a client of its own, which may hold the bomb too: it looks once before the test and not again."""


@pytest.fixture
def bombed(scene: Scene, kafka: KafkaServer, unique: Callable[[str], str]) -> Scene:
    """Return a scene whose log topic accepts records of 16 MB."""
    scene.topics.logs = unique("bombs")
    kafka.create_topic(scene.topics.logs, scene.topics.partitions, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
    return scene


def send(scene: Scene, bomb: Bomb, codec: str) -> None:
    """Send one record and a plain one after it, each in its own batch; return when the broker has both."""
    topics = scene.topics
    limits = {"message.max.bytes": 100 * MB, "queue.buffering.max.kbytes": 200_000, "batch.num.messages": 1}
    producer = Producer({"bootstrap.servers": topics.bootstrap, "log_level": 0, "acks": "all", "compression.type": codec} | limits)
    plain = Content(b"the next record", "rows", (Entry(0, "the next record"),))
    for content, headers in ((bomb.content, bomb.headers), (plain, ())):

        def delivered(error: object, message: Message, content: Content = content) -> None:
            assert error is None, (bomb.name, error)
            topics.sent.append(Sent(0, message.offset() or 0, BASE_MS, content, topics.epoch()))

        producer.produce(topics.logs, content.value, headers=list(headers), partition=0, timestamp=BASE_MS, on_delivery=delivered)
    assert producer.flush(WAIT_S) == 0, bomb.name


def survive(scene: Scene, worker: WorkerProcess, bombs: Sequence[Bomb], *, codec: str = "none", within_s: float = FLOWS_S) -> None:
    """Send one bomb after the other; the record after each must be committed in time."""
    for bomb in bombs:
        send(scene, bomb, codec)
        ends, until_s = scene.topics.ends(), time.monotonic() + within_s
        while scene.topics.committed()[0] < ends[0]:
            assert worker.lives, f"{bomb.name}: the worker ended: {worker.lines}"
            assert time.monotonic() < until_s, f"{bomb.name}: nothing is committed after {within_s:.0f} s: {worker.lines}"
            assert worker.stays_alive(LOOK_AGAIN_S), f"{bomb.name}: the worker ended: {worker.lines}"


def peak_of_plain_work(scene: Scene, worker: WorkerProcess) -> int:
    """Return the worker's peak memory after its first stored record."""
    scene.fresh_record_flows(worker, within_s=WAIT_S)
    return worker.peak_bytes()


def judge_letters(scene: Scene, worker: WorkerProcess, bombs: Sequence[Bomb]) -> None:
    """Check that exactly the expected records are dead letters, once each, and that all others have their outcome."""
    scene.drain(worker)
    scene.judge_end(vectors=False)
    assert len(scene.topics.letters()) == sum(bomb.content.fate == "dead_letter" for bomb in bombs)


def test_each_bomb_is_rows_or_one_dead_letter_and_the_next_record_flows(bombed: Scene) -> None:
    bombs = (*WITHIN_LIMITS, *LARGE)
    worker = bombed.start(**RARE_LAG)
    before_bytes = peak_of_plain_work(bombed, worker)
    survive(bombed, worker, bombs)
    assert worker.peak_bytes() < before_bytes + 250 * MB
    judge_letters(bombed, worker, bombs)


def test_header_names_that_are_no_utf_8_cost_their_record_its_headers_and_nothing_else(scene: Scene) -> None:
    topics, texts = scene.topics, (b"the first with such a header", b"the second with such a header")
    for offset, text in enumerate(texts):
        produce_with_header(topics.bootstrap, topics.logs, text, b"service", b"tr\xffce", time_ms=BASE_MS)
        topics.sent.append(Sent(0, offset, BASE_MS, Content(text, "rows", (Entry(0, text.decode()),)), topics.epoch()))
    worker = scene.start()
    worker.wait_for(f"{topics.logs}/0: the name of a header is not UTF-8; the record goes on without its headers")
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()
    assert topics.letters() == []


def test_what_kafka_itself_has_squeezed_costs_no_more_than_two_copies_and_is_one_dead_letter(bombed: Scene) -> None:
    worker = bombed.start(**RARE_LAG)
    before_bytes = peak_of_plain_work(bombed, worker)
    survive(bombed, worker, [SQUEEZED], codec="gzip")
    assert worker.peak_bytes() < before_bytes + 2 * len(SQUEEZED.content.value or b"") + 40 * MB, "a third copy takes 60 MB"
    judge_letters(bombed, worker, [SQUEEZED])


def test_where_ten_megabytes_are_allowed_they_are_worked_in_bounded_time_and_memory(bombed: Scene, *, long: bool) -> None:
    bombs = ALLOWED if long else ALLOWED[:-1]
    worker = bombed.start(decode__max_record_bytes=str(MAX_MESSAGE_BYTES), **RARE_LAG)
    before_bytes = peak_of_plain_work(bombed, worker)
    survive(bombed, worker, bombs, within_s=4 * FLOWS_S if long else FLOWS_S)
    assert worker.peak_bytes() < before_bytes + 350 * MB
    judge_letters(bombed, worker, bombs)
