"""The services that `benchmarks.query_latency` queries, each with its own broker, folder and client process.

The worker's own code wires them, on threads of this process as in `vectail demo`. The FIFO side differs in two classes: its embed lane has
no urgency, and its batcher treats a query as one more log text. All else, caps included, is the same build.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from benchmarks.query_latency_client import FETCH_WAIT_MS, Client, Topics
from producers.feed import FeedProgress, FeedWindow, feed
from producers.kafka import EmbeddedBroker, KafkaProducer
from worker.cli.run import BackgroundService, open_service
from worker.embedding.batcher import Batch, Batcher
from worker.embedding.compute import Computed, EmbedBatch
from worker.embedding.engine.engine import Engine
from worker.embedding.handoff import BatchHandoff
from worker.embedding.loaded import LoadedModel
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.messages import EncodedQuery, EncodedTemplate
from worker.runtime.fair_share import FairQueue
from worker.runtime.lane import Lane
from worker.runtime.stage import Stage
from worker.service import Service
from worker.settings.settings import Settings
from worker.settings.topic_tables import TopicTable

_LOOK_S = 0.05
_FILL_S = 300.0
_TOPIC_S = 60.0
_TOPIC = "logs"
_DRAIN_S = 0.5
"""A service under load is abandoned, not drained: thousands of lines wait in it."""


class BatchTime(NamedTuple):
    """One batch in the engine."""

    started_s: float
    seconds: float
    queries: int
    log_tokens: int


class FifoLane(Lane[EncodedTemplate | EncodedQuery]):
    """Nothing is urgent.

    Thread: any.
    """

    def put(self, entries: Sequence[EncodedTemplate | EncodedQuery], *, urgent: bool = False) -> None:  # noqa: ARG002 - that is the difference
        """Add a list at the end."""
        super().put(entries)


class FifoBatcher(Batcher[EncodedQuery, EncodedTemplate]):
    """A query waits behind the log texts that arrived before it; no batch makes room for queries.

    Thread: one, the embed stage's.
    """

    def add_queries(self, queries: Sequence[EncodedQuery]) -> None:  # type: ignore[override]  # the stage gives lists
        """Queue queries as if they were log texts."""
        self.add_logs(queries)  # type: ignore[arg-type]  # told apart again in next_batch

    def next_batch(self) -> Batch[EncodedQuery, EncodedTemplate]:
        """Return the next batch in order of arrival."""
        mixed: list[EncodedQuery | EncodedTemplate] = [*super().next_batch().logs]
        queries = [entry for entry in mixed if isinstance(entry, EncodedQuery)]
        return Batch(queries, [entry for entry in mixed if isinstance(entry, EncodedTemplate)])

    def put_back(self, batch: Batch[EncodedQuery, EncodedTemplate]) -> None:
        """Undo the last `next_batch`."""
        super().put_back(Batch([], [*batch.queries, *batch.logs]))  # type: ignore[list-item]  # as in add_queries


class WatchedHandoff(BatchHandoff[EmbedBatch, Computed]):
    """Records how long each batch took.

    Thread: as `BatchHandoff`; `batches` any.
    """

    batches: list[BatchTime]

    def take_results(self) -> list[Computed]:
        """Take results, and record their times."""
        found = super().take_results()
        for batch, _, _, started_s, ended_s, *_ in found:
            tokens = sum(len(log.ids) for log in batch.logs)
            self.batches.append(BatchTime(started_s, ended_s - started_s, len(batch.queries), tokens))
        return found


class Kept:
    """An engine that outlives the service that closes it: loading vLLM takes 20 s.

    Thread: one.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.name, self.dim, self.max_tokens, self.batch_tokens = engine.name, engine.dim, engine.max_tokens, engine.batch_tokens

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """Embed."""
        return self._engine.embed(batch)

    def close(self) -> None:
        """Keep it."""


class Side(NamedTuple):
    """A running service and its client."""

    settings: Settings
    service: Service
    client: Client
    running: BackgroundService
    batches: list[BatchTime]

    @property
    def log_tokens(self) -> int:
        """Return how many tokens of log templates it has embedded."""
        return self.service.pipeline.embed.tally.tokens

    @property
    def waiting_texts(self) -> int:
        """Return how many texts wait for the engine."""
        return len(self.service.pipeline.embed.batcher)


