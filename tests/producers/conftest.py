"""An embedded broker, a topic of its own for every test, and a plain consumer that shows what arrived."""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from producers.kafka import EmbeddedBroker, Header, KafkaProducer
from tests.services.ports import free_port

WAIT_S = 20.0

_numbers = itertools.count()


class Said:
    """Collects lines that a user would see; a test can wait for one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._more = threading.Condition()

    def __call__(self, line: str) -> None:
        with self._more:
            self.lines.append(line)
            self._more.notify_all()

    def wait_for(self, part: str) -> str:
        with self._more:
            assert self._more.wait_for(lambda: any(part in line for line in self.lines), WAIT_S), (part, self.lines)
            return next(line for line in self.lines if part in line)


class Outcomes:
    """Collects the outcomes of deliveries, by name; a test can wait for a number of them."""

    def __init__(self) -> None:
        self.all: list[tuple[str, object]] = []
        self._more = threading.Condition()

    def of(self, name: str) -> Callable[[object], None]:
        def note(outcome: object) -> None:
            with self._more:
                self.all.append((name, outcome))
                self._more.notify_all()

        return note

    def wait_for(self, count: int) -> list[tuple[str, object]]:
        with self._more:
            assert self._more.wait_for(lambda: len(self.all) >= count, WAIT_S), self.all
            return list(self.all)


def headers_of(record: Message) -> list[Header]:
    found: list[Header] = []
    headers = record.headers() or []
    assert isinstance(headers, list)
    for name, content in headers:
        assert not isinstance(content, str)
        found.append((name, content))
    return found


ReadTopic = Callable[[str, int], list[Message]]
NewProducer = Callable[..., KafkaProducer]


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    embedded = EmbeddedBroker()
    yield embedded
    embedded.close()


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def outcomes() -> Outcomes:
    return Outcomes()


@pytest.fixture
def closed_port() -> int:
    return free_port()


@pytest.fixture
def new_producer(broker: EmbeddedBroker, said: Said) -> Iterator[NewProducer]:
    """Build producers, by default for the embedded broker; all are closed after the test."""
    built: list[KafkaProducer] = []

    def build(
        librdkafka: Mapping[str, str] | None = None, *, servers: str | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> KafkaProducer:
        built.append(KafkaProducer(servers or broker.bootstrap_servers, librdkafka or {}, say=said, stopped=stopped))
        return built[-1]

    yield build
    for producer in built:
        producer.close(0.0)


@pytest.fixture
def read_topic(broker: EmbeddedBroker) -> ReadTopic:
    """Read the first `count` records of a topic with a separate client: all partitions, oldest first in each."""

    def read(topic: str, count: int) -> list[Message]:
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "auto.offset.reset": "earliest"})
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(4)])
        found: list[Message] = []
        while len(found) < count:
            more = consumer.consume(count - len(found), WAIT_S)
            assert more, f"{len(found)} of {count} records in {topic}"
            found += more
        consumer.close()
        return found

    return read
