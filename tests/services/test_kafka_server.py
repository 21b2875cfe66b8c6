"""The Kafka servers that tests start answer, keep records over a kill, and stop when told to."""

import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NoReturn

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.services.kafka import ADDRESS_VARIABLE, OwnKafka
from tests.services.missing import ServerMissing
from tests.services.mock_kafka import PARTITIONS, MockKafka
from tests.services.shared import open_kafka, or_skip

WAIT_S = 30.0
Unique = Callable[[str], str]


@pytest.fixture
def kafka(own_kafka: OwnKafka) -> OwnKafka:
    """A broker that these tests stop, and that all their fixtures speak to."""
    return own_kafka


def _produce(bootstrap: str, topic: str, values: list[bytes]) -> None:
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=lambda error, _message: refused.append(error) if error else None)
    assert producer.flush(WAIT_S) == 0
    assert refused == []


def _consume(bootstrap: str, topic: str, group: str, number: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "log_level": 0, "group.id": group, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        values: list[bytes] = []
        while len(values) < number:
            message = consumer.poll(WAIT_S)
            assert message is not None, f"only {len(values)} of {number} records arrived"
            assert message.error() is None
            values.append(message.value() or b"")
        return values
    finally:
        consumer.close()


def _answers(bootstrap: str) -> bool:
    host, port = bootstrap.rsplit(":", 1)
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def test_records_outlive_a_kill_and_the_port_stays_the_same(kafka: OwnKafka, unique: Unique) -> None:
    topic = unique("logs")
    kafka.create_topic(topic, partitions=3)
    before = [f"before {number}".encode() for number in range(100)]
    _produce(kafka.bootstrap, topic, before)
    assert _consume(kafka.bootstrap, topic, unique("group"), 100) == before
    address = kafka.bootstrap

    kafka.kill()
    assert not _answers(address)
    kafka.start()

    assert kafka.bootstrap == address
    _produce(address, topic, [b"after"])
    assert _consume(address, topic, unique("group"), 101) == [*before, b"after"]


def test_records_outlive_a_stop_in_order(kafka: OwnKafka, unique: Unique) -> None:
    topic = unique("logs")
    kafka.create_topic(topic)
    _produce(kafka.bootstrap, topic, [b"one", b"two"])

    kafka.stop()
    assert not _answers(kafka.bootstrap)
    kafka.start()

    assert _consume(kafka.bootstrap, topic, unique("group"), 2) == [b"one", b"two"]


def test_the_shared_broker_can_be_left_dead(kafka: OwnKafka) -> None:
    kafka.kill()
    assert not _answers(kafka.bootstrap)


def test_the_next_test_finds_it_running(kafka: OwnKafka) -> None:
    assert _answers(kafka.bootstrap)


def test_every_mock_cluster_is_new_and_takes_records(mock_kafka: MockKafka, unique: Unique) -> None:
    topic = unique("logs")
    _produce(mock_kafka.bootstrap, topic, [b"one"])
    assert _consume(mock_kafka.bootstrap, topic, unique("group"), 1) == [b"one"]
    other = MockKafka()
    try:
        seen = Producer({"bootstrap.servers": other.bootstrap, "log_level": 0}).list_topics(timeout=WAIT_S).topics
        assert topic not in seen
    finally:
        other.close()
    mine = Producer({"bootstrap.servers": mock_kafka.bootstrap, "log_level": 0}).list_topics(topic, timeout=WAIT_S).topics[topic]
    assert len(mine.partitions) == PARTITIONS


def test_a_named_broker_comes_first_and_is_never_ended(monkeypatch: pytest.MonkeyPatch, mock_kafka: MockKafka, unique: Unique) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, mock_kafka.bootstrap)
    with open_kafka() as server:
        assert server.bootstrap == mock_kafka.bootstrap
        assert not isinstance(server, OwnKafka), "nobody can end it"
    _produce(mock_kafka.bootstrap, unique("logs"), [b"still there"])


def test_what_a_test_has_created_is_deleted_and_the_rest_stays(kafka: OwnKafka, unique: Unique) -> None:
    names = [unique("logs") for _ in range(3)]
    for name in names:
        kafka.create_topic(name)
    kafka.delete_topics(kafka.topics.index(names[1]))
    seen = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    until_s = time.monotonic() + WAIT_S
    while left := {*names[1:]} & seen.list_topics(timeout=WAIT_S).topics.keys():
        assert time.monotonic() < until_s, left
    assert names[0] in seen.list_topics(timeout=WAIT_S).topics


def _missing(reason: str) -> AbstractContextManager[NoReturn]:
    raise ServerMissing(reason)


def test_a_missing_server_skips_with_every_reason_and_fails_the_run_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    said = "no Kafka: no Docker; no Java"
    with pytest.raises(pytest.skip.Exception, match=said), or_skip("Kafka", lambda: _missing("no Docker"), lambda: _missing("no Java")):
        pass
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=said), or_skip("Kafka", lambda: _missing("no Docker"), lambda: _missing("no Java")):
        pass
