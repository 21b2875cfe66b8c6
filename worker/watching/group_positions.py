"""What Kafka knows of a group: its members, what it has committed, and what the partitions of its topics hold.

`worker.watching.group_offsets` and `worker.watching.partition_lag` ask it. It joins no group, so it never disturbs a worker; the broker
itself refuses to move a group that is active. The one importer of the client here.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final, NamedTuple, Self, TypeVar

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from consumers.groupless.groupless_reader import GrouplessReader, OffsetRange, RangeUnreadable
from consumers.kafka.kafka_source import consumer_of
from consumers.kafka.source_settings import SourceMisconfigured, groupless_properties
from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.runtime.kafka_admin import SOON_BACK, BrokerAway, GroupsQuestion, Undescribed, describe_groups, failure_of, new_admin
from worker.settings.tables import KafkaTable
from worker.watching.group_members import Describe

T = TypeVar("T")

ANSWER_S: Final = 5.0
"""How long Kafka may take for one answer."""
_FETCH_LITTLE: Final = {
    "queued.min.messages": "1",
    "queued.max.messages.kbytes": "1024",
    "max.partition.fetch.bytes": "16384",
    "fetch.queue.backoff.ms": "20",
}
"""For a reader that needs only the first record of each partition. It may hold one batch that is larger, twice."""


class GroupActive(KafkaRefused):
    """Somebody reads with this group, so its positions are not ours to move; one line."""


class Member(NamedTuple):
    """Who reads."""

    client: str
    host: str
    partitions: list[Partition]
    id: str = ""
    """Kafka's own name for it, which no other member has."""


class GroupState(NamedTuple):
    """Whether anybody reads."""

    state: str
    """Kafka's word in small letters; `none` for a group that does not exist, `unknown` where the broker does not say."""
    members: list[Member]
    protocol: str | None = None
    """The group's protocol and how it assigns partitions, such as `consumer, uniform`; None while nobody reads."""


class KafkaPositions:
    """Every call is bounded, and raises BrokerAway or KafkaRefused.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable, *, answer_s: float = ANSWER_S, describe: Describe = describe_groups) -> None:
        """`describe` asks who reads: a worker does so in a process of its own. Raises KafkaRefused."""
        self._kafka = kafka
        self._answer_s = answer_s
        self._describe = describe
        self._admin = new_admin(kafka.bootstrap_servers, kafka.librdkafka)
        self._properties = groupless_properties(kafka.bootstrap_servers, kafka.librdkafka) | SOON_BACK
        self._groups: dict[str, Consumer] = {}
        try:
            self._reader = GrouplessReader(
                kafka.bootstrap_servers,
                kafka.librdkafka,
                topic_epoch=kafka.topic_epoch,
                tuning=SOON_BACK | _FETCH_LITTLE,
                admin=self._admin,
                include_open_transactions=True,
            )
        except SourceMisconfigured as error:
            raise KafkaRefused(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections."""
        self._reader.close()
        for consumer in self._groups.values():
            consumer.close()

    def topics(self) -> Collection[str]:
        """Return every topic that is visible to us."""
        with _failures():
            return self._admin.list_topics(timeout=self._answer_s).topics.keys()

    def partitions(self, topics: Collection[str]) -> list[Partition]:
        """Return the partitions of these topics, in order. Raises TopicUnknown too."""
        with _failures():
            return self._reader.partitions(topics, self._answer_s)

    def state(self, group: str) -> GroupState:
        """Say who reads with a group."""
        kafka = self._kafka
        found = self._describe(GroupsQuestion(kafka.bootstrap_servers, kafka.librdkafka, [group], self._answer_s))[group]
        if isinstance(found, Undescribed):
            if found.code == KafkaError.GROUP_ID_NOT_FOUND:
                return GroupState("none", [])
            if found.code == KafkaError._UNSUPPORTED_FEATURE:  # noqa: SLF001 - the client's public codes
                return GroupState("unknown", [])
            raise BrokerAway(found.reason) if found.is_away else KafkaRefused(found.reason)
        members = [Member(one.client, one.host, one.partitions, one.id) for one in found.members]
        protocol = f"{found.protocol}, {found.assignor}" if members else None
        return GroupState("none" if found.state == "dead" else found.state, members, protocol)

    def committed(self, group: str, partitions: Sequence[Partition]) -> dict[Partition, int | None]:
        """Return the offset that comes next for the group in each partition; None where it has never committed.

        A consumer asks that joins nothing: what administrators ask of a group may end the process (`worker.watching.group_members`), and
        workers ask all the time.
        """
        with _failures():
            places = self._consumer_in(group).committed([TopicPartition(*partition) for partition in partitions], timeout=self._answer_s)
        for place in places:
            if place.error is not None:
                raise failure_of(KafkaException(place.error))
        return {_named(place): place.offset if place.offset >= 0 else None for place in places}

    def offset_ranges(self, partitions: Sequence[Partition]) -> dict[Partition, OffsetRange]:
        """Return the offsets that each partition holds now."""
        with _failures():
            return self._reader.offset_ranges(partitions, self._answer_s)

    def epoch(self, topic: str) -> str:
        """Return what distinguishes a re-created topic from its predecessor, as in row ids. Raises TopicWithoutId too."""
        with _failures():
            return self._reader.epoch(topic, self._answer_s)

    def offsets_at(self, partitions: Sequence[Partition], time_ms: int) -> dict[Partition, int | None]:
        """Return each partition's first offset with a time of at least `time_ms`; None: no such record."""
        with _failures():
            return self._reader.offsets_at(partitions, time_ms, self._answer_s)

    def times_at(self, offsets: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return the time (ms since 1970) of the first record at or after each offset; omits a partition without one or without answer."""
        return self._reader.times_at(offsets, self._answer_s)

    def commit(self, group: str, next_offsets: Mapping[Partition, int]) -> None:
        """Move a group that nobody reads with. Raises GroupActive too."""
        places = [TopicPartition(*partition, next_offset) for partition, next_offset in next_offsets.items()]
        asked = ConsumerGroupTopicPartitions(group, places)
        answer = _answer(self._admin.alter_consumer_group_offsets([asked], request_timeout=self._answer_s)[group])
        for place in answer.topic_partitions:
            if place.error is None:
                continue
            if place.error.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.REBALANCE_IN_PROGRESS):
                raise GroupActive(
                    f"group {group} is active again: nothing was changed in {place.topic}/{place.partition}; stop its workers"
                )
            raise failure_of(KafkaException(place.error))

    def _consumer_in(self, group: str) -> Consumer:
        if group not in self._groups:
            self._groups[group] = consumer_of(self._properties | {"group.id": group})
        return self._groups[group]


@contextmanager
def _failures() -> Iterator[None]:
    """Raise BrokerAway or KafkaRefused for an error of the client."""
    try:
        yield
    except (KafkaException, RangeUnreadable) as error:
        raise failure_of(error) from None


def _answer(asked: Future[T]) -> T:
    with _failures():
        return asked.result()


def _named(place: TopicPartition) -> Partition:
    return Partition(place.topic, place.partition)
