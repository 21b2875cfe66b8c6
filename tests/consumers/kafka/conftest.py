"""A topic and a group of its own for every test of the real source, and members of the group."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from tests.contracts.groups import PARTITIONS, WAIT_S, Member
from tests.services.kafka import KafkaServer
from tests.services.mock_kafka import MockKafka

Unique = Callable[[str], str]


class Place:
    """A topic, a group, and members of it, which are closed after the test."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.bootstrap, self.topic, self.group = bootstrap, topic, group
        self.said: list[str] = []
        self.members: list[Member] = []
        self.admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def join(
        self,
        *topics: str,
        subscription: Subscription | None = None,
        librdkafka: Mapping[str, str] | None = None,
        **settings: Any,  # noqa: ANN401 - of any type
    ) -> Member:
        """Make a member that reads the topic, or those that are named; `settings` are those of `KafkaSourceSettings`."""
        own = {"fetch.wait.max.ms": "20", "log_level": "0", "reconnect.backoff.max.ms": "200", **(librdkafka or {})}
        usual = {"bootstrap_servers": self.bootstrap, "group": self.group, "group_protocol": "consumer"}
        reads = subscription or Subscription(names=topics or (self.topic,))
        self.members.append(Member(KafkaSource(KafkaSourceSettings(**usual | settings, librdkafka=own), reads, say=self.said.append)))
        return self.members[-1]

    def has_said(self, part: str) -> bool:
        return any(part in line for line in self.said)

    def produce(self, *values: bytes, topic: str | None = None, partition: int = 0, properties: Mapping[str, Any] | None = None) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, **(properties or {})})
        for value in values:
            producer.produce(topic or self.topic, value, partition=partition)
        assert producer.flush(WAIT_S) == 0

    def delete_topic(self, topic: str) -> None:
        self.admin.delete_topics([topic], operation_timeout=WAIT_S)[topic].result()

    def committed(self, *, partition: int = 0, group: str | None = None) -> TopicPartition | None:
        """Return where the group stands, if it does."""
        onlooker = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group or self.group, "log_level": 0})
        try:
            (found,) = onlooker.committed([TopicPartition(self.topic, partition)], timeout=WAIT_S)
        finally:
            onlooker.close()
        return found if found.offset >= 0 else None

    def next_offsets(self, next_offset: int, partitions: Sequence[int] = (0,)) -> dict[Partition, int]:
        return {Partition(self.topic, partition): next_offset for partition in partitions}


NewPlace = Callable[..., Place]


@pytest.fixture
def new_place(unique: Unique) -> Iterator[NewPlace]:
    """Make places; of a real Kafka the topic is created, with as many partitions as it says."""
    places: list[Place] = []

    def make(kafka: KafkaServer | str, *, partitions: int = 1, topic: str | None = None) -> Place:
        bootstrap = kafka if isinstance(kafka, str) else kafka.bootstrap
        places.append(Place(bootstrap, topic or unique("logs"), unique("group")))
        if not isinstance(kafka, str):
            kafka.create_topic(places[-1].topic, partitions=partitions)
        return places[-1]

    yield make
    for member in (member for place in places for member in place.members):
        member.close()


@pytest.fixture
def place(kafka: KafkaServer, new_place: NewPlace) -> Place:
    return new_place(kafka, partitions=PARTITIONS)


@pytest.fixture
def mock_place(mock_kafka: MockKafka, new_place: NewPlace) -> Place:
    return new_place(mock_kafka.bootstrap, topic="logs")
