"""A Kafka producer with its own delivery thread, and an embedded broker; the only file of `producers` that imports confluent-kafka.

The senders of this package are built on `KafkaProducer`. It calls `delivered` exactly once for every record it took, on the delivery
thread, and with None only after the broker's acknowledgement. While the broker is away it waits, without limit unless
`message.timeout.ms` sets one, and says so in one line.
"""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer

Header = tuple[str, bytes | None]
Delivered = Callable[[str | None], None]
"""Called once per record: with None if the broker has acknowledged it, else with the reason in one line."""
_Report = Callable[[KafkaError | None, Message | None], None]
"""A `Delivered` as the client calls it."""

TOO_LARGE: Final = "the record is larger than the broker or the client takes"
"""The only reason for a failed delivery that a smaller record avoids."""

_TOO_LARGE_CODES: Final = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_MSG_SIZE})
_TICK_S: Final = 0.1
_SAY_AGAIN_S: Final = 60.0
_PURGE_S: Final = 2.0
_REFUSED: Final = "_error"
"""The key under which the client says of a record in a list why it has not taken it."""

PROPERTIES: Final[Mapping[str, str]] = {
    "enable.idempotence": "true",
    "linger.ms": "5",
    "compression.type": "lz4",
    "message.timeout.ms": "0",  # no limit: wait for a broker that is away
    "message.max.bytes": "1048576",  # a line of 1,000,000 bytes with key, headers and framing; the broker's default is 1,048,588
    "queue.buffering.max.kbytes": "65536",
    "reconnect.backoff.max.ms": "2000",
    "log.connection.close": "false",  # brokers close idle connections
}


class ProducerBroken(Exception):
    """The client can never deliver again in this process (a fatal error, or it was closed). The service must stop."""


class QueueFull(Exception):
    """The client's queue had no room in time; the record was not taken."""


class ProducerMisconfigured(ValueError):
    """librdkafka rejects a property; one line for the user."""


class TopicMissing(Exception):
    """The broker answered, but has no such topic or does not let us see it; one line for the user."""


