"""Kafka as a source of records: the one file that imports the client on the consuming side.

`consumers.poller` owns a `KafkaSource` and is the only thread that calls it. Errors that pass by themselves are said once
through `say` and waited out; a fatal client error raises SourceFatal. Nothing is committed that the caller did not name, but for the
place where a partition begins that skips records (`consumers.expired`).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

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
from consumers.epochs import TopicEpochs
from consumers.expired import Displaced, Standing
from consumers.kafka_settings import KafkaSourceSettings, SourceMisconfigured, admin_properties, client_properties
from consumers.poller import Rebalance, SourceFatal
from consumers.record import Record

_QUIET = logging.getLogger("vectail.librdkafka")
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
_EPOCH_TIMEOUT_S = 5.0
_STANDING_TIMEOUT_S = 1.0


class KafkaSource:
    """A consumer in a group; the assignment is exactly what the `Rebalance` callbacks have said.

    Thread: one, the poller's; the callbacks run inside `fetch` and `close`.
    """

    def __init__(self, settings: KafkaSourceSettings, *, say: Callable[[str], None]) -> None:
        """`say` takes one line about a fault of the world, and what happens next. Raises SourceMisconfigured."""
        self._settings = settings
        self._say = say
        self._fatal: str | None = None
        self._consumer = consumer_of(client_properties(settings) | {"error_cb": self._on_error})
        self._assigned: set[Partition] = set()
        self._started: set[Partition] = set()
        """Those of the assigned that have delivered a record: only they can be paused."""
        self._stopped = False
        self._paused: set[Partition] = set()
        self._admin: AdminClient | None = None
        self._epochs = TopicEpochs(fixed=settings.topic_epoch, ask=self._ask_topic_ids, say=say)
        self._unplaced: list[Message] = []
        """Records whose topic's epoch is not known yet; their topics are paused meanwhile."""
        self._displaced = Displaced(start=settings.start, expired=settings.expired, ask=self._ask_standing, move=self._move, say=say)

    def subscribe(self, rebalance: Rebalance) -> None:
        """Join the group; from now on `fetch` also calls `rebalance`."""

        def on_assign(_consumer: Consumer, partitions: list[TopicPartition]) -> None:
            arrived = _names(partitions)
            self._epochs.forget({partition.topic for partition in arrived})
            self._assigned.update(arrived)
            rebalance.on_assign(arrived)

        def ends(tell: Callable[[Sequence[Partition]], None]) -> Callable[[Consumer, list[TopicPartition]], None]:
            return lambda _consumer, partitions: self._end(_names(partitions), tell)

        on_revoke, on_lost = ends(rebalance.on_revoke), ends(rebalance.on_lost)
        self._consumer.subscribe(list(self._settings.topics), on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)

    def fetch(self, max_records: int, timeout_s: float) -> list[Record]:
        """Return up to `max_records` records as soon as there is one, none after `timeout_s`. Raises SourceFatal, SourceExpired.

        Each is of a partition that is assigned when this returns.
        """
        first = self._consumer.poll(timeout_s)
        messages = [] if first is None else [first, *self._consumer.consume(max_records - 1, timeout=0)]
        if self._fatal is not None:
            raise SourceFatal(self._fatal)
        for message in messages:
            # A rebalance inside `consume` may have taken the partition of what came before it.
            if self._is_record(message) and (partition := _partition_of(message)) in self._assigned:
                self._started.add(partition)
                self._displaced.delivered(partition)
                self._unplaced.append(message)
        self._displaced.place(self._assigned)
        placed = self._place()
        self._match_pause()
        return placed

    def pause(self) -> None:
        """Stop delivery, polling goes on; a partition that has delivered nothing yet still brings its first records.

        Pausing one before its first record can lose its position or stop it for good (librdkafka issues 2190 and 5591).
        """
        self._stopped = True
        self._match_pause()

    def resume(self) -> None:
        """Deliver again."""
        self._stopped = False
        self._match_pause()

    def commit(self, next_offsets: Mapping[Partition, int]) -> dict[Partition, str]:
        """Commit synchronously; return the reason for each partition that was not accepted.

        When the broker refuses one, the client raises and does not say which: then all are named, and tried again.
        """
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
            _, end = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)
            if end >= 0:
                ends[partition] = end
        return ends

    def close(self) -> None:
        """Leave the group; calls `Rebalance.on_revoke` for what is still assigned."""
        self._consumer.close()
        self._admin = None

    def _end(self, partitions: Sequence[Partition], tell: Callable[[Sequence[Partition]], None]) -> None:
        tell(partitions)
        gone = set(partitions)
        self._assigned -= gone
        self._started -= gone
        self._displaced.forget(gone)
        self._unplaced = [message for message in self._unplaced if _partition_of(message) not in gone]
        self._match_pause()  # the client keeps a pause over a revocation: a partition that came back would stand still

    def _match_pause(self) -> None:
        waiting = {message.topic() for message in self._unplaced}
        wanted = {partition for partition in self._started if self._stopped or partition.topic in waiting}
        if fresh := wanted - self._paused:
            self._consumer.pause([TopicPartition(*partition) for partition in fresh])
        if over := self._paused - wanted:
            self._consumer.resume([TopicPartition(*partition) for partition in over])
        self._paused = wanted

    def _place(self) -> list[Record]:
        """Return the records whose topic's epoch is known; the others wait, topic by topic."""
        if not self._unplaced:
            return []
        self._epochs.read({str(message.topic()) for message in self._unplaced})
        known = self._epochs.known
        placed = [message for message in self._unplaced if message.topic() in known]
        self._unplaced = [message for message in self._unplaced if message.topic() not in known]
        return [record_of(message, known) for message in placed]

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.fatal() or error.code() == KafkaError._FATAL:  # noqa: SLF001 - the client's public codes; `fatal` does not know this one
            raise SourceFatal(str(error.str()))
        if error.code() == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
            self._displaced.note(_partition_of(message), message.offset())
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._say(f"topic {message.topic()} does not exist yet; waiting for it (`vectail topics init` creates it)")
        elif error.code() not in (KafkaError._PARTITION_EOF, KafkaError._MAX_POLL_EXCEEDED):  # noqa: SLF001
            self._say(f"kafka: {error.str()}; waiting")
        return False

    def _on_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = str(error.str())
        elif error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001
            self._say(f"kafka at {self._settings.bootstrap_servers} is away; waiting for it")

    def _ask_standing(self, partition: Partition) -> Standing | None:
        place = TopicPartition(*partition)
        try:
            (found,) = self._consumer.committed([place], timeout=_STANDING_TIMEOUT_S)
            if found.error is not None:
                raise KafkaException(found.error)  # noqa: TRY301 - one answer for both
            first_offset, end_offset = self._consumer.get_watermark_offsets(place, timeout=_STANDING_TIMEOUT_S)
        except KafkaException as error:
            self._say(f"kafka does not say what {partition.topic}/{partition.partition} holds ({error.args[0].str()}); trying again")
            return None
        return Standing(found.offset if found.offset >= 0 else None, first_offset, end_offset)

    def _move(self, partition: Partition, offset: int, commit_it: bool) -> bool:  # noqa: FBT001 - as consumers.expired.Move
        """Assign the partition anew at `offset`: the client refuses to seek where it has let a partition stand (_STATE)."""
        if commit_it and self.commit({partition: offset}):
            return False
        self._started.discard(partition)
        self._match_pause()
        try:
            self._consumer.incremental_unassign([TopicPartition(*partition)])
            self._consumer.incremental_assign([TopicPartition(*partition, offset)])
        except KafkaException:  # lost a moment ago; the callback comes
            return False
        return True

    def _ask_topic_ids(self, topics: Sequence[str]) -> dict[str, Future[Any]]:
        if self._admin is None:
            properties = admin_properties(self._settings.bootstrap_servers, self._settings.librdkafka)
            self._admin = AdminClient({**properties, "log_level": 0})  # nobody polls it for its log
        return self._admin.describe_topics(TopicCollection(list(topics)), request_timeout=_EPOCH_TIMEOUT_S)


def consumer_of(properties: dict[str, object]) -> Consumer:
    """Make a client of librdkafka. Raises SourceMisconfigured."""
    try:
        return Consumer(properties, logger=_QUIET)
    except KafkaException as error:
        raise SourceMisconfigured(f"kafka: {error.args[0].str()}") from None


def _names(partitions: Sequence[TopicPartition]) -> list[Partition]:
    return [Partition(partition.topic, partition.partition) for partition in partitions]


def _partition_of(message: Message) -> Partition:
    return Partition(str(message.topic()), int(message.partition() or 0))


def record_of(message: Message, epochs: Mapping[str, str]) -> Record:
    """Make a Record of a message without an error; `epochs` is by topic."""
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
