"""What Kafka knows of a group: its members, what it has committed, what its partitions hold. The one importer of the client here.

`worker.groups.offsets` and `worker.groups.lag` ask it. It joins no group, so that it disturbs no worker; the broker itself
refuses to move a group that is active.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final, NamedTuple, Self

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined] # it is public, but for the stubs

from consumers.kafka.settings import SourceMisconfigured, groupless_properties
from consumers.kafka.source import consumer_of
from consumers.record import Partition
from worker.runtime.kafka_admin import SOON_BACK, KafkaRefused, failure_of, new_admin
from worker.settings.tables import KafkaTable

ANSWER_S: Final = 5.0
"""How long Kafka may take for one answer."""
_LITTLE_BYTES: Final = "16384"
_NEWER_NONE: Final = -1
_AGAIN_S: Final = 0.2
_NOT_YET: Final = frozenset({KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR})


class GroupActive(KafkaRefused):
    """Somebody reads with this group, so its positions are not ours to move; one line."""


class Member(NamedTuple):
    """Who reads."""

    client: str
    host: str
    partitions: list[Partition]


class GroupState(NamedTuple):
    """Whether anybody reads."""

    state: str
    """Kafka's word in small letters; `none` for a group that does not exist, `unknown` where the broker does not say."""
    members: list[Member]


class OffsetRange(NamedTuple):
    """What a partition holds now."""

    first_offset: int
    end_offset: int


class KafkaPositions:
    """Every call is bounded, and raises BrokerAway or KafkaRefused.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable, *, answer_s: float = ANSWER_S) -> None:
        """Raises KafkaRefused."""
        self._answer_s = answer_s
        self._admin = new_admin(kafka.bootstrap_servers, kafka.librdkafka)
        self._properties = groupless_properties(kafka.bootstrap_servers, kafka.librdkafka) | SOON_BACK
        self._groups: dict[str, Consumer] = {}
        little = {"queued.min.messages": "1", "max.partition.fetch.bytes": _LITTLE_BYTES, "fetch.queue.backoff.ms": "20"}
        try:
            self._reader = consumer_of(self._properties | little)
        except SourceMisconfigured as error:
            raise KafkaRefused(str(error)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections."""
        for client in (self._reader, *self._groups.values()):
            client.close()

    def partitions(self, topics: Collection[str]) -> list[Partition]:
        """Return the partitions of these topics, in order. A topic that does not exist is refused."""
        try:
            found = self._admin.list_topics(timeout=self._answer_s).topics
        except KafkaException as error:
            raise failure_of(error) from None
        for topic in topics:
            if topic not in found or not found[topic].partitions:
                raise KafkaRefused(f"topic {topic} does not exist (`vectail topics init` creates it)")
        return [Partition(topic, number) for topic in topics for number in sorted(found[topic].partitions)]

    def state(self, group: str) -> GroupState:
        """Say who reads with a group."""
        try:
            found = self._described(group)
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.GROUP_ID_NOT_FOUND:
                return GroupState("none", [])
            if code == KafkaError._UNSUPPORTED_FEATURE:  # noqa: SLF001 - the client's public codes
                return GroupState("unknown", [])
            raise failure_of(error) from None
        members = [
            Member(one.client_id, one.host.removeprefix("/"), sorted(_named(place) for place in one.assignment.topic_partitions))
            for one in found.members
        ]
        word = found.state.name.lower()
        return GroupState("none" if word == "dead" else word, members)

    def committed(self, group: str, partitions: Sequence[Partition]) -> dict[Partition, int | None]:
        """Return the offset that comes next for the group in each partition; None where it has never committed.

        A consumer asks that joins nothing: what administrators ask of a group ends the whole process when the connection breaks at the
        wrong moment (librdkafka's pull request 5397), and workers ask all the time.
        """
        try:
            places = self._of(group).committed([TopicPartition(*partition) for partition in partitions], timeout=self._answer_s)
        except KafkaException as error:
            raise failure_of(error) from None
        for place in places:
            if place.error is not None:
                raise failure_of(KafkaException(place.error))
        return {_named(place): place.offset if place.offset >= 0 else None for place in places}

    def bounds(self, partitions: Sequence[Partition]) -> dict[Partition, OffsetRange]:
        """Return which offsets each partition holds now."""
        spec: Any = OffsetSpec  # its methods have no types
        first, end = self._offsets(partitions, spec.earliest()), self._offsets(partitions, spec.latest())
        return {partition: OffsetRange(first[partition], end[partition]) for partition in partitions}

    def offsets_at(self, partitions: Sequence[Partition], time_ms: int) -> dict[Partition, int | None]:
        """Return the offset of the first record of each partition that is not older than `time_ms`; None where there is none."""
        found = self._offsets(partitions, OffsetSpec.for_timestamp(time_ms))
        return {partition: None if offset == _NEWER_NONE else offset for partition, offset in found.items()}

    def times_at(self, places: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return the time (ms since 1970) of the first record at or after each offset; left out where there is none, or no answer."""
        if not places:
            return {}
        self._reader.assign([TopicPartition(*partition, offset) for partition, offset in places.items()])
        waiting = set(places)
        times: dict[Partition, int] = {}
        until_s = time.monotonic() + self._answer_s
        while waiting and (left_s := until_s - time.monotonic()) > 0:
            message = self._reader.poll(left_s)
            if message is None or message.topic() is None:  # an error of the client as a whole; it may pass
                continue
            partition = Partition(str(message.topic()), int(message.partition() or 0))
            if partition in waiting:
                waiting.discard(partition)
                if (time_ms := _time_of(message)) is not None:
                    times[partition] = time_ms
        self._reader.unassign()
        return times

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

    def _described(self, group: str) -> Any:  # noqa: ANN401 - the client's answers have no types
        """Ask for a group; a broker that has had none yet makes room for them first, and says meanwhile that it cannot answer."""
        until_s = time.monotonic() + self._answer_s
        while True:
            try:
                return self._admin.describe_consumer_groups([group], request_timeout=self._answer_s)[group].result()
            except KafkaException as error:
                if error.args[0].code() not in _NOT_YET or time.monotonic() > until_s:
                    raise
            time.sleep(_AGAIN_S)

    def _of(self, group: str) -> Consumer:
        if group not in self._groups:
            self._groups[group] = consumer_of(self._properties | {"group.id": group})
        return self._groups[group]

    def _offsets(self, partitions: Sequence[Partition], spec: OffsetSpec) -> dict[Partition, int]:
        asked = self._admin.list_offsets({TopicPartition(*partition): spec for partition in partitions}, request_timeout=self._answer_s)
        return {_named(place): _answer(answer).offset for place, answer in asked.items()}


def _answer(asked: Future[Any]) -> Any:  # noqa: ANN401 - the client's answers have no types
    try:
        return asked.result()
    except KafkaException as error:
        raise failure_of(error) from None


def _named(place: TopicPartition) -> Partition:
    return Partition(place.topic, place.partition)


def _time_of(message: Message) -> int | None:
    """Return the message's time, if it is a record and has one."""
    kind, time_ms = message.timestamp()
    return None if message.error() is not None or kind == TIMESTAMP_NOT_AVAILABLE else time_ms
