"""The Kafka side of a scene, with a plain client: its topics and groups, what was sent, committed and answered.

It uses no product code, only what any client can see.
"""

import base64
import functools
import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from producers.envelope import DeadLetter, envelope
from tests.faults.group_offsets import WAIT_S, GroupOffsets
from tests.faults.records import BASE_MS, Content, Sent, content
from tests.faults.stranger import Protocol, Stranger
from tests.services.kafka import KafkaServer

PARTITIONS = 4
_LOOK_AGAIN_S = 0.05

Committed = Mapping[int, int]
"""Partition → next offset; 0 where nothing is committed."""


class Letter(NamedTuple):
    """A dead letter: the record's origin, and its original bytes, cut to what the topic accepts."""

    epoch: str
    partition: int
    offset: int
    value: bytes | None
    reason: str
    is_cut: bool


class Topics:
    """The topics and groups of one scene.

    Thread: the test's; `committed`, `ends` and `watermarks` any.
    """

    def __init__(self, kafka: KafkaServer, unique: Callable[[str], str]) -> None:
        self._server = kafka
        self.logs, self.queries = unique("logs"), unique("queries")
        self.replies, self.dead_letters = unique("replies"), unique("dead-letters")
        self.group, self.query_group = unique("group"), unique("query-group")
        self.partitions = PARTITIONS
        for name, partitions in ((self.logs, PARTITIONS), (self.queries, 1), (self.replies, 1), (self.dead_letters, 2)):
            kafka.create_topic(name, partitions)
        self._client: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500}
        # The producer learns of new partitions and of a re-created topic within a second.
        self._producer = Producer(self._client | {"acks": "all", "batch.num.messages": 20, "topic.metadata.refresh.interval.ms": 1000})
        self._admin = AdminClient(self._client)
        self._groups: dict[str, GroupOffsets] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._epochs: dict[str, str] = {}
        self.sent: list[Sent] = []
        self.earlier: list[Sent] = []
        """Records sent to deleted topics of the same name."""

    @property
    def bootstrap(self) -> str:
        return self._server.bootstrap

    def send(self, records: int, make: Callable[[int], Content] = content, *, partition: int | None = None) -> None:
        """Send the next records, to all partitions in turn or to one; return when the broker has all of them."""
        self._send(self._producer, records, make, partition)
        assert self._producer.flush(WAIT_S) == 0

    def send_transaction(self, records: int, make: Callable[[int], Content] = content, *, aborted: bool) -> None:
        """Send the next records in one transaction; an aborted one must leave no rows."""
        producer = Producer(self._client | {"transactional.id": f"{self.logs}-{uuid.uuid4().hex}"})
        producer.init_transactions(WAIT_S)
        producer.begin_transaction()
        if aborted:
            self._send(producer, records, lambda number: make(number)._replace(fate="dropped", entries=()), None)
            assert producer.flush(WAIT_S) == 0
            producer.abort_transaction(WAIT_S)
        else:
            self._send(producer, records, make, None)
            producer.commit_transaction(WAIT_S)

    def _send(self, producer: Producer, records: int, make: Callable[[int], Content], partition: int | None) -> None:
        epoch = self.epoch()
        for number in itertools.islice(self._numbers, records):
            time_ms, made = BASE_MS + number, make(number)
            place = number % self.partitions if partition is None else partition
            delivered = functools.partial(self._delivered, epoch, time_ms, made)
            producer.produce(self.logs, made.value, partition=place, timestamp=time_ms, on_delivery=delivered)
            producer.poll(0)

    def _delivered(self, epoch: str, time_ms: int, made: Content, error: object, message: Message) -> None:
        assert error is None, error
        self.sent.append(Sent(message.partition() or 0, message.offset() or 0, time_ms, made, epoch))

    def epoch(self) -> str:
        """Return the first 8 hex digits of the topic's current id."""
        if self.logs not in self._epochs:
            described = self._admin.describe_topics(TopicCollection([self.logs]), request_timeout=WAIT_S)[self.logs].result()
            self._epochs[self.logs] = base64.urlsafe_b64decode(f"{described.topic_id}==").hex()[:8]
        return self._epochs[self.logs]

    def make_anew(self) -> None:
        """Delete the topic with its committed offsets, and create it again, empty, under the same name."""
        self._admin.delete_topics([self.logs], operation_timeout=WAIT_S)[self.logs].result()
        until_s = time.monotonic() + WAIT_S
        while self.logs in self._admin.list_topics(timeout=WAIT_S).topics:
            assert time.monotonic() < until_s, f"{self.logs} is still there"
            time.sleep(_LOOK_AGAIN_S)
        self._server.create_topic(self.logs, self.partitions)
        before = self._epochs.pop(self.logs, "")
        self.earlier, self.sent = self.earlier + self.sent, []
        assert self.epoch() != before

    def add_partitions(self, more: int) -> None:
        """Add partitions to the topic, and return when they are writable; later records go to all of them."""
        self.partitions += more
        self._admin.create_partitions([NewPartitions(self.logs, self.partitions)], operation_timeout=WAIT_S)[self.logs].result()
        until_s = time.monotonic() + WAIT_S
        while len(self._producer.list_topics(self.logs, timeout=WAIT_S).topics[self.logs].partitions) < self.partitions:
            assert time.monotonic() < until_s, f"{self.logs} has no {self.partitions} partitions"

    def wait_without_members(self) -> None:
        """Return when both groups are empty: no member lives, and the sessions of killed ones have expired."""
        until_s = time.monotonic() + WAIT_S
        while any(self._members_of(group) for group in (self.group, self.query_group)):
            assert time.monotonic() < until_s, "a group still has members"
            time.sleep(_LOOK_AGAIN_S)

    def _members_of(self, group: str) -> int:
        try:
            return len(self._admin.describe_consumer_groups([group], request_timeout=WAIT_S)[group].result().members)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.GROUP_ID_NOT_FOUND:
                raise
            return 0

    def ends(self) -> dict[int, int]:
        """Return, for each partition, the next offset after the last record that this scene sent."""
        ends = dict.fromkeys(range(self.partitions), 0)
        for sent in list(self.sent):
            ends[sent.partition] = max(ends[sent.partition], sent.offset + 1)
        return ends

    def watermarks(self) -> dict[int, int]:
        """Return the broker's end of each partition, transaction markers included."""
        consumer = self._reader([])
        try:
            places = [TopicPartition(self.logs, partition) for partition in range(self.partitions)]
            return {place.partition: consumer.get_watermark_offsets(place, timeout=WAIT_S)[1] for place in places}
        finally:
            consumer.close()

    def committed(self, group: str | None = None) -> dict[int, int]:
        """Return the committed offsets of the workers' group; wait for a broker that is starting."""
        places = [TopicPartition(self.logs, partition) for partition in range(self.partitions)]
        return {place.partition: place.offset for place in self.offsets_of(group or self.group).of(places)}

    def offsets_of(self, group: str) -> GroupOffsets:
        """Return what asks for the committed offsets of a group: the same one each time."""
        with self._lock:
            if group not in self._groups:
                self._groups[group] = GroupOffsets(self._client, group)
            return self._groups[group]

    def letters(self) -> list[Letter]:
        """Return all dead letters, in no particular order."""
        return [_letter(message, self.logs) for message in self._read_all(self.dead_letters)]

    def send_letter(self, letter: DeadLetter, **headers: bytes) -> None:
        """Write a dead letter as whoever may write to the topic can; `headers` replace those of this name, with `_` for `.`."""
        shaped = envelope(letter, version="1", max_bytes=1_000_000)
        own = {name: headers.get(name.replace(".", "_"), content) for name, content in shaped.headers}
        self._producer.produce(self.dead_letters, shaped.value, headers={**own})
        assert self._producer.flush(WAIT_S) == 0

    def ask(self, value: bytes, *, reply_topic: str | None = None, sent_ms: int | None = None) -> bytes:
        """Send a query; returns its correlation id."""
        correlation_id = uuid.uuid4().bytes
        self._producer.produce(
            self.queries,
            value,
            headers=[("kafka_replyTopic", (reply_topic or self.replies).encode()), ("kafka_correlationId", correlation_id)],
            timestamp=sent_ms or int(time.time() * 1000),
        )
        assert self._producer.flush(WAIT_S) == 0
        return correlation_id

    def replies_to(self, asked: Iterable[bytes]) -> dict[bytes, Any]:
        """Wait until all these queries are answered; return the answers by correlation id."""
        missing = set(asked)
        answers: dict[bytes, Any] = {}
        consumer = self._reader([TopicPartition(self.replies, 0, 0)])
        until_s = time.monotonic() + WAIT_S
        try:
            while missing:
                assert time.monotonic() < until_s, f"{len(missing)} queries were not answered"
                message = consumer.poll(1.0)
                if message is not None and not message.error():
                    correlation_id = _headers(message)["kafka_correlationId"]
                    assert correlation_id not in answers, "a query was answered twice"
                    answers[correlation_id] = json.loads(message.value() or b"")
                    missing.discard(correlation_id)
        finally:
            consumer.close()
        return answers

    def stranger(self, protocol: Protocol = "classic") -> Stranger:
        """Let another member join the workers' group."""
        return Stranger(self._client, self.group, self.logs, protocol)

    def _reader(self, places: list[TopicPartition]) -> Consumer:
        consumer = Consumer(self._client | {"group.id": "nobody", "enable.auto.commit": False})
        consumer.assign(places)
        return consumer

    def _read_all(self, topic: str) -> list[Message]:
        consumer = self._reader([])
        try:
            partitions = consumer.list_topics(topic, timeout=WAIT_S).topics[topic].partitions
            places = [TopicPartition(topic, partition, 0) for partition in partitions]
            ends = {place.partition: consumer.get_watermark_offsets(place, timeout=WAIT_S)[1] for place in places}
            behind = {partition for partition, end in ends.items() if end}
            consumer.assign(places)
            messages: list[Message] = []
            while behind:  # to each partition's own end: a worker may add to the topic meanwhile
                message = consumer.poll(WAIT_S)
                assert message is not None, f"{len(messages)} records of {topic} arrived, up to {ends} are there"
                partition, offset = message.partition() or 0, message.offset() or 0
                if not message.error() and offset < ends[partition]:
                    messages.append(message)
                    if offset + 1 == ends[partition]:
                        behind.discard(partition)
            return messages
        finally:
            consumer.close()


def _headers(message: Message) -> dict[str, bytes]:
    headers = message.headers() or []
    assert isinstance(headers, list)
    return {name: value for name, value in headers if isinstance(value, bytes)}


def _letter(message: Message, topic: str) -> Letter:
    headers = _headers(message)
    assert headers["__connect.errors.topic"] == topic.encode()
    return Letter(
        headers["vectail.epoch"].decode(),
        int(headers["__connect.errors.partition"]),
        int(headers["__connect.errors.offset"]),
        message.value(),
        headers["vectail.reason"].decode(),
        "vectail.truncated" in headers,
    )
