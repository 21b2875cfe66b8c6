"""A whole service on an embedded broker: real pollers, lanes, stages and producers; engine and (mostly) sink are fakes.

What a service has committed is read with a client of its own, after the service has ended.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, Message, TopicPartition

from producers import dead_letters, replies
from producers.dead_letters import TopicLetterBox
from producers.kafka import EmbeddedBroker, KafkaProducer, OutgoingRecord
from producers.replies import ReplySender
from sinks.line import Line
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from sinks.sink import Sink
from tests.fakes.engine import FakeEngine
from tests.fakes.sink import FakeSink
from tests.log_topics import log_topics
from tests.worker.chain_values import golden_of
from worker.cli.query_client import QueryClient
from worker.connections import Connections, open_registry, tracing_of, vector_space
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import LoadedModel, space_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.tokenizer import Tokenizer
from worker.runtime.listening import Listening
from worker.runtime.stage import Crash, Stage
from worker.service.service import Service
from worker.service.shutdown import Ending
from worker.settings.service_tables import LimitTable
from worker.settings.settings import Settings
from worker.settings.tables import IndexTable, KafkaTable

WAIT_S = 60.0
PARTITIONS = 4
FLUSH_S = 0.02
"""How long a line waits for others before it is written."""
_LOOK_AGAIN_S = 0.01
_numbers = itertools.count()


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that sets no event."""
    until_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < until_s, f"waited {WAIT_S:g} s for {what}"
        threading.Event().wait(_LOOK_AGAIN_S)


