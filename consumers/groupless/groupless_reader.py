"""Reads Kafka without a group: what topics hold, and the records of a range of offsets.

`consumers.groupless.reply_reader` waits for replies with it; the tools read log topics and dead letters; `worker.groups` asks what the
partitions of a group hold. It joins no group and commits nothing, so it never disturbs a worker. The one importer of the client here.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, IsolationLevel, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]  # public, but not in the stubs

from consumers.kafka.epochs import epoch_of_topic
from consumers.kafka.kafka_source import consumer_of
from consumers.kafka.message import partition_of, record_of
from consumers.kafka.source_settings import admin_properties, groupless_properties
from consumers.record import Partition, Record
from consumers.source import KafkaRefused

_MAX_RECORDS_PER_LIST: Final = 1_000
_POLL_S: Final = 0.2
_NO_LATER_RECORD: Final = -1
"""The offset that Kafka returns for a time after the newest record."""


class TopicUnknown(KafkaRefused):
    """Kafka has no such topic."""


class RangeUnreadable(Exception):
    """Kafka did not answer, or answered with an error; one line. `args[0]` is the client's KafkaError, or the line itself."""

    def __str__(self) -> str:
        cause = self.args[0]
        return str(cause.str() if isinstance(cause, KafkaError) else cause)


class OffsetRange(NamedTuple):
    """The offsets that a partition holds now."""

    first_offset: int
    """Of the oldest record that still exists."""
    end_offset: int
    """One after the newest record."""


