"""The Kafka side of a scene, with a plain client: topics and groups of its own, what was sent, what is committed, who was answered.

Nothing here knows vectail; it is what anybody could see of it from outside.
"""

import itertools
import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

from tests.faults.records import BASE_MS, Content, Sent, content
from tests.services.kafka import KafkaServer

PARTITIONS = 4
WAIT_S = 60.0

Committed = Mapping[int, int]
"""Partition → next offset; 0 where nothing is committed."""


class Letter(NamedTuple):
    """A dead letter: where the record came from, and its original bytes."""

    partition: int
    offset: int
    value: bytes | None
    reason: str


class Topics:
    """The topics and groups of one scene.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, unique: Callable[[str], str]) -> None:
        self._server = kafka
        self.logs, self.queries = unique("logs"), unique("queries")
        self.replies, self.dead_letters = unique("replies"), unique("dead-letters")
        self.group, self.query_group = unique("group"), unique("query-group")
        for name, partitions in ((self.logs, PARTITIONS), (self.queries, 1), (self.replies, 1), (self.dead_letters, 2)):
            kafka.create_topic(name, partitions)
        self._client = {"bootstrap.servers": kafka.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 500}
        self._producer = Producer(self._client | {"acks": "all", "batch.num.messages": 20})
        self._numbers = itertools.count()
        self.sent: list[Sent] = []

    @property
    def bootstrap(self) -> str:
        return self._server.bootstrap

    def send(self, records: int, make: Callable[[int], Content] = content, *, partition: int | None = None) -> None:
        """Send the next records, all partitions in turn or to one; returns when the broker has all of them."""
        numbers = list(itertools.islice(self._numbers, records))
        for number in numbers:
            self._send(number, make(number), number % PARTITIONS if partition is None else partition)
        assert self._producer.flush(WAIT_S) == 0

    def _send(self, number: int, made: Content, partition: int) -> None:
        def delivered(error: object, message: Message) -> None:
            assert error is None, error
            self.sent.append(Sent(message.partition() or 0, message.offset() or 0, BASE_MS + number, made))

        self._producer.produce(self.logs, made.value, partition=partition, timestamp=BASE_MS + number, on_delivery=delivered)
        self._producer.poll(0)

    def ends(self) -> Committed:
        """Return the end of each partition, as far as this scene has sent."""
        return {p: sum(sent.partition == p for sent in self.sent) for p in range(PARTITIONS)}

    def committed(self, group: str | None = None) -> Committed:
        """Return what the workers' group has committed; asking does not join it, and waits for a broker that is just starting."""
        consumer = Consumer(self._client | {"group.id": group or self.group})
        until_s = time.monotonic() + WAIT_S
        try:
            while True:
                try:
                    places = consumer.committed([TopicPartition(self.logs, p) for p in range(PARTITIONS)], timeout=WAIT_S)
                except KafkaException as failure:
                    if time.monotonic() > until_s:
                        raise AssertionError(f"the group {group or self.group} cannot be asked") from failure
                else:
                    return {place.partition: max(place.offset, 0) for place in places}
        finally:
            consumer.close()

    def letters(self) -> list[Letter]:
        """Return every dead letter there is, in no particular order."""
        return [_letter(message, self.logs) for message in self._read_all(self.dead_letters)]

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
        """Wait until each of these queries is answered; returns the answers by correlation id."""
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

    def stranger(self) -> "Stranger":
        """Let another member join the workers' group."""
        return Stranger(self._client, self.group, self.logs)

    def _reader(self, places: list[TopicPartition]) -> Consumer:
        consumer = Consumer(self._client | {"group.id": "nobody", "enable.auto.commit": False})
        consumer.assign(places)
        return consumer

    def _read_all(self, topic: str) -> list[Message]:
        consumer = self._reader([])
        try:
            partitions = consumer.list_topics(topic, timeout=WAIT_S).topics[topic].partitions
            places = [TopicPartition(topic, partition, 0) for partition in partitions]
            there = sum(consumer.get_watermark_offsets(place, timeout=WAIT_S)[1] for place in places)
            consumer.assign(places)
            messages: list[Message] = []
            while len(messages) < there:
                message = consumer.poll(WAIT_S)
                assert message is not None, f"{len(messages)} of {there} records of {topic} arrived"
                if not message.error():
                    messages.append(message)
            return messages
        finally:
            consumer.close()


class Stranger:
    """Another member of the group: takes its share of the partitions, reads, stores nothing, commits nothing.

    Thread: the test's.
    """

    def __init__(self, client: Mapping[str, Any], group: str, topic: str) -> None:
        self.owned: set[int] = set()
        own = {"group.id": group, "enable.auto.commit": False, "partition.assignment.strategy": "cooperative-sticky"}
        self._consumer = Consumer({**client, **own, "session.timeout.ms": 10_000})
        self._consumer.subscribe([topic], on_assign=self._take, on_revoke=self._give, on_lost=self._give)

    def poll(self) -> None:
        """Stay a member."""
        message = self._consumer.poll(0.05)
        error = None if message is None else message.error()
        assert error is None or error.retriable(), error

    def leave(self) -> None:
        """Leave the group."""
        self._consumer.close()

    def _take(self, _consumer: Consumer, places: list[TopicPartition]) -> None:
        self.owned.update(place.partition for place in places)

    def _give(self, _consumer: Consumer, places: list[TopicPartition]) -> None:
        self.owned.difference_update(place.partition for place in places)


def _headers(message: Message) -> dict[str, bytes]:
    headers = message.headers() or []
    assert isinstance(headers, list)
    return {name: value for name, value in headers if isinstance(value, bytes)}


def _letter(message: Message, topic: str) -> Letter:
    headers = _headers(message)
    assert headers["__connect.errors.topic"] == topic.encode()
    return Letter(
        int(headers["__connect.errors.partition"]),
        int(headers["__connect.errors.offset"]),
        message.value(),
        headers["vectail.reason"].decode(),
    )