class Ended:
    """A service that runs on a thread of its own until it ends.

    Thread: the test's.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.error: Exception | None = None
        self._ending: Ending | None = None
        self._stage = Stage("service", self._run, self._on_crash)
        self._stage.start()

    def opened(self) -> "Ended":
        assert self.service.opened.wait(WAIT_S)
        return self

    def join(self) -> None:
        """Wait for the end."""
        self._stage.join(WAIT_S)
        assert not self._stage.is_alive(), "the service does not end"

    def wait(self) -> Ending:
        """Wait for the end."""
        self.join()
        if self.error is not None:
            raise self.error
        assert self._ending is not None
        return self._ending

    def stop(self) -> Ending:
        """Drain."""
        self.service.stop()
        return self.wait()

    def _run(self) -> None:
        self._ending = self.service.run()

    def _on_crash(self, _stage: str, error: Exception) -> None:
        self.error = error


class World:
    """A broker, topics of its own, and what the services of one test share: engine, sink, groups.

    Thread: the test's.
    """

    def __init__(self, model: PreparedModel, words: Tokenizer) -> None:
        self.broker = EmbeddedBroker()
        self.sink: Sink = FakeSink()
        self.connect_redis: Callable[[Crash], RedisCache] | None = None
        self.http: Listening | None = None
        """Where the next service answers over HTTP."""
        self.said: list[str] = []
        self.engine = FakeEngine()
        self.spare_engines: list[FakeEngine] = []
        """What is there when the service wants a new engine."""
        self._model = model
        self._words = words
        self._number = next(_numbers)
        self._running: list[Ended] = []
        self._producer = KafkaProducer(self.broker.bootstrap_servers, {}, say=self.said.append)
        self.kafka = KafkaTable(
            bootstrap_servers=self.broker.bootstrap_servers,
            group=f"logs-{self._number}",
            query_topic=f"queries-{self._number}",
            query_group=f"queries-{self._number}",
            reply_topic=f"replies-{self._number}",
            dead_letter_topic=f"dead-{self._number}",
            topic_epoch="e1",
            group_protocol="consumer",
            commit_interval_s=0.1,
        )
        for topic in (self.topic, *self.kafka.own_topics):
            self._producer.partition_count(topic, timeout_s=WAIT_S)

    @property
    def topic(self) -> str:
        """Where the lines are."""
        return f"logs-{self._number}"

    @property
    def fake_sink(self) -> FakeSink:
        """The sink, where it is a fake."""
        assert isinstance(self.sink, FakeSink)
        return self.sink

    def settings(self, *, kafka: dict[str, Any] | None = None, drain_s: float = 30.0, **tables: Any) -> Settings:  # noqa: ANN401
        """Return settings for this world; `tables` replace whole tables."""
        changed = KafkaTable(**(self.kafka.model_dump() | (kafka or {})))
        usual = {"limits": LimitTable(drain_timeout_s=drain_s), "index": IndexTable(flush_s=FLUSH_S)}
        return Settings(kafka=changed, **(usual | {"topic": log_topics(self.topic)} | tables))

    def _another_engine(self) -> FakeEngine:
        if not self.spare_engines:
            raise ModelError("no other engine can be made")
        return self.spare_engines.pop(0)

    def connections(self, settings: Settings) -> Connections:
        """Connect to everything."""
        self.engine = FakeEngine()
        model = LoadedModel(
            prepared=self._model,
            space=space_of(self._model),
            engine=self.engine,
            golden=golden_of(self.engine, self._words),
            new_engine=self._another_engine,
        )
        if isinstance(self.sink, FakeSink):
            self.sink.belong_to(vector_space(model.space))
        servers = settings.kafka.bootstrap_servers
        self.dead_letter_producer = KafkaProducer(servers, dead_letters.PRODUCER_PROPERTIES, say=self.said.append)
        reply_producer = KafkaProducer(servers, replies.PRODUCER_PROPERTIES, say=self.said.append)
        return Connections(
            model=model,
            sink=self.sink,
            dead_letters=TopicLetterBox(self.dead_letter_producer, settings.kafka.dead_letter_topic, version="test", say=self.said.append),
            replies=ReplySender(reply_producer),
            reply_producer=reply_producer,
            connect_redis=self.connect_redis,
            registry=open_registry(settings.registry),
            http=self.http,
            tracing=tracing_of(settings, self.said.append),
        )

    def start(self, settings: Settings | None = None) -> Ended:
        """Start a service; `close` stops those that a test has left running."""
        chosen = settings or self.settings()
        self._running.append(Ended(Service(chosen, self.connections(chosen), say=self.said.append)))
        return self._running[-1]

    def send(self, lines: Iterable[str | bytes], *, partition: int = 0) -> None:
        """Send lines and wait for the broker."""
        failed: list[str] = []
        for line in lines:
            value = line.encode() if isinstance(line, str) else line
            self._producer.send(
                self.topic, OutgoingRecord(value, partition=partition), delivered=lambda reason: failed.append(reason) if reason else None
            )
        assert self._producer.flush(WAIT_S) == 0
        assert failed == []

    def ask(self, *requests: dict[str, object]) -> list[dict[str, Any]]:
        """Ask over Kafka, one after the other."""
        client = QueryClient(self.kafka)
        try:
            return [client.ask(request, timeout_s=WAIT_S) for request in requests]
        finally:
            client.close()

    def committed(self, topic: str | None = None, group: str | None = None) -> int:
        """Return the sum of a group's committed offsets, over all partitions; those of the logs unless told otherwise."""
        client = Consumer({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0, "group.id": group or self.kafka.group})
        try:
            places = [TopicPartition(topic or self.topic, partition) for partition in range(PARTITIONS)]
            return sum(max(place.offset, 0) for place in client.committed(places, timeout=WAIT_S))
        finally:
            client.close()

    def dead_letters(self, count: int) -> list[dict[str, bytes]]:
        """Return headers and `value` of all dead letters; waits for `count`, and a moment for one too many."""
        client = Consumer(
            {"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0, "group.id": "reader", "auto.offset.reset": "earliest"}
        )
        try:
            client.assign([TopicPartition(self.kafka.dead_letter_topic, partition, 0) for partition in range(PARTITIONS)])
            found: list[Message] = []
            while len(found) < count:
                more = client.consume(count - len(found), WAIT_S)
                assert more, f"{len(found)} of {count} dead letters"
                found += more
            found += client.consume(1, 0.5)
            return [dict(cast("list[tuple[str, bytes]]", m.headers())) | {"value": cast("bytes", m.value())} for m in found]
        finally:
            client.close()

    def lines(self, topic: str | None = None) -> list[Line]:
        """Return what a reader gets of a topic, in the order of partition and offset; the logs unless told otherwise."""
        reader = BlockReader(opened_copy(self.sink) if isinstance(self.sink, FakeSink) else self.sink)
        found = [
            reader.lines_between(RecordRange(topic or self.topic, partition, 0, 1 << 62), strong=True) for partition in range(PARTITIONS)
        ]
        assert all(one.complete for one in found)
        return [line for one in found for line in one.lines]

    def stored(self, topic: str | None = None) -> list[str]:
        """Return the texts of a topic in the sink, in the order of partition and offset; of the logs unless told otherwise."""
        return [line.text or "" for line in self.lines(topic)]

    def close(self) -> None:
        """End everything."""
        if isinstance(self.sink, FakeSink):
            self.sink.gate.set()
        for running in self._running:
            running.service.stop()
        for running in self._running:
            running.join()
        self._producer.close(0.0)
        self.broker.close()


def opened_copy(sink: FakeSink) -> FakeSink:
    """Return a sink that holds what this one holds now: it can be read when the other is closed, and leaves no trace in its calls."""
    copy = FakeSink()
    copy.blocks = dict(sink.blocks)
    copy.is_open = True
    return copy


def lines_of(count: int) -> Sequence[str]:
    """Return lines of seven templates."""
    words = ("disk", "network", "login", "memory", "battery", "printer", "camera")
    return [f"{words[number % len(words)]} failed after {number} s" for number in range(count)]
