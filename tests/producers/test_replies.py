"""Replies: each is settled exactly once, truthfully, and in time."""

import time

import pytest

from producers.replies import GRACE_S, PRODUCER_PROPERTIES, Reply, ReplySender
from tests.producers.conftest import NewProducer, Outcomes, ReadTopic


def test_a_reply_arrives_with_its_correlation_id_and_is_settled(
    new_producer: NewProducer, topic: str, outcomes: Outcomes, read_topic: ReadTopic
) -> None:
    sender = ReplySender(new_producer(PRODUCER_PROPERTIES))

    sender.send(Reply(topic, b"\x00id\xff", b'{"hits":[]}'), deadline_s=None, settled=outcomes.of("reply"))

    assert outcomes.wait_for(1) == [("reply", True)]
    (record,) = read_topic(topic, 1)
    assert record.value() == b'{"hits":[]}'
    assert record.headers() == [("kafka_correlationId", b"\x00id\xff")]
    assert sender.undelivered == 0


@pytest.mark.slow
def test_a_reply_that_nobody_takes_is_counted_and_let_go_at_its_deadline_once(
    new_producer: NewProducer, closed_port: int, outcomes: Outcomes
) -> None:
    producer = new_producer(PRODUCER_PROPERTIES, servers=f"127.0.0.1:{closed_port}")
    lines: list[str] = []
    sender = ReplySender(producer, say=lines.append)
    sent_s = time.monotonic()

    sender.send(Reply("r", b"1", b"{}"), deadline_s=sent_s + 1.5, settled=outcomes.of("reply"))

    assert outcomes.wait_for(1) == [("reply", False)]
    assert time.monotonic() >= sent_s + 1.5
    assert lines == ["replies: r does not take them (no acknowledgement in time); each is dropped once its query's deadline has passed"]
    producer.close(0.0)
    assert outcomes.all == [("reply", False)]
    assert sender.undelivered == 1


def test_the_answer_to_an_expired_query_still_has_a_moment_to_arrive(new_producer: NewProducer, topic: str, outcomes: Outcomes) -> None:
    sender = ReplySender(new_producer(PRODUCER_PROPERTIES))
    sender.send(Reply(topic, b"0", b"{}"), deadline_s=None, settled=outcomes.of("first"))
    outcomes.wait_for(1)  # it is connected now, and the moment is long enough on a busy machine too

    sender.send(Reply(topic, b"1", b"{}"), deadline_s=time.monotonic() - 60.0, settled=outcomes.of("reply"))

    assert outcomes.wait_for(2) == [("first", True), ("reply", True)]


def test_the_answer_to_an_expired_query_is_let_go_after_that_moment(
    new_producer: NewProducer, closed_port: int, outcomes: Outcomes
) -> None:
    sender = ReplySender(new_producer(PRODUCER_PROPERTIES, servers=f"127.0.0.1:{closed_port}"))
    sent_s = time.monotonic()

    sender.send(Reply("r", b"1", b"{}"), deadline_s=sent_s - 60.0, settled=outcomes.of("reply"))

    assert outcomes.wait_for(1) == [("reply", False)]
    assert time.monotonic() >= sent_s + GRACE_S


def test_closing_lets_go_of_what_is_open(new_producer: NewProducer, closed_port: int, outcomes: Outcomes) -> None:
    producer = new_producer(PRODUCER_PROPERTIES, servers=f"127.0.0.1:{closed_port}")
    sender = ReplySender(producer)
    for number in range(3):
        sender.send(Reply("r", b"%d" % number, b"{}"), deadline_s=None, settled=outcomes.of("reply"))

    producer.close(0.0)

    assert outcomes.wait_for(3) == [("reply", False)] * 3
    assert sender.undelivered == 3


def test_a_full_queue_never_blocks_the_answer_stage(new_producer: NewProducer, closed_port: int, outcomes: Outcomes) -> None:
    properties = {**PRODUCER_PROPERTIES, "queue.buffering.max.messages": "1"}
    sender = ReplySender(new_producer(properties, servers=f"127.0.0.1:{closed_port}"))
    sender.send(Reply("r", b"1", b"{}"), deadline_s=None, settled=outcomes.of("first"))

    sender.send(Reply("r", b"2", b"{}"), deadline_s=None, settled=outcomes.of("second"))

    assert outcomes.all == [("second", False)]
    assert sender.undelivered == 1
