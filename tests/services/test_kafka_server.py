"""The Kafka servers that tests start answer, keep records over a kill, and stop when told to."""

import os
import socket
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.services.kafka import ADDRESS_VARIABLE, KafkaServer, NamedKafka, open_kafka
from tests.services.local_kafka import LocalKafka
from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.mock_kafka import PARTITIONS, MockKafka
from tests.services.ports import free_port

WAIT_S = 30.0
Unique = Callable[[str], str]


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


def test_records_outlive_a_kill_and_the_port_stays_the_same(kafka: KafkaServer, unique: Unique) -> None:
    if not kafka.can_restart:
        pytest.skip(f"the broker that {ADDRESS_VARIABLE} names is not ours to kill")
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


def test_records_outlive_a_stop_in_order(kafka: KafkaServer, unique: Unique) -> None:
    if not kafka.can_restart:
        pytest.skip(f"the broker that {ADDRESS_VARIABLE} names is not ours to stop")
    topic = unique("logs")
    kafka.create_topic(topic)
    _produce(kafka.bootstrap, topic, [b"one", b"two"])

    kafka.stop()
    assert not _answers(kafka.bootstrap)
    kafka.start()

    assert _consume(kafka.bootstrap, topic, unique("group"), 2) == [b"one", b"two"]


def test_the_shared_broker_can_be_left_dead(kafka: KafkaServer) -> None:
    if not kafka.can_restart:
        pytest.skip(f"the broker that {ADDRESS_VARIABLE} names is not ours to kill")
    kafka.kill()
    assert not _answers(kafka.bootstrap)


def test_the_next_test_finds_it_running(kafka: KafkaServer) -> None:
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
    monkeypatch.delenv("CI", raising=False)

    server = open_kafka(_missing)

    assert isinstance(server, NamedKafka)
    for end in (server.kill, server.stop):
        with pytest.raises(pytest.skip.Exception):
            end()
    server.close()
    _produce(mock_kafka.bootstrap, unique("logs"), [b"still there"])


def _missing() -> KafkaServer:
    raise ServerMissing("no such thing here")


def test_a_missing_server_skips_with_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Kafka: no such thing here; no such thing here"):
        open_kafka(_missing, _missing)


def test_a_missing_server_fails_the_run_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESS_VARIABLE, raising=False)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no such thing here"):
        open_kafka(_missing)
    with pytest.raises(pytest.fail.Exception):
        skip_or_fail("reason")


def test_without_java_and_maven_the_local_server_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ServerMissing, match="java and mvn not installed"):
        LocalKafka()


def test_a_free_port_can_be_bound() -> None:
    port = free_port()
    with socket.socket() as server:
        server.bind(("127.0.0.1", port))
