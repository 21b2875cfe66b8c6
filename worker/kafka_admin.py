"""Kafka as an administrator sees it: which topics there are, and making those that are missing.

`vectail topics init` calls it. A broker that is away is told apart from one that refuses: `BrokerAway` may be tried again, what
`TopicRefused` says is for the user to change.
"""

from collections.abc import Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException, libversion
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from consumers.kafka_settings import admin_properties

BROKERS_DEFAULT: Final = -1
"""In place of a number of partitions or replicas: what the broker is set to."""

_CREATE_S = 30.0


class BrokerAway(Exception):
    """No broker answered in time; one line."""


class TopicRefused(Exception):
    """The broker does not make this topic, or the client cannot be made with these properties; one line for the user."""


class KafkaAdmin:
    """A client that only asks about topics and makes them.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str]) -> None:
        """Of the user's properties only those that secure the connection count. Raises TopicRefused."""
        try:
            self._client = AdminClient({**admin_properties(bootstrap_servers, librdkafka), "log_level": 0})
        except (KafkaException, ValueError) as error:
            raise TopicRefused(f"kafka: {_reason(error)}") from None

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
            code = error.args[0].code() if isinstance(error, KafkaException) else None
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                return False
            if code in (KafkaError._TIMED_OUT, KafkaError._TRANSPORT):  # noqa: SLF001 - the client's public codes
                raise BrokerAway(_reason(error)) from None
            raise TopicRefused(f"topic {topic} cannot be created: {_reason(error)}") from None
        return True


def librdkafka_version() -> str:
    """Return the version of the C library below the client."""
    return libversion()[0]


def _reason(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)
