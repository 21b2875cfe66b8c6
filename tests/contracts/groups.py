"""The environments that check the contract of `consumers.poller.Source`: a topic, a group, and members driven turn by turn."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np
from confluent_kafka import Consumer, Producer, TopicPartition

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.source_settings import GroupProtocol, KafkaSourceSettings
from consumers.kafka.subscription import Subscription
from consumers.record import Header, Partition, Record
from consumers.source import Source
from tests.fakes.source import FakeBroker, FakeSource

PARTITIONS = 4
WAIT_S = 60.0
_FETCH_S = 0.02
_SESSION_S = 2.5
_PATIENT_SESSION_S = 10.0  # no member may lose its partitions when the machine stalls for a moment


class World(Protocol):
    """One topic with four partitions and one group."""

    topic: str

    def produce(
        self, partition: int, value: bytes | None, *, key: bytes | None = None, headers: Sequence[Header] = (), time_ms: int = 1
    ) -> None:
        """Append a record; return when the broker has it."""

    def new_source(self, *, impatient: bool = False) -> Source:
        """Make a member of the group; an impatient group soon removes members that do not poll."""

    def committed(self, partition: int) -> int | None:
        """Return the group's committed offset."""

    def stop_polling(self, source: Source) -> None:
        """Announce that `source` will not be polled until the others have its partitions."""


class FakeWorld:
    """The broker in memory."""

    def __init__(self) -> None:
        self._broker = FakeBroker(partitions=PARTITIONS)
        self.topic = self._broker.topic

    def produce(
        self, partition: int, value: bytes | None, *, key: bytes | None = None, headers: Sequence[Header] = (), time_ms: int = 1
    ) -> None:
        self._broker.produce(partition, value, key=key, headers=headers, time_ms=time_ms)

    def new_source(self, *, impatient: bool = False) -> Source:  # noqa: ARG002 - `stop_polling` tells it
        return FakeSource(self._broker)

    def committed(self, partition: int) -> int | None:
        return self._broker.committed.get(Partition(self.topic, partition))

    def stop_polling(self, source: Source) -> None:
        assert isinstance(source, FakeSource)
        self._broker.throw_out(source)


class KafkaWorld:
    """A broker that speaks Kafka's protocol."""

    def __init__(self, bootstrap: str, *, topic: str, group: str, protocol: GroupProtocol, topic_epoch: str | None = None) -> None:
        self.topic = topic
        self._bootstrap = bootstrap
        self._group = group
        self._protocol = protocol
        self._topic_epoch = topic_epoch
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0})
        self._producer.list_topics(topic, timeout=WAIT_S)

    def produce(
        self, partition: int, value: bytes | None, *, key: bytes | None = None, headers: Sequence[Header] = (), time_ms: int = 1
    ) -> None:
        self._producer.produce(self.topic, value, key=key, partition=partition, headers=list(headers), timestamp=time_ms)
        assert self._producer.flush(WAIT_S) == 0

    def new_source(self, *, impatient: bool = False) -> Source:
        session_s = _SESSION_S if impatient else _PATIENT_SESSION_S
        classic = {"heartbeat.interval.ms": "100", "session.timeout.ms": str(int(session_s * 1000))}
        settings = KafkaSourceSettings(
            bootstrap_servers=self._bootstrap,
            group=self._group,
            topic_epoch=self._topic_epoch,
            group_protocol=self._protocol,
            librdkafka={"fetch.wait.max.ms": "20", "log_level": "0", **(classic if self._protocol == "classic" else {})},
        )
        if impatient:  # shorter than the settings allow
            settings = settings.model_copy(update={"max_poll_interval_s": _SESSION_S + 0.5})
        return KafkaSource(settings, Subscription(names=(self.topic,)), say=lambda _line: None)

    def committed(self, partition: int) -> int | None:
        onlooker = Consumer({"bootstrap.servers": self._bootstrap, "group.id": self._group, "log_level": 0})
        try:
            (found,) = onlooker.committed([TopicPartition(self.topic, partition)], timeout=WAIT_S)
        finally:
            onlooker.close()
        return found.offset if found.offset >= 0 else None

    def stop_polling(self, source: Source) -> None:
        """Do nothing: the group notices by itself."""


class Member:
    """A source with its records and events; checks that every record belongs to an owned partition."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.events: list[tuple[str, list[int]]] = []
        self.records: list[Record] = []
        self.at_assign: Callable[[Sequence[Partition]], object] = lambda _partitions: None
        self.at_revoke: Callable[[Sequence[Partition]], object] = lambda _partitions: None
        self.accepted: list[dict[Partition, int]] = []
        self.refused: list[dict[Partition, tuple[int, str]]] = []
        """The outcome of each commit, in the order of arrival."""
        self._owned: set[Partition] = set()
        self.source.subscribe(self)

    @property
    def owned(self) -> set[int]:
        """The numbers of the partitions that it owns now."""
        return {partition.partition for partition in self._owned}

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        self._note("assign", partitions)
        assert self._owned.isdisjoint(partitions)
        self._owned |= set(partitions)
        self.at_assign(partitions)

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        self._note("revoke", partitions)
        self.at_revoke(partitions)
        self._let_go(partitions)

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        self._note("lost", partitions)
        self._let_go(partitions)

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        self.accepted.append(dict(accepted))
        self.refused.append(dict(refused))

    def commit(self, next_offsets: Mapping[Partition, int]) -> dict[Partition, str]:
        """Commit and poll until the outcome arrives; return the refused partitions with their reasons."""
        before = len(self.accepted)
        assert self.source.commit(next_offsets, is_last=True) == next_offsets
        poll_until(lambda: sum(map(len, self.accepted[before:])) + sum(map(len, self.refused[before:])) >= len(next_offsets), self)
        return {partition: reason for refused in self.refused[before:] for partition, (_, reason) in refused.items()}

    def fetch(self, max_records: int = 100) -> list[Record]:
        batches = self.source.fetch(max_records, _FETCH_S)
        assert {records.source for records in batches} <= self._owned
        for records in batches:
            assert records.size, "no batch is empty"
            assert np.all(np.diff(records.offset) > 0), "in order"
        fetched = [records.record(row) for records in batches for row in range(records.size)]
        self.records += fetched
        return fetched

    def offsets(self, partition: int) -> list[int]:
        return [record.offset for record in self.records if record.partition == partition]

    def close(self) -> None:
        self.source.close()

    def _note(self, what: str, partitions: Sequence[Partition]) -> None:
        if partitions:
            self.events.append((what, sorted(partition.partition for partition in partitions)))

    def _let_go(self, partitions: Sequence[Partition]) -> None:
        assert self._owned >= set(partitions)
        self._owned -= set(partitions)


def poll_until(condition: Callable[[], bool], *members: Member) -> None:
    """Poll the members in turn until the condition holds."""
    deadline_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline_s, [(member.events, len(member.records)) for member in members]
        for member in members:
            member.fetch()