class _LogLines:
    """A logger for confluent-kafka: turns librdkafka's log calls into lines. Thread: the delivery thread."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line

    def log(self, _level: int, template: str, *parts: object) -> None:
        self._line(template % parts)


class OutgoingRecord(NamedTuple):
    """A record that is to be sent.

    Thread: any.
    """

    value: bytes | None
    """None: a tombstone."""
    key: bytes | None = None
    headers: Sequence[Header] = ()
    partition: int | None = None
    """None: librdkafka chooses."""


class KafkaProducer:
    """Reports every record it took exactly once, and runs all reports on one thread.

    The user's librdkafka properties override this module's. Raises ProducerMisconfigured for one that does not exist.

    Thread: any may call `send`, `send_values`, `flush`, `partition_count`; the delivery thread runs every callback and every tick.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        librdkafka: Mapping[str, str],
        *,
        say: Callable[[str], None],
        log: Callable[[str], None] = lambda _line: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Connects in the background; `say` gets what the user must know, `log` librdkafka's own lines; `stopped` ends waits."""
        self._say = say
        self._said_s: dict[int, float] = {}
        self._stopped = stopped
        self._fatal: str | None = None
        self._closing = False
        self._has_ended = False
        self._ticks: tuple[Callable[[float], None], ...] = ()
        self._progress = threading.Condition()
        callbacks = {"error_cb": self._note_error, "logger": _LogLines(log)}
        try:
            self._client = Producer({**PROPERTIES, **librdkafka, "bootstrap.servers": bootstrap_servers, **callbacks})
        except KafkaException as error:
            raise ProducerMisconfigured(error.args[0].str()) from None
        self._thread = threading.Thread(target=self._deliver, name="kafka-delivery", daemon=True)
        self._thread.start()

    @property
    def fatal(self) -> str | None:
        """Why nothing can be delivered any more, in one line, or None. Watched by the service."""
        return self._fatal

    @property
    def is_closing(self) -> bool:
        """Whether `close` has begun; from then on a failed delivery only means that `close` did not wait for it."""
        return self._closing

    def each_tick(self, tick: Callable[[float], None]) -> None:
        """Call `tick(time.monotonic())` on the delivery thread about ten times a second."""
        self._ticks = (*self._ticks, tick)

    def send(self, topic: str, record: OutgoingRecord, *, delivered: Delivered, wait_s: float = math.inf) -> None:
        """Take one record.

        If the queue is full, waits for room: at most `wait_s`, not after `stopped()`, and never on the delivery thread itself, which makes
        the room. Raises QueueFull or ProducerBroken, and then `delivered` is never called. If the client refuses the record itself,
        `delivered` gets the reason on this thread before `send` returns.
        """
        report = partial(_report, delivered)
        give_up_s = time.monotonic() + wait_s
        while not self._take(report, topic, record):
            if self._stopped() or time.monotonic() >= give_up_s or threading.current_thread() is self._thread:
                raise QueueFull(f"no room in the client's queue for a record of {topic}")
            with self._progress:
                self._progress.wait(_TICK_S)

    def send_values(self, topic: str, values: Sequence[bytes], *, partition: int, delivered: Delivered) -> int:
        """Take records of one partition without key or headers, in their order: as `send`, at half of its cost.

        Returns how many of the first ones were taken: fewer than all only where `send` raises QueueFull, after `stopped()` or on the
        delivery thread. Raises ProducerBroken; what was taken before is reported all the same.
        """
        report = partial(_report, delivered)
        taken = 0
        while True:
            taken += self._take_values(report, topic, values[taken:] if taken else values, partition)
            if taken == len(values) or self._stopped() or threading.current_thread() is self._thread:
                return taken
            with self._progress:
                self._progress.wait(_TICK_S)

    def partition_count(self, topic: str, *, timeout_s: float) -> int | None:
        """Return the number of partitions of a topic, None if no broker answered in time. Raises TopicMissing."""
        try:
            found = self._client.list_topics(topic, timeout_s).topics[topic]
        except KafkaException:
            return None
        if found.error is not None:
            raise TopicMissing(f"topic {topic}: {found.error.str()}")
        return len(found.partitions)

    def flush(self, timeout_s: float) -> int:
        """Wait until every record taken is reported; return how many are open by the client's count (0 is exact)."""
        with self._progress:
            self._progress.wait_for(lambda: len(self._client) == 0 or self._has_ended, timeout_s)
        return len(self._client)

    def close(self, timeout_s: float) -> int:
        """Flush, report open records as failed, end the delivery thread; return how many were open. Safe to call twice."""
        if self._closing:
            return 0
        left = self.flush(timeout_s)
        self._closing = True
        self._thread.join(_PURGE_S + 1.0)
        if self._has_ended:
            self._client.close()
        return left

    def _take(self, report: _Report, topic: str, record: OutgoingRecord) -> bool:
        """Give one record to the client; False when its queue is full."""
        if self._fatal is not None or self._closing:
            raise ProducerBroken(self._fatal or "the producer is closed")
        partition = -1 if record.partition is None else record.partition
        try:
            self._client.produce(topic, record.value, record.key, partition, on_delivery=report, headers=list(record.headers) or None)
        except BufferError:
            return False
        except KafkaException as error:
            refusal: KafkaError = error.args[0]
            if refusal.fatal():
                raise ProducerBroken(refusal.str()) from None
            report(refusal, None)
        return True

    def _take_values(self, report: _Report, topic: str, values: Sequence[bytes], partition: int) -> int:
        """Give records to the client until its queue is full; return how many of the first ones it took or refused for their own sake.

        The client (2.16) marks what it has not taken: all behind a full queue, but of others only the record that is too large. It takes no
        headers, and ignores a partition that is named for one record.
        """
        if self._fatal is not None or self._closing:
            raise ProducerBroken(self._fatal or "the producer is closed")
        messages: list[dict[str, object]] = [{"value": value} for value in values]
        try:
            if self._client.produce_batch(topic, messages, partition=partition, on_delivery=report) == len(messages):
                return len(messages)
        except KafkaException as error:
            messages = [{_REFUSED: error.args[0]}] * len(messages)
        for place, message in enumerate(messages):
            refusal = message.get(_REFUSED)
            if not isinstance(refusal, KafkaError):
                continue
            if refusal.code() == KafkaError._QUEUE_FULL:  # noqa: SLF001 - librdkafka's name
                return place
            if refusal.fatal() or refusal.code() == KafkaError._FATAL:  # noqa: SLF001
                raise ProducerBroken(refusal.str())
            report(refusal, None)
        return len(messages)

    def _deliver(self) -> None:
        try:
            while not self._closing:
                self._poll_once()
            self._client.purge()
            give_up_s = time.monotonic() + _PURGE_S
            while len(self._client) and time.monotonic() < give_up_s:
                self._client.poll(_TICK_S)
        finally:
            if not self._closing:  # a callback raised: its exception goes to threading.excepthook, the service sees `fatal`
                self._fatal = self._fatal or "a delivery callback raised; nothing more is reported"
            with self._progress:
                self._has_ended = True
                self._progress.notify_all()

    def _poll_once(self) -> None:
        self._client.poll(_TICK_S)
        now = time.monotonic()
        for tick in self._ticks:
            tick(now)
        with self._progress:
            self._progress.notify_all()

    def _note_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = self._fatal or error.str()
        code = error.code()
        now = time.monotonic()
        if code == KafkaError._ALL_BROKERS_DOWN or now - self._said_s.get(code, -math.inf) < _SAY_AGAIN_S:  # noqa: SLF001 - librdkafka's name
            return  # the reason was reported before "all brokers are down"
        self._said_s[code] = now  # the text is cut before "(after … ms", so that several producers say the same line
        self._say(f"Kafka: {error.str().split(' (after ', 1)[0]}; " + ("giving up" if error.fatal() else "trying again"))


class EmbeddedBroker:
    """librdkafka's mock cluster of one broker on 127.0.0.1; a topic appears when it is first named, with four partitions.

    It keeps 5 MB per partition and drops the oldest records beyond that, so a feed must not get ahead of the reader
    (`producers.feed.FeedWindow`). Offsets begin at 0. Nothing is on disk.

    Thread: any.
    """

    def __init__(self) -> None:
        self._cluster: Producer | None = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
        brokers = self._cluster.list_topics(timeout=10.0).brokers.values()
        self.bootstrap_servers: Final[str] = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def close(self) -> None:
        """Stop the broker. Safe to call twice."""
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None


def _report(delivered: Delivered, error: KafkaError | None, _message: Message | None) -> None:
    if error is None:
        delivered(None)
    else:
        delivered(TOO_LARGE if error.code() in _TOO_LARGE_CODES else error.str())
