"""A Kafka admin client that lists topics, reads their properties and creates missing ones.

`vectail topics init` and `vectail run` use it; `worker.groups` shares the client and its two failures: after `BrokerAway` a call may be
tried again, what `KafkaRefused` says is for the user to change.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, libversion
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # public, but not in the stubs
from confluent_kafka.cimpl import NewTopic

from consumers.kafka.source_settings import admin_properties
from consumers.record import Partition
from consumers.source import KafkaRefused

BROKERS_DEFAULT: Final = -1
"""In place of a number of partitions or replicas: the broker's default."""

SOON_BACK: Final = {"reconnect.backoff.max.ms": "1000"}
"""Reconnects to a broker within about a second, instead of the client's ten."""
CREATE_S: Final = 30.0
"""How long brokers may take to create a topic."""
_AWAY: Final = frozenset(
    {
        KafkaError._TIMED_OUT,  # noqa: SLF001 - the client's public codes, here and below
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
        KafkaError._WAIT_COORD,  # noqa: SLF001
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }
)


_AGAIN_S: Final = 0.2
_NOT_YET: Final = frozenset({KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError.NOT_COORDINATOR})


class BrokerAway(Exception):
    """No broker answered in time; one line."""


class TopicRefused(KafkaRefused):
    """The broker does not create this topic."""


class DescribedMember(NamedTuple):
    """Who reads."""

    client: str
    host: str
    id: str
    """Kafka's own name for it."""
    partitions: list[Partition]


class DescribedGroup(NamedTuple):
    """A group that exists, or existed."""

    state: str
    """Kafka's word in small letters."""
    protocol: str
    """`classic`, `consumer` or Kafka's word for another one."""
    assignor: str
    members: list[DescribedMember]
    operations: list[str] | None
    """What we may do with it, in Kafka's words (`READ`); None: Kafka does not say."""


class Undescribed(NamedTuple):
    """Why a group is not described."""

    code: int
    """One of the client's codes."""
    reason: str
    is_away: bool
    """Whether it may succeed when it is tried again."""


Described = Mapping[str, DescribedGroup | Undescribed]


class GroupsQuestion(NamedTuple):
    """Which groups, at which brokers."""

    bootstrap_servers: str
    librdkafka: Mapping[str, str]
    groups: Sequence[str]
    answer_s: float
    """How long Kafka may take."""


class KafkaAdmin:
    """Lists and creates topics and reads their properties; changes nothing that exists.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str]) -> None:
        """Of the user's properties only those that secure the connection apply. Raises KafkaRefused."""
        self._client = new_admin(bootstrap_servers, librdkafka)

    def partition_counts(self, timeout_s: float) -> dict[str, int]:
        """Return every topic that is visible to us, with its number of partitions. Raises BrokerAway."""
        try:
            found = self._client.list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise BrokerAway(_reason(error)) from None
        return {name: len(topic.partitions) for name, topic in found.items()}

    def topic_properties(self, topic: str, timeout_s: float) -> dict[str, str]:
        """Return a topic's properties, the broker's defaults included. Raises BrokerAway or KafkaRefused."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        try:
            found = self._client.describe_configs([resource], request_timeout=timeout_s)[resource].result()
        except (KafkaException, ValueError) as error:
            raise failure_of(error) from None
        return {name: entry.value for name, entry in found.items() if entry.value is not None}

    def create_topic(self, topic: str, *, partitions: int, replication_factor: int, properties: Mapping[str, str] | None = None) -> bool:
        """Create a topic; False if it exists already. Raises TopicRefused or BrokerAway."""
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor, config=dict(properties or {}))
        try:
            self._client.create_topics([wanted], operation_timeout=CREATE_S, request_timeout=CREATE_S)[topic].result()
        except (KafkaException, ValueError) as error:
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            failure = failure_of(error)
            raise failure if isinstance(failure, BrokerAway) else TopicRefused(f"topic {topic} cannot be created: {failure}") from None
        return True


def new_admin(bootstrap_servers: str, librdkafka: Mapping[str, str]) -> AdminClient:
    """Return an admin client. Raises KafkaRefused."""
    try:
        return AdminClient({**admin_properties(bootstrap_servers, librdkafka), **SOON_BACK, "log_level": 0})
    except (KafkaException, ValueError) as error:
        raise KafkaRefused(f"kafka: {_reason(error)}") from None


def describe_groups(question: GroupsQuestion) -> Described:
    """Ask in this process. A broker that has had no group yet makes room for them first, and says meanwhile that it cannot answer."""
    admin = new_admin(question.bootstrap_servers, question.librdkafka)
    until_s = time.monotonic() + question.answer_s
    found: dict[str, DescribedGroup | Undescribed] = {}
    while True:
        left = [group for group in question.groups if group not in found]
        asked = admin.describe_consumer_groups(left, include_authorized_operations=True, request_timeout=question.answer_s)
        is_over = time.monotonic() > until_s
        for group, future in asked.items():
            try:
                found[group] = _group(future.result())
            except KafkaException as error:
                cause: KafkaError = error.args[0]
                if cause.code() not in _NOT_YET or is_over:
                    found[group] = Undescribed(cause.code(), cause.str(), isinstance(failure_of(error), BrokerAway))
        if len(found) == len(question.groups):
            return found
        time.sleep(_AGAIN_S)


def _group(found: Any) -> DescribedGroup:  # noqa: ANN401 - the client's answers have no types
    members = [
        DescribedMember(
            one.client_id,
            one.host.removeprefix("/"),
            one.member_id,
            sorted(Partition(place.topic, place.partition) for place in one.assignment.topic_partitions),
        )
        for one in found.members
    ]
    operations = found.authorized_operations
    names = None if operations is None else sorted(one.name for one in operations)
    return DescribedGroup(found.state.name.lower(), found.type.name.lower(), found.partition_assignor or "", members, names)


def failure_of(error: Exception) -> BrokerAway | KafkaRefused:
    """Return the client's failure as one of ours."""
    cause = error.args[0] if error.args else None
    is_away = isinstance(cause, KafkaError) and cause.code() in _AWAY
    return BrokerAway(_reason(error)) if is_away else KafkaRefused(_reason(error))


def librdkafka_version() -> str:
    """Return the version of librdkafka, the C library below the client."""
    return libversion()[0]


def _reason(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)
