"""A consumer that stands where it is put: at the end of a topic, or on a range of offsets. The one importer of the client here.

`consumers.groupless.replies` waits for replies with it; the tools read ranges of log topics and of dead letters. It joins no group and
commits nothing, so that it disturbs no worker.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from confluent_kafka import OFFSET_END, KafkaError, KafkaException, Message, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]  # exported, but not said so

from consumers.kafka.epochs import epoch_of
from consumers.kafka.message import record_of
from consumers.kafka.settings import admin_properties, groupless_properties
from consumers.kafka.source import consumer_of
from consumers.record import Partition, Record

_AT_ONCE: Final = 1_000
_POLL_S: Final = 0.2


class RangeUnreadable(Exception):
    """Kafka did not give what was asked of it; one line. The world's fault, or a topic that does not exist."""


class TopicUnknown(RangeUnreadable):
    """Kafka has no such topic; for the user to change."""


class OffsetRange(NamedTuple):
    """What a partition holds now."""

    first_offset: int
    """The oldest record that is still there."""
    end_offset: int
    """Behind the newest."""


class GrouplessReader:
    """A consumer without a group; every call is bounded by its time-out.

    Thread: one.
    """

    def __init__(self, bootstrap_servers: str, librdkafka: Mapping[str, str], *, topic_epoch: str | None = None) -> None:
        """`topic_epoch` stands for every topic; None: the first 8 hex digits of Kafka's topic id. Raises SourceMisconfigured."""
        self._consumer = consumer_of(groupless_properties(bootstrap_servers, librdkafka))
        self._admin_properties = admin_properties(bootstrap_servers, librdkafka)
        self._topic_epoch = topic_epoch

    def assign_at_end(self, topic: str, timeout_s: float) -> str | None:
        """Read every partition of `topic` from its end; the reason in one line if that cannot be done."""
        try:
            places = [TopicPartition(*partition) for partition in self.partitions(topic, timeout_s)]
            for place in places:
                place.offset = self.bounds(Partition(topic, place.partition), timeout_s).end_offset
        except RangeUnreadable as error:
            return str(error)
        self._consumer.assign(places)
        return None

    def poll(self, timeout_s: float) -> Record | None:
        """Return the next record, if one comes in time."""
        message = self._consumer.poll(timeout_s)
        return None if message is None or message.error() else record_of(message, {str(message.topic()): ""})

    def partitions(self, topic: str, timeout_s: float) -> list[Partition]:
        """Return the partitions of a topic, in order. Raises RangeUnreadable; a topic that is not there is one reason."""
        try:
            found = self._consumer.list_topics(topic, timeout=timeout_s).topics[topic]
        except KafkaException as error:
            raise RangeUnreadable(str(error.args[0].str())) from None
        if not found.partitions:
            raise TopicUnknown(f"topic {topic} does not exist (`vectail topics init` creates it)")
        return [Partition(topic, number) for number in sorted(found.partitions)]

    def bounds(self, partition: Partition, timeout_s: float) -> OffsetRange:
        """Ask which offsets a partition holds now. Raises RangeUnreadable."""
        try:
            first_offset, end_offset = self._consumer.get_watermark_offsets(TopicPartition(*partition), timeout=timeout_s)
        except KafkaException as error:
            raise RangeUnreadable(str(error.args[0].str())) from None
        return OffsetRange(first_offset, end_offset)

    def offset_at(self, partition: Partition, time_ms: int, timeout_s: float) -> int:
        """Return the offset of the first record that is not older than `time_ms`, or the end offset. Raises RangeUnreadable."""
        try:
            (found,) = self._consumer.offsets_for_times([TopicPartition(*partition, time_ms)], timeout=timeout_s)
        except KafkaException as error:
            raise RangeUnreadable(str(error.args[0].str())) from None
        if found.error is not None:
            raise RangeUnreadable(str(found.error.str()))
        return self.bounds(partition, timeout_s).end_offset if found.offset in (OFFSET_END, -1) else int(found.offset)

    def epoch(self, topic: str, timeout_s: float) -> str:
        """Return what tells a re-created topic from its predecessor, as in the row ids. Raises RangeUnreadable."""
        if self._topic_epoch is not None:
            return self._topic_epoch
        admin = AdminClient({**self._admin_properties, "log_level": 0})  # its answers end with it
        asked = admin.describe_topics(TopicCollection([topic]), request_timeout=timeout_s)
        try:
            return epoch_of(asked[topic].result().topic_id)
        except KafkaException as error:
            raise RangeUnreadable(f"the id of topic {topic} cannot be read ({error.args[0].str()})") from None

    def is_compacted(self, topic: str, timeout_s: float) -> bool | None:
        """Ask whether Kafka removes single records of a topic; None if it does not say, or not to us."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        admin = AdminClient({**self._admin_properties, "log_level": 0})
        try:
            policy = admin.describe_configs([resource], request_timeout=timeout_s)[resource].result().get("cleanup.policy")
        except KafkaException:
            return None
        return None if policy is None else "compact" in str(policy.value)

    def read(self, partition: Partition, first_offset: int, end_offset: int, *, epoch: str, timeout_s: float) -> Iterator[list[Record]]:
        """Yield lists of the records of one partition from `first_offset` up to before `end_offset`, in order; offsets may have gaps.

        Raises RangeUnreadable when nothing came for `timeout_s`, or when `first_offset` is not there any more.
        """
        if first_offset >= end_offset:
            return
        self._consumer.assign([TopicPartition(*partition, first_offset)])
        try:
            yield from self._until(end_offset, {partition.topic: epoch}, timeout_s)
        finally:
            self._consumer.unassign()

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()

    def _until(self, end_offset: int, epochs: Mapping[str, str], timeout_s: float) -> Iterator[list[Record]]:
        quiet_until_s = time.monotonic() + timeout_s
        while True:
            messages = self._consumer.consume(1, timeout=_POLL_S)  # for more it would wait until all have come
            messages += self._consumer.consume(_AT_ONCE - 1, timeout=0)
            records: list[Record] = []
            for message in messages:
                if _ends(message, end_offset):
                    if records:
                        yield records
                    return
                if message.error() is None:
                    records.append(record_of(message, epochs))
            if records:
                yield records
                quiet_until_s = time.monotonic() + timeout_s
            elif time.monotonic() >= quiet_until_s:
                raise RangeUnreadable(f"kafka gave no record for {timeout_s:g} s")


def _ends(message: Message, end_offset: int) -> bool:
    """Say whether nothing before `end_offset` comes after this message. Raises RangeUnreadable for an error that does not pass."""
    error = message.error()
    if error is None or error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's public codes
        return int(message.offset() or 0) >= end_offset
    if error.fatal() or not error.retriable():
        raise RangeUnreadable(str(error.str()))
    return False
