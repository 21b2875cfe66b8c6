"""Kafka as an administrator sees it: which topics there are, and making those that are missing.

`vectail topics init` calls it; `worker.groups` shares its connection and its two kinds of failure. A broker that is away is told
apart from one that refuses: `BrokerAway` may be tried again, what `KafkaRefused` says is for the user to change.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException, libversion
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from consumers.kafka.settings import admin_properties

BROKERS_DEFAULT: Final = -1
"""In place of a number of partitions or replicas: what the broker is set to."""

SOON_BACK: Final = {"reconnect.backoff.max.ms": "1000"}
"""A broker that was away is found again within a second or so, and not within ten."""
_CREATE_S = 30.0
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


class BrokerAway(Exception):
    """No broker answered in time; one line."""


class KafkaRefused(Exception):
    """The broker does not do it, or the client cannot be made with these properties; one line for the user."""


class TopicRefused(KafkaRefused):
    """The broker does not make this topic."""


class KafkaAdmin:
    """A client that only asks about topics and makes them.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str]) -> None:
        """Of the user's properties only those that secure the connection count. Raises KafkaRefused."""
        self._client = new_admin(bootstrap_servers, librdkafka)

    def partition_counts(self, timeout_s: float) -> dict[str, int]:
        """Return every topic that we may see, with its number of partitions. Raises BrokerAway."""
        try:
            found = self._client.list_topics(timeout=timeout_s).topics
        except KafkaException as error:
            raise BrokerAway(_reason(error)) from None
        return {name: len(topic.partitions) for name, topic in found.items()}

    def create(self, topic: str, *, partitions: int, replication_factor: int) -> bool:
        """Make a topic; False when somebody else has just made it. Raises TopicRefused or BrokerAway."""
        wanted = NewTopic(topic, num_partitions=partitions, replication_factor=replication_factor)
        try:
            self._client.create_topics([wanted], operation_timeout=_CREATE_S, request_timeout=_CREATE_S)[topic].result()
        except (KafkaException, ValueError) as error:
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            failure = failure_of(error)
            raise failure if isinstance(failure, BrokerAway) else TopicRefused(f"topic {topic} cannot be created: {failure}") from None
        return True


def new_admin(bootstrap_servers: str, librdkafka: Mapping[str, str]) -> AdminClient:
    """Make a client of librdkafka for an administrator. Raises KafkaRefused."""
    try:
        return AdminClient({**admin_properties(bootstrap_servers, librdkafka), **SOON_BACK, "log_level": 0})
    except (KafkaException, ValueError) as error:
        raise KafkaRefused(f"kafka: {_reason(error)}") from None


def failure_of(error: Exception) -> BrokerAway | KafkaRefused:
    """Return what a failure of the client means for the user."""
    cause = error.args[0] if error.args else None
    is_away = isinstance(cause, KafkaError) and cause.code() in _AWAY
    return BrokerAway(_reason(error)) if is_away else KafkaRefused(_reason(error))


def librdkafka_version() -> str:
    """Return the version of the C library below the client."""
    return libversion()[0]


def _reason(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)
