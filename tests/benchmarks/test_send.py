"""`benchmarks.send`: every record arrives where it should, at its moment, or the benchmark ends."""

import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from benchmarks.send import at_rate, send
from tests.services.mock_kafka import PARTITIONS, MockKafka

WAIT_S = 20.0


def consume(bootstrap: str, topic: str, partition: int, count: int) -> list[bytes | None]:
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "auto.offset.reset": "earliest"})
    try:
        client.assign([TopicPartition(topic, partition, 0)])
        return [message.value() for message in client.consume(count, WAIT_S)]
    finally:
        client.close()


def test_values_go_to_the_partitions_in_turn(mock_kafka: MockKafka) -> None:
    send(mock_kafka.bootstrap, "in-turn", (str(number).encode() for number in range(9)), partitions=PARTITIONS, in_a_row=2)
    assert consume(mock_kafka.bootstrap, "in-turn", 0, 3) == [b"0", b"1", b"8"]
    assert consume(mock_kafka.bootstrap, "in-turn", 3, 2) == [b"6", b"7"]


def test_a_refused_value_ends_the_benchmark(mock_kafka: MockKafka) -> None:
    with pytest.raises(SystemExit, match=r"did not take the lines: .*larger than"):
        send(mock_kafka.bootstrap, "refused", [b"one", b"x" * 2_000_000, b"two"], partitions=PARTITIONS)


def test_values_come_at_their_moments() -> None:
    began_s = time.monotonic()
    assert list(at_rate([b"one", b"two", b"three"], 20)) == [b"one", b"two", b"three"]
    assert time.monotonic() - began_s >= 2 / 20