@contextmanager
def opened(settings: Settings, model: LoadedModel, folder: Path, *, fifo: bool = False) -> Iterator[Side]:
    """Open a service on a new broker and a new folder; abandon it at the end, whatever waits in it."""
    with ExitStack() as stack:
        broker = EmbeddedBroker()
        stack.callback(broker.close)
        settings = _settings(settings, broker.bootstrap_servers, folder)
        _touch_topics(settings)
        service = open_service(settings, replace(model, engine=Kept(model.engine)), say=lambda _line: None)
        embed = service.pipeline.embed
        embed.handoff.__class__ = WatchedHandoff
        batches: list[BatchTime] = []
        embed.handoff.batches = batches  # type: ignore[attr-defined]  # it is one since the line above
        if fifo:
            embed.inlet.__class__ = FifoLane
            embed.batcher.__class__ = FifoBatcher
            embed.batcher._logs = FairQueue(size_of=lambda entry: len(entry.ids))  # noqa: SLF001 - one line for all, in which queries have no topic
        running = BackgroundService(service, threading.Event())
        stack.callback(running.end)
        running.wait_opened()
        client = Client(Topics(broker.bootstrap_servers, settings.kafka.query_topic, settings.kafka.reply_topic))
        stack.callback(client.close)
        yield Side(settings, service, client, running, batches)


def _settings(settings: Settings, bootstrap_servers: str, folder: Path) -> Settings:
    kafka = settings.kafka.model_copy(
        update={
            "bootstrap_servers": bootstrap_servers,
            "topic_epoch": "e1",
            "commit_interval_s": 0.2,
            "group_protocol": "consumer",
            "librdkafka": {"fetch.wait.max.ms": str(FETCH_WAIT_MS)},
        }
    )
    milvus = settings.milvus.model_copy(update={"uri": str(folder)})
    limits = settings.limits.model_copy(update={"drain_timeout_s": _DRAIN_S})
    return settings.model_copy(update={"topic": (TopicTable(name=_TOPIC),), "kafka": kafka, "milvus": milvus, "limits": limits})


def _touch_topics(settings: Settings) -> None:
    """Ask for the topic: the embedded broker creates it on first use."""
    kafka = settings.kafka
    producer = KafkaProducer(kafka.bootstrap_servers, {}, say=lambda _line: None)
    for topic in (_TOPIC, *kafka.own_topics):
        producer.partition_count(topic, timeout_s=_TOPIC_S)
    producer.close(1.0)


@contextmanager
def fed(side: Side, lines: Iterator[bytes]) -> Iterator[FeedProgress]:
    """Feed the log topic on a thread, as far ahead as the embedded broker can hold, until the lines or the block end."""
    stop = threading.Event()
    failures: list[Exception] = []
    count = FeedProgress()
    kafka, ledger = side.settings.kafka, side.service.pipeline.log_ledger
    producer = KafkaProducer(kafka.bootstrap_servers, {}, say=lambda _line: None, stopped=stop.is_set)
    window = FeedWindow(lambda: {partition.partition: next_offset for partition, next_offset in ledger.committed().items()})

    def body() -> None:
        feed(([line] for line in lines), producer, _TOPIC, progress=count, pause=stop.wait, refuse=lambda _line: None, window=window)

    feeder = Stage("feed", body, lambda _name, error: failures.append(error))
    feeder.start()
    try:
        yield count
    finally:
        stop.set()
        feeder.join()
        producer.close(0.0)
    for failure in failures:
        raise failure


def await_that(condition: Callable[[], bool], side: Side) -> None:
    """Wait for the condition. Raises CommandFailed if the service ends, SystemExit if it takes too long."""
    until_s = time.monotonic() + _FILL_S
    while not condition():
        side.running.check()
        if time.monotonic() > until_s:
            raise SystemExit("the service does not get there: is the machine too slow, or has it too little memory?")
        time.sleep(_LOOK_S)
