"""Settings of our Kafka consumers and the client properties they become.

`consumers.kafka` and `consumers.groupless` build their clients from these. The user's own client properties are passed through, except
those that would break the promise. Nothing here imports the client library.
"""

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from consumers.kafka.resume_point import ExpiredPolicy, StartPolicy

GroupProtocol = Literal["classic", "consumer"]

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
"""Client properties that a user may not set: they would break the promise, or are settings of their own."""

_SETTING_OF = {
    "auto.offset.reset": "kafka.offset_reset",
    "bootstrap.servers": "kafka.bootstrap_servers",
    "group.id": "kafka.group",
    "group.protocol": "kafka.group_protocol",
    "max.poll.interval.ms": "kafka.max_poll_interval_s",
}
"""Client properties that are settings of their own."""


_PREFETCHED_RECORDS = 50_000
"""Records at which the client stops to fetch ahead; each takes some memory besides its bytes."""
_PREFETCH_PAUSE_MS = 5
"""How long it waits then before it looks again. Its own 1,000 ms starve a fast reader, and so do 5,000 records with 50 ms: 131,000/s."""

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""What Kafka allows. The client would read a name that begins with `^` as a pattern, and row ids rest on names without `/` and `@`."""


EPOCH_PATTERN: Final = r"^[0-9A-Za-z_-]{1,32}$"
"""What may distinguish a re-created topic from its predecessor: the setting, or digits of Kafka's topic id."""


def is_topic_name(name: str) -> bool:
    """Return whether Kafka allows a topic of this name."""
    return _TOPIC_NAME.fullmatch(name) is not None and name not in (".", "..")


def _check_topic_name(topic: str) -> str:
    if not is_topic_name(topic):
        raise ValueError(f"{topic!r} is not a topic name: 1 to 249 letters, digits, '.', '_' and '-' (for patterns there is topic.pattern)")
    return topic


TopicName = Annotated[str, AfterValidator(_check_topic_name)]


class SourceMisconfigured(ValueError):
    """librdkafka does not accept a property; one line for the user."""


class KafkaSourceSettings(BaseModel):
    """Settings of one consumer in a group, but for what it subscribes to. The worker's `[kafka]` table extends it."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    protected_properties: ClassVar[frozenset[str]] = PROTECTED
    """Client properties that `librdkafka` may not hold. A table whose properties reach other clients too extends the set."""

    bootstrap_servers: str = Field(default="127.0.0.1:9092", min_length=1)
    """Brokers to connect to first: `HOST:PORT`, several with commas between them."""
    group: str = "vectail"
    """Consumer group that reads the log topics. Workers of one group share the partitions."""
    topic_epoch: str | None = Field(default=None, pattern=EPOCH_PATTERN)
    """Part of every row id, so that a topic that was deleted and created again gets new rows. Not set: the first 8 hex digits of Kafka's
    topic id, read at every assignment. Needed for brokers that have no topic ids (Kafka before 2.8, and others that speak its protocol),
    and only there."""
    group_protocol: GroupProtocol = "classic"
    """How the group assigns partitions: `classic` (cooperative-sticky) or `consumer` (KIP-848). To change it, stop all members first."""
    offset_reset: StartPolicy = "earliest"
    """Where the group begins in a partition for which it has committed nothing, new partitions included."""
    on_expired_offset: ExpiredPolicy = "stop"
    """Where it resumes when the committed offset no longer exists. `stop` ends the worker with exit code 2, and the user decides with
    `vectail offsets reset`."""
    down_exit_s: float | None = Field(default=None, ge=1)
    """Seconds without an answer from any broker after which the worker exits with code 1, for a supervisor that then starts it elsewhere.
    Not set: it waits for ever."""
    max_poll_interval_s: float = Field(default=300.0, ge=6)
    """Seconds without a poll after which Kafka gives the partitions to another worker."""
    prefetch_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Bytes that the client library may fetch ahead; at 50,000 records it stops earlier. The default holds about half a second of lines at
    full speed (60 MB/s). Behind a slow network more may help; it costs as much memory."""
    librdkafka: dict[str, str] = {}
    """Any property of the client library, such as `"security.protocol"`, except those that are settings of their own and those on which
    the promise that nothing is lost rests."""

    @field_validator("librdkafka")
    @classmethod
    def _check_properties(cls, properties: dict[str, str]) -> dict[str, str]:
        for name in properties:
            if name in _SETTING_OF:
                raise ValueError(f"{name} is the setting {_SETTING_OF[name]}")
            if name in cls.protected_properties:
                raise ValueError(f"{name} cannot be changed: without it records could be lost")
        return properties


def admin_properties(bootstrap_servers: str, librdkafka: Mapping[str, str]) -> dict[str, str | int | float | bool]:
    """Return the properties with which an admin client reaches the same brokers: addresses and security only."""
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
        "queued.min.messages": _PREFETCHED_RECORDS,
        "queued.max.messages.kbytes": settings.prefetch_bytes // 1024,
        "fetch.queue.backoff.ms": _PREFETCH_PAUSE_MS,
        "allow.auto.create.topics": False,
    }
    if settings.group_protocol == "consumer":
        properties["group.protocol"] = "consumer"
    else:
        properties["partition.assignment.strategy"] = "cooperative-sticky"
    return properties | dict(settings.librdkafka)


def groupless_properties(bootstrap_servers: str, librdkafka: Mapping[str, str]) -> dict[str, object]:
    """Return the properties of a consumer without a group; an expired offset is an error, so that it never jumps."""
    isolation = {name: value for name, value in librdkafka.items() if name == "isolation.level"}
    return {
        **admin_properties(bootstrap_servers, librdkafka),
        **isolation,
        "group.id": "vectail-loose",  # the client requires a name; nothing is ever committed under it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": 50,
    }