class GrouplessReader:
    """A consumer without a group, and an administrator; every call is bounded by its time-out.

    Thread: one.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        librdkafka: Mapping[str, str],
        *,
        topic_epoch: str | None = None,
        tuning: Mapping[str, str] | None = None,
        admin: AdminClient | None = None,
        include_open_transactions: bool = False,
    ) -> None:
        """Connect in the background. Raises SourceMisconfigured.

        `topic_epoch` stands for every topic; None: the first 8 hex digits of Kafka's topic id. `tuning` are more properties of the
        consumer. `admin` is created at its first use if not given. With `include_open_transactions`, ends and times count records that
        are not committed yet, as a group's lag does; `read` is not affected.
        """
        self._consumer = consumer_of(groupless_properties(bootstrap_servers, librdkafka) | dict(tuning or {}))
        self._admin_properties = admin_properties(bootstrap_servers, librdkafka)
        self._topic_epoch = topic_epoch
        self._admin = admin
        sees_all = include_open_transactions or librdkafka.get("isolation.level") == "read_uncommitted"
        self._isolation = IsolationLevel.READ_UNCOMMITTED if sees_all else IsolationLevel.READ_COMMITTED

    def assign_at_end(self, topic: str, timeout_s: float) -> str | None:
        """Read every partition of `topic` from its end; returns the reason in one line if that cannot be done."""
        try:
            ranges = self.offset_ranges(self.partitions([topic], timeout_s), timeout_s)
        except (TopicUnknown, RangeUnreadable) as error:
            return str(error)
        self._consumer.assign([TopicPartition(*partition, found.end_offset) for partition, found in ranges.items()])
        return None

    def poll(self, timeout_s: float) -> Record | None:
        """Return the next record, if one comes in time."""
        message = self._consumer.poll(timeout_s)
        return None if message is None or message.error() else record_of(message, "")

    def partitions(self, topics: Collection[str], timeout_s: float) -> list[Partition]:
        """Return the partitions of these topics, in order. Raises TopicUnknown, RangeUnreadable."""
        partitions: list[Partition] = []
        for topic in topics:
            try:
                found = self._consumer.list_topics(topic, timeout=timeout_s).topics[topic]
            except KafkaException as error:
                raise RangeUnreadable(*error.args) from None
            if not found.partitions:
                raise TopicUnknown(f"topic {topic} does not exist (`vectail topics init` creates it)")
            partitions += [Partition(topic, number) for number in sorted(found.partitions)]
        return partitions

    def offset_ranges(self, partitions: Sequence[Partition], timeout_s: float) -> dict[Partition, OffsetRange]:
        """Return the offsets that each partition holds now. Raises RangeUnreadable."""
        spec: Any = OffsetSpec  # its methods have no types
        first, end = self._offsets(partitions, spec.earliest(), timeout_s), self._offsets(partitions, spec.latest(), timeout_s)
        return {partition: OffsetRange(first[partition], end[partition]) for partition in partitions}

    def offsets_at(self, partitions: Sequence[Partition], time_ms: int, timeout_s: float) -> dict[Partition, int | None]:
        """Return each partition's first offset with a time of at least `time_ms`; None: no such record. Raises RangeUnreadable."""
        found = self._offsets(partitions, OffsetSpec.for_timestamp(time_ms), timeout_s)
        return {partition: None if offset == _NO_LATER_RECORD else offset for partition, offset in found.items()}

    def times_at(self, offsets: Mapping[Partition, int], timeout_s: float) -> dict[Partition, int]:
        """Return the time (ms since 1970) of the first record at or after each offset; omits a partition without one or without answer."""
        if not offsets:
            return {}
        self._consumer.assign([TopicPartition(*partition, offset) for partition, offset in offsets.items()])
        waiting = set(offsets)
        times: dict[Partition, int] = {}
        until_s = time.monotonic() + timeout_s
        while waiting and (left_s := until_s - time.monotonic()) > 0:
            message = self._consumer.poll(left_s)
            if message is None or message.topic() is None:  # an error of the whole client; it may be temporary
                continue
            partition = partition_of(message)
            if partition in waiting:
                waiting.discard(partition)
                if (time_ms := _time_of(message)) is not None:
                    times[partition] = time_ms
        self._consumer.unassign()
        return times

    def epoch(self, topic: str, timeout_s: float) -> str:
        """Return what distinguishes a re-created topic from its predecessor, as in row ids. Raises RangeUnreadable, TopicWithoutId."""
        if self._topic_epoch is not None:
            return self._topic_epoch
        asked = self._admin_client().describe_topics(TopicCollection([topic]), request_timeout=timeout_s)
        try:
            return epoch_of_topic(topic, asked[topic].result().topic_id)
        except KafkaException as error:
            raise RangeUnreadable(f"the id of topic {topic} cannot be read ({error.args[0].str()})") from None

    def is_compacted(self, topic: str, timeout_s: float) -> bool | None:
        """Return whether Kafka compacts a topic; None if the broker does not answer or does not allow the question."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        try:
            found = self._admin_client().describe_configs([resource], request_timeout=timeout_s)[resource].result()
        except KafkaException:
            return None
        policy = found.get("cleanup.policy")
        return None if policy is None else "compact" in str(policy.value)

    def read(self, partition: Partition, first_offset: int, end_offset: int, *, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
        """Yield lists of the records of one partition from `first_offset` up to before `end_offset`, in order; offsets may have gaps.

        Raises RangeUnreadable when nothing came for `timeout_s`, or when `first_offset` has expired.
        """
        if first_offset >= end_offset:
            return
        self._consumer.assign([TopicPartition(*partition, first_offset)])
        try:
            yield from self._read_until(end_offset, epoch, timeout_s)
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()
        self._admin = None

    def _admin_client(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient({**self._admin_properties, "log_level": 0, "reconnect.backoff.max.ms": 1000})
        return self._admin

    def _offsets(self, partitions: Sequence[Partition], spec: OffsetSpec, timeout_s: float) -> dict[Partition, int]:
        wanted = {TopicPartition(*partition): spec for partition in partitions}
        try:
            asked = self._admin_client().list_offsets(wanted, isolation_level=self._isolation, request_timeout=timeout_s)
            return {Partition(place.topic, place.partition): int(answer.result().offset) for place, answer in asked.items()}
        except KafkaException as error:
            raise RangeUnreadable(*error.args) from None

    def _read_until(self, end_offset: int, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
        quiet_until_s = time.monotonic() + timeout_s
        while True:
            messages = self._consumer.consume(1, timeout=_POLL_S)  # a larger number would wait until all have come
            messages += self._consumer.consume(_MAX_RECORDS_PER_LIST - 1, timeout=0)
            records: list[Record] = []
            for message in messages:
                if _reaches(message, end_offset):
                    if records:
                        yield records
                    return
                if message.error() is None:
                    records.append(record_of(message, epoch))
            if records:
                yield records
                quiet_until_s = time.monotonic() + timeout_s
            elif time.monotonic() >= quiet_until_s:
                raise RangeUnreadable(f"kafka gave no record for {timeout_s:g} s")


def _reaches(message: Message, end_offset: int) -> bool:
    """Return whether this message is at or after `end_offset`, or is the end of the partition there. Raises RangeUnreadable."""
    error = message.error()
    if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's public codes
        return int(message.offset() or 0) >= end_offset
    if error.fatal() or not error.retriable():
        raise RangeUnreadable(error)
    return False


def _time_of(message: Message) -> int | None:
    """Return the message's time, if it is a record and has one."""
    time_type, time_ms = message.timestamp()
    return None if message.error() is not None or time_type == TIMESTAMP_NOT_AVAILABLE else time_ms
