"""What the doctor asks of Kafka: topics, their properties, rights, groups, positions and rates. The one importer of the client here.

`doctor_kafka` judges the answers. Questions are asked side by side where possible, so a broker that does not know one (librdkafka's mock
cluster) costs one time-out. It joins no group and changes nothing.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigEntry, ConfigResource, OffsetSpec  # type: ignore[attr-defined]  # public, but not in the stubs

from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.runtime.kafka_admin import BrokerAway, DescribedGroup, GroupsQuestion, failure_of, new_admin
from worker.settings.tables import KafkaTable
from worker.watching.group_members import describe_apart
from worker.watching.group_offsets import ConsumerGroup, GroupPosition, read_positions
from worker.watching.group_positions import KafkaPositions

ANSWER_S: Final = 3.0
"""For one answer."""
RATE_WINDOWS_S: Final = (60, 600)
"""The spans before now over which the rate of a topic is measured."""


class BrokerMember(NamedTuple):
    """A member of a group."""

    client: str
    host: str
    topics: frozenset[str]
    """Topics of its assigned partitions."""


class GroupFacts(NamedTuple):
    """A group as Kafka describes it."""

    protocol: str
    """`classic`, `consumer`, or empty if the group does not exist or Kafka does not say."""
    members: Sequence[BrokerMember] = ()
    rights: frozenset[str] | None = None
    """What we may do with it, in Kafka's words (`READ`); None: Kafka does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFacts:
    """What Kafka says of topics and groups; a name without an entry was not answered."""

    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of topics, the broker's defaults included."""
    rights: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What we may do with topics."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Topics and groups that we may not describe, with the reason."""
    groups: Mapping[str, GroupFacts] = field(default_factory=dict)
    of_broker: Mapping[str, str] = field(default_factory=dict)
    """A broker's own properties."""


class CommittedLag(NamedTuple):
    """How far a group has come."""

    positions: Sequence[GroupPosition]
    oldest_ms: Mapping[Partition, int]
    """Time of the oldest record that is not committed, in milliseconds since 1970."""
    rate: float | None
    """Records that came in a second of the last minute; None: Kafka does not say."""
    peak_rate: float | None
    """The same of the last minute or the last ten, whichever is more: what a worker must be able to take."""
    newest_ms: int | None
    """The latest time of any record."""


