"""Kafka as a source of records: the one file that imports the client on the consuming side.

`consumers.poller` owns a `KafkaSource` and is the only thread that calls it. Errors that pass by themselves are said once
through `say` and waited out; a fatal client error raises SourceFatal. Nothing is committed that the caller did not name.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import (
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from consumers.arrival import Partition
from consumers.kafka_settings import KafkaSourceSettings, admin_properties, client_properties
from consumers.poller import Rebalance, SourceFatal
from consumers.record import Record

_QUIET = logging.getLogger("vectail.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
_EPOCH_TIMEOUT_S = 5.0


class KafkaSource:
    """A consumer in a group; the assignment is exactly what the `Rebalance` callbacks have said.

    Thread: one, the poller's; the callbacks run inside `fetch` and `close`.
    """

    def __init__(self, settings: KafkaSourceSettings, *, say: Callable[[str], None]) -> None:
        """`say` takes one line about a fault of the world, and what happens next."""
        self._settings = settings
        self._say = say
        self._fatal: str | None = None
        self._consumer = Consumer(client_properties(settings) | {"error_cb": self._on_error}, logger=_QUIET)
        self._assigned: set[Partition] = set()
        self._paused: set[Partition] = set()
        self._epochs: dict[str, str] = {}
        self._unplaced: list[Message] = []

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group; from now on `fetch` also calls `rebalance`."""

        def on_assign(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            arrived = _names(partitions)
            for topic in {partition.topic for partition in arrived}:
                self._epochs.pop(topic, None)
            self._assigned.update(arrived)
            rebalance.on_assign(arrived)

        def on_revoke(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            gone = _names(partitions)
            rebalance.on_revoke(gone)
            self._forget(gone)

        def on_lost(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            gone = _names(partitions)
            rebalance.on_lost(gone)
            self._forget(gone)

        self._consumer.subscribe(list(self._settings.topics), on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)

    def fetch(self, max_records: int, timeout_s: float) -> list[Record]:
        """Return up to `max_records` records as soon as there is one, none after `timeout_s`. Raises SourceFatal."""
        first = self._consumer.poll(timeout_s)
        messages = [] if first is None else [first, *self._consumer.consume(max_records - 1, timeout=0)]
        if self._fatal is not None:
            raise SourceFatal(self._fatal)
        waiting = self._unplaced
        waiting += [message for message in messages if self._is_record(message)]
        self._unplaced = []
        if not waiting:
            return []
        for topic in {str(message.topic()) for message in waiting}:
            if topic not in self._epochs and not self._read_epoch(topic):
                self._unplaced = waiting
                return []
        return [_record_of(message, self._epochs) for message in waiting]

    def pause(self) -> None:
        """Stop delivery from every partition assigned now; polling goes on."""
        fresh = self._assigned - self._paused
        if fresh:
            self._consumer.pause([TopicPartition(*partition) for partition in fresh])
            self._paused |= fresh

    def resume(self) -> None:
        """Deliver again."""
        if self._paused:
            self._consumer.resume([TopicPartition(*partition) for partition in self._paused])
            self._paused.clear()

    def commit(self, next_offsets: Mapping[Partition, int]) -> dict[Partition, str]:
        """Commit synchronously; return the reason for each partition that was not accepted."""
        offsets = [TopicPartition(p.topic, p.partition, next_offset) for p, next_offset in next_offsets.items()]
        try:
            answers = self._consumer.commit(offsets=offsets, asynchronous=False) or []
        except KafkaException as error:
            reason = str(error.args[0].str())
            return dict.fromkeys(next_offsets, reason)
        return {Partition(answer.topic, answer.partition): str(answer.error.str()) for answer in answers if answer.error is not None}

    def end_offsets(self) -> dict[Partition, int]:
        """Return the log's end of each assigned partition as last seen by the client; partitions not yet seen are left out."""
        ends: dict[Partition, int] = {}
        for partition in self._assigned:
            _, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True) or (0, -1)
            if end >= 0:
                ends[partition] = end
        return ends

    def close(self) -> None:
        """Leave the group; calls `Rebalance.on_revoke` for what is still assigned."""
        self._consumer.close()

    def _forget(self, partitions: Sequence[Partition]) -> None:
        self._assigned.difference_update(partitions)
        self._paused.difference_update(partitions)
        gone = set(partitions)
        self._unplaced = [m for m in self._unplaced if Partition(str(m.topic()), int(m.partition() or 0)) not in gone]

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.fatal():
            raise SourceFatal(str(error.str()))
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._say(f"topic {message.topic()} does not exist yet; waiting for it (`vectail topics init` creates it)")
        elif error.code() not in (KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED):  # noqa: SLF001 - the client's public codes
            self._say(f"kafka: {error.str()}; waiting")
        return False

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = str(error.str())
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self._say(f"kafka at {self._settings.bootstrap_servers} is away; waiting for it")

    def _read_epoch(self, topic: str) -> bool:
        if self._settings.topic_epoch is not None:
            self._epochs[topic] = self._settings.topic_epoch
            return True
        admin = AdminClient(admin_properties(self._settings.bootstrap_servers, self._settings.librdkafka), logger=_QUIET)
        futures = admin.describe_topics(TopicCollection([topic]), request_timeout=_EPOCH_TIMEOUT_S)
        try:
            topic_id = futures[topic].result().topic_id
        except KafkaException as error:
            self._say(f"the id of topic {topic} cannot be read ({error.args[0].str()}); trying again (or set kafka.topic_epoch)")
            return False
        self._epochs[topic] = f"{(topic_id.get_most_significant_bits() >> 32) & 0xFFFFFFFF:08x}"
        return True


def _names(partitions: Sequence[TopicPartition]) -> list[Partition]:
    return [Partition(partition.topic, partition.partition) for partition in partitions]


def _record_of(message: Message, epochs: Mapping[str, str]) -> Record:
    topic = str(message.topic())
    kind, time_ms = message.timestamp()
    return Record(
        topic=topic,
        partition=int(message.partition() or 0),
        offset=int(message.offset() or 0),
        epoch=epochs[topic],
        time_ms=0 if kind == TIMESTAMP_NOT_AVAILABLE else time_ms,
        key=_bytes_of(message.key()),
        value=_bytes_of(message.value()),
        headers=tuple((str(header[0]), _bytes_of(header[1])) for header in message.headers() or ()),
    )


def _bytes_of(content: str | bytes | None) -> bytes | None:
    return content.encode("utf-8") if isinstance(content, str) else content


class LooseReader:
    """A consumer without a group: it stands where it is put and commits nothing.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str]) -> None:
        properties: dict[str, object] = {
            **admin_properties(bootstrap_servers, librdkafka),
            "group.id": "vectail-loose",  # the client asks for a name; nothing is ever committed under it
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
        }
        self._consumer = Consumer(properties, logger=_QUIET)

    def assign_at_end(self, topic: str, timeout_s: float) -> str | None:
        """Read every partition of `topic` from its end; the reason in one line if that cannot be done."""
        try:
            partitions = self._consumer.list_topics(topic, timeout=timeout_s).topics[topic].partitions
            places = [TopicPartition(topic, partition) for partition in partitions]
            for place in places:
                watermarks = self._consumer.get_watermark_offsets(place, timeout=timeout_s)
                place.offset = 0 if watermarks is None else watermarks[1]
        except KafkaException as error:
            return str(error.args[0].str())
        self._consumer.assign(places)
        return None if places else f"topic {topic} does not exist (`vectail topics init` creates it)"

    def poll(self, timeout_s: float) -> Record | None:
        """Return the next record, if one comes in time."""
        message = self._consumer.poll(timeout_s)
        return None if message is None or message.error() else _record_of(message, {str(message.topic()): ""})

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()
