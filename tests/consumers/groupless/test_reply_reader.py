"""The reader of replies: it starts at the end, reads every later reply once, and finds its own."""

import threading
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from consumers.groupless.reply_reader import ReplyReader
from tests.services.kafka import KafkaServer
from tests.services.mock_kafka import MockKafka
from tests.services.ports import free_port

WAIT_S = 30.0
HEADER = "kafka_correlationId"


class Replies:
    """Sends replies to the mock cluster.

    Thread: any.
    """

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0})
        self._producer.list_topics("replies", timeout=WAIT_S)  # creates the topic

    def send(self, correlation_id: bytes, value: bytes | None, *, partition: int = 0) -> None:
        self._producer.produce("replies", value, headers=[(HEADER, correlation_id)], partition=partition)
        assert self._producer.flush(WAIT_S) == 0


@pytest.fixture
def replies(mock_kafka: MockKafka) -> Replies:
    return Replies(mock_kafka.bootstrap)


@pytest.fixture
def reader(mock_kafka: MockKafka, replies: Replies) -> Iterator[ReplyReader]:  # noqa: ARG001 - the topic is there
    reader = ReplyReader(mock_kafka.bootstrap, "replies", {})
    yield reader
    reader.close()


def never() -> bool:
    return False


def test_a_reply_is_found_by_its_id_in_any_partition(reader: ReplyReader, replies: Replies) -> None:
    assert reader.seek_to_end(WAIT_S) is None
    replies.send(b"other", b"not mine")
    replies.send(b"mine", b"an answer", partition=3)
    assert reader.wait_for(HEADER, b"mine", timeout_s=WAIT_S, give_up=never) == b"an answer"


def test_what_was_there_before_is_not_seen(reader: ReplyReader, replies: Replies) -> None:
    replies.send(b"mine", b"old")
    assert reader.seek_to_end(WAIT_S) is None
    replies.send(b"mine", b"new")
    assert reader.wait_for(HEADER, b"mine", timeout_s=WAIT_S, give_up=never) == b"new"


def test_placed_once_it_misses_nothing_between_two_questions(reader: ReplyReader, replies: Replies) -> None:
    assert reader.seek_to_end(WAIT_S) is None
    replies.send(b"first", b"1")
    replies.send(b"second", b"2")
    assert reader.wait_for(HEADER, b"first", timeout_s=WAIT_S, give_up=never) == b"1"
    assert reader.seek_to_end(WAIT_S) is None
    assert reader.wait_for(HEADER, b"second", timeout_s=WAIT_S, give_up=never) == b"2"


def test_it_stops_waiting_when_told(reader: ReplyReader) -> None:
    assert reader.seek_to_end(WAIT_S) is None
    told = threading.Event()
    found: list[bytes | None] = []
    waiting = threading.Thread(target=lambda: found.append(reader.wait_for(HEADER, b"mine", timeout_s=10_000.0, give_up=told.is_set)))
    waiting.start()
    told.set()
    waiting.join(WAIT_S)
    assert found == [None]


def test_a_broker_that_is_away_is_a_reason_not_an_error() -> None:
    reader = ReplyReader(f"127.0.0.1:{free_port()}", "replies", {"log_level": "0"})
    assert reader.seek_to_end(0.3)
    reader.close()


def test_a_topic_that_does_not_exist_is_a_reason_and_may_come_later(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    topic = unique("replies")
    reader = ReplyReader(kafka.bootstrap, topic, {})
    try:
        assert reader.seek_to_end(WAIT_S) == f"topic {topic} does not exist (`vectail topics init` creates it)"
        kafka.create_topic(topic)
        assert reader.seek_to_end(WAIT_S) is None
    finally:
        reader.close()