class Broker:
    """Every call is bounded.

    Thread: one.
    """

    def __init__(self, kafka: KafkaTable, *, answer_s: float = ANSWER_S) -> None:
        """Raises KafkaRefused."""
        self._kafka = kafka
        self._answer_s = answer_s
        self._admin: AdminClient = new_admin(kafka.bootstrap_servers, kafka.librdkafka)

    def topics(self) -> tuple[dict[str, int], list[int]]:
        """Return the number of partitions of every topic that we see, and the ids of the brokers. Raises BrokerAway or KafkaRefused."""
        try:
            found = self._admin.list_topics(timeout=self._answer_s)
        except KafkaException as error:
            raise failure_of(error) from None
        return {name: len(topic.partitions) for name, topic in found.topics.items()}, sorted(found.brokers)

    def facts(self, topics: Collection[str], groups: Sequence[str], brokers: Sequence[int]) -> BrokerFacts:
        """Ask everything about these topics and groups at once."""
        limit_s = self._answer_s
        kinds = ConfigResource.Type
        resources = [ConfigResource(kinds.TOPIC, topic) for topic in topics]
        resources += [ConfigResource(kinds.BROKER, str(brokers[0]))] if brokers else []
        configs = self._admin.describe_configs(resources, request_timeout=limit_s) if resources else {}
        described = (
            self._admin.describe_topics(TopicCollection(list(topics)), include_authorized_operations=True, request_timeout=limit_s)
            if topics
            else {}
        )
        refused: dict[str, str] = {}
        groups_there = self._describe_groups(groups, refused)
        until_s = time.monotonic() + limit_s + 1.0
        properties = {one.name: _values(entries) for one, entries in _results(configs, until_s, {}) if one.restype is kinds.TOPIC}
        of_broker = [_values(entries) for one, entries in _results(configs, until_s, {}) if one.restype is kinds.BROKER]
        rights = {name: _operations(one) for name, one in _results(described, until_s, refused)}
        return BrokerFacts(
            properties=properties,
            rights={name: operations for name, operations in rights.items() if operations is not None},
            groups=groups_there,
            refused=refused,
            of_broker=of_broker[0] if of_broker else {},
        )

    def _describe_groups(self, groups: Sequence[str], refused: dict[str, str]) -> dict[str, GroupFacts]:
        """Describe groups, in a process of its own: this one may be a worker's."""
        question = GroupsQuestion(self._kafka.bootstrap_servers, self._kafka.librdkafka, groups, self._answer_s)
        found: dict[str, GroupFacts] = {}
        try:
            described = describe_apart(question) if groups else {}
        except (BrokerAway, KafkaRefused):
            return found
        for name, one in described.items():
            if isinstance(one, DescribedGroup):
                found[name] = _group(one)
            elif one.code == KafkaError.GROUP_ID_NOT_FOUND:
                found[name] = GroupFacts("")
            elif one.code == KafkaError.GROUP_AUTHORIZATION_FAILED:
                refused[name] = one.reason
        return found

    def lag(self, group: ConsumerGroup, *, now_ms: int) -> CommittedLag:
        """Ask how far a group has come, and how fast its topics grow. Raises BrokerAway or KafkaRefused."""
        with KafkaPositions(self._kafka, answer_s=self._answer_s) as kafka:
            positions = read_positions(kafka, group)
            oldest_ms = kafka.times_at({one.partition: one.next_offset for one in positions if one.lag_records})
            try:
                rates = [_rate(kafka, positions, now_ms, window_s) for window_s in RATE_WINDOWS_S]
            except (BrokerAway, KafkaRefused):
                rates = []
        rate, peak_rate = (rates[0], max(rates)) if rates else (None, None)
        return CommittedLag(positions, oldest_ms, rate, peak_rate, self._newest_ms([one.partition for one in positions]))

    def _newest_ms(self, partitions: Sequence[Partition]) -> int | None:
        spec: Any = OffsetSpec  # its methods have no types
        wanted = {TopicPartition(*partition): spec.max_timestamp() for partition in partitions}
        asked = self._admin.list_offsets(wanted, request_timeout=self._answer_s)
        until_s = time.monotonic() + self._answer_s + 1.0
        return max((int(one.timestamp) for _, one in _results(asked, until_s, {}) if one.timestamp > 0), default=None)


def _rate(kafka: KafkaPositions, positions: Sequence[GroupPosition], now_ms: int, window_s: int) -> float:
    begins = kafka.offsets_at([one.partition for one in positions], now_ms - 1000 * window_s)
    ends = {one.partition: one.end_offset for one in positions}
    return sum(max(ends[partition] - begin, 0) for partition, begin in begins.items() if begin is not None) / window_s


def _results(asked: Mapping[Any, Future[Any]], until_s: float, refused: dict[str, str]) -> Iterable[tuple[Any, Any]]:
    """Yield what was answered in time, None for a group that does not exist; notes in `refused` what Kafka does not allow."""
    for name, future in asked.items():
        try:
            yield name, future.result(max(until_s - time.monotonic(), 0.05))
        except TimeoutError:
            continue
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() == KafkaError.GROUP_ID_NOT_FOUND:
                yield name, None
            if cause.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED):
                refused[str(name)] = cause.str()


def _values(entries: Mapping[str, ConfigEntry]) -> dict[str, str]:
    return {name: entry.value for name, entry in entries.items() if entry.value is not None}


def _operations(described: Any) -> frozenset[str] | None:  # noqa: ANN401 - the client's answers have no types
    operations = described.authorized_operations
    return None if operations is None else frozenset(one.name for one in operations)


def _group(described: DescribedGroup) -> GroupFacts:
    members = [BrokerMember(one.client, one.host, frozenset(partition.topic for partition in one.partitions)) for one in described.members]
    is_known = described.state not in ("dead", "unknown") and described.protocol in ("classic", "consumer")
    rights = None if described.operations is None else frozenset(described.operations)
    return GroupFacts(described.protocol if is_known else "", members, rights)
