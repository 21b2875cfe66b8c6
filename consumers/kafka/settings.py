"""Which properties our Kafka clients run with; the user's own are passed through, except those that would break the promise.

`consumers.kafka` builds its clients from these. Nothing here touches the client library.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from consumers.kafka.offset_reset import ExpiredPolicy, StartPolicy

PROTECTED = frozenset(
    {
        "enable.auto.commit",
        "enable.auto.offset.store",
        "auto.offset.reset",
        "group.id",
        "group.protocol",
        "bootstrap.servers",
        "partition.assignment.strategy",
    }
)
"""Client properties that a user may not pass through: they would break the promise, or are settings of their own."""


class SourceMisconfigured(ValueError):
    """A property that librdkafka does not take; one line for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSourceSettings:
    """Which topics are read, as whom."""

    bootstrap_servers: str
    group: str
    topics: tuple[str, ...]
    topic_epoch: str | None = None
    """None: the first 8 hex digits of Kafka's topic id, read at every assignment."""
    group_protocol: str = "classic"
    """`classic` (cooperative-sticky) or `consumer` (KIP-848)."""
    max_poll_interval_s: float = 300.0
    prefetch_bytes: int = 16 * 1024 * 1024
    offset_reset: StartPolicy = "earliest"
    """Where a partition without a committed offset begins."""
    on_expired_offset: ExpiredPolicy = "stop"
    """Where one goes on whose committed offset is not there any more; `stop`: SourceExpired."""
    down_exit_s: float | None = None
    """SourceAway when no broker has answered for so long; None: never."""
    librdkafka: Mapping[str, str] = field(default_factory=dict)


def admin_properties(bootstrap_servers: str, librdkafka: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """Return the properties that reach the same brokers as an administrator: addresses and security only."""
    security = {name: value for name, value in librdkafka.items() if name.startswith(("security.", "sasl.", "ssl."))}
    return {"bootstrap.servers": bootstrap_servers, **security}


def client_properties(settings: KafkaSourceSettings) -> dict[str, object]:
    """Return the properties of the group's consumer."""
    properties: dict[str, object] = {
        "bootstrap.servers": settings.bootstrap_servers,
        "client.id": "vectail",
        "group.id": settings.group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "check.crcs": True,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "max.poll.interval.ms": int(settings.max_poll_interval_s * 1000),
        "queued.min.messages": 5000,
        "queued.max.messages.kbytes": settings.prefetch_bytes // 1024,
        "fetch.queue.backoff.ms": 50,
        "allow.auto.create.topics": False,
    }
    if settings.group_protocol == "consumer":
        properties["group.protocol"] = "consumer"
    else:
        properties["partition.assignment.strategy"] = "cooperative-sticky"
    return properties | dict(settings.librdkafka)


def groupless_properties(bootstrap_servers: str, librdkafka: Mapping[str, str]) -> dict[str, object]:
    """Return the properties of a consumer without a group. An offset that is not there any more is an error to it, never a jump."""
    seen = {name: value for name, value in librdkafka.items() if name == "isolation.level"}
    return {
        **admin_properties(bootstrap_servers, librdkafka),
        **seen,
        "group.id": "vectail-loose",  # the client asks for a name; nothing is ever committed under it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 50,
    }
