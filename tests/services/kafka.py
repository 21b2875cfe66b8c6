"""A real Kafka for tests, by order of preference: one that the environment names, one in Docker, or a local process.

`VECTAIL_TEST_KAFKA=host:port` names a running broker, which is never stopped; `tests.services.shared` starts one for a whole run.
"""

import abc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from tests.services.missing import named_address

ADDRESS_VARIABLE = "VECTAIL_TEST_KAFKA"
SHORT_SESSION_S = 3.0
_ANSWER_S = 60.0
_ASK_S = 1.0
_PAUSE_S = 0.1


class KafkaServer:
    """A broker on loopback that tests share: nobody stops it but who has started it."""

    def __init__(self, bootstrap: str = "") -> None:
        self.bootstrap = bootstrap
        """host:port, the same after a restart."""
        self.topics: list[str] = []
        """What was created, in this process, and not deleted."""
        self._client: AdminClient | None = None

    def create_topic(self, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
        """Create a topic and return when every partition has a leader."""
        create_topic(self.bootstrap, name, partitions, settings)
        self.topics.append(name)

    def delete_topics(self, first: int) -> None:
        """Delete what was created from a place in `topics` on, without waiting until it is gone."""
        if names := self.topics[first:]:
            del self.topics[first:]
            self._client = self._client or _admin(self.bootstrap)  # its requests are dropped when it is
            self._client.delete_topics(names)


class OwnKafka(KafkaServer, abc.ABC):
    """A broker that only its owner uses, and that keeps its topics over a restart."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End the broker at once (SIGKILL); returns when it is gone."""

    @abc.abstractmethod
    def stop(self) -> None:
        """End the broker in order; returns when it is gone."""

    @abc.abstractmethod
    def start(self) -> None:
        """Start the broker with the same port and records; return when it answers. Does nothing if it runs."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the broker and remove its records."""


@contextmanager
def named_kafka() -> Iterator[KafkaServer]:
    """Yield the broker that the environment names, once it answers. Raises ServerMissing."""
    address = named_address(ADDRESS_VARIABLE)
    await_answer(address, lambda: None)
    yield KafkaServer(address)


def await_answer(bootstrap: str, check_alive: Callable[[], None]) -> None:
    """Return when the broker answers and leads all its partitions; `check_alive` raises if the broker has ended."""
    admin = _admin(bootstrap)
    deadline = time.monotonic() + _ANSWER_S
    while True:
        check_alive()
        try:
            seen = admin.list_topics(timeout=_ASK_S)
        except KafkaException as failure:
            reason = str(failure)
        else:
            leaderless = [name for name, topic in seen.topics.items() for p in topic.partitions.values() if p.leader not in seen.brokers]
            if seen.brokers and not leaderless:
                return
            reason = f"{len(seen.brokers)} brokers, partitions without a leader in {sorted(set(leaderless))}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"Kafka at {bootstrap} is not ready after {_ANSWER_S:.0f} s: {reason}")


def create_topic(bootstrap: str, name: str, partitions: int, settings: Mapping[str, str] | None) -> None:
    """Create a topic and return when every partition has a leader."""
    admin = _admin(bootstrap)
    wanted = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(settings or {}))
    deadline = time.monotonic() + _ANSWER_S
    tries = 0
    while not _is_created(admin, wanted, again=tries > 0):
        tries += 1
        if time.monotonic() > deadline:
            raise TimeoutError(f"topic {name} could not be created within {_ANSWER_S:.0f} s")
        time.sleep(_PAUSE_S)
    while True:
        topic = admin.list_topics(name, timeout=_ANSWER_S).topics[name]
        if len(topic.partitions) == partitions and all(p.leader >= 0 for p in topic.partitions.values()):
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"topic {name} has no leaders after {_ANSWER_S:.0f} s")


def short_sessions(bootstrap: str, *groups: str) -> None:
    """Shorten the sessions of these groups under KIP-848: a killed member loses its partitions after `SHORT_SESSION_S`."""
    setting = ConfigEntry("consumer.session.timeout.ms", str(int(SHORT_SESSION_S * 1000)), incremental_operation=AlterConfigOpType.SET)
    wanted = [ConfigResource(ResourceType.GROUP, group, incremental_configs=[setting]) for group in groups]
    admin = _admin(bootstrap)  # its requests are dropped when it is
    for outcome in admin.incremental_alter_configs(wanted).values():
        outcome.result(_ANSWER_S)


def _is_created(admin: AdminClient, wanted: NewTopic, *, again: bool) -> bool:
    """Return whether the topic was created. After a stall the controller may briefly think that its only broker is gone."""
    try:
        admin.create_topics([wanted], operation_timeout=30)[wanted.topic].result()
    except KafkaException as failure:
        code = failure.args[0].code()
        if again and code == KafkaError.TOPIC_ALREADY_EXISTS:
            return True
        if code not in (KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.REQUEST_TIMED_OUT):
            raise
        return False
    return True


def _admin(bootstrap: str) -> AdminClient:
    # log_level 0: the broker is expected to be unreachable at first.
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200})
