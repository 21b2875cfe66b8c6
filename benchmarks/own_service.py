"""A whole worker in this process, as in `vectail demo`: what benchmarks start where they measure the service and not its parts.

With `own_pipeline` the seam between benchmarks and the worker: settings for the embedded broker, its topics, the feed, a running service.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from benchmarks.own_pipeline import say_nothing
from producers.feed import Feeder, FeedProgress, FeedWindow
from producers.kafka import KafkaProducer
from worker.cli.run import BackgroundService
from worker.embedding.engine.engine import Engine
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.runtime.stage import Stage
from worker.service.service import Service
from worker.settings.settings import Settings

TOPIC = "logs"
FETCH_WAIT_MS = 10
"""The embedded broker does not wake a reader that waits for records; it looks again after this time."""
_TOPICS_S = 60.0


class KeptEngine:
    """An engine that outlives the service that closes it: loading vLLM takes 20 s.

    Thread: one at a time.
    """

    def __init__(self, engine: Engine) -> None:
        self.kept = engine
        self.name, self.dim, self.max_tokens, self.batch_tokens = engine.name, engine.dim, engine.max_tokens, engine.batch_tokens
        self.on_cpu = engine.on_cpu

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """Embed one batch."""
        return self.kept.embed(batch)

    def close(self) -> None:
        """Keep it."""


def broker_tables(bootstrap_servers: str) -> dict[str, object]:
    """Return the settings' tables `topic` and `kafka` for an embedded broker, as the demo sets them."""
    kafka = {
        "bootstrap_servers": bootstrap_servers,
        "topic_epoch": "e1",
        "commit_interval_s": 0.2,
        "group_protocol": "consumer",
        "librdkafka": {"fetch.wait.max.ms": str(FETCH_WAIT_MS)},
    }
    return {"topic": [{"name": TOPIC}], "kafka": kafka}


def create_topics(settings: Settings) -> None:
    """Create the topics: the embedded broker creates one when a client first asks for it."""
    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=say_nothing)
    for topic in (TOPIC, *settings.kafka.own_topics):
        producer.partition_count(topic, timeout_s=_TOPICS_S)
    producer.close(1.0)


@contextmanager
def in_background(service: Service) -> Iterator[BackgroundService]:
    """Run a service until the end of the block, and drain it."""
    background = BackgroundService(service, threading.Event())
    try:
        background.wait_opened()
        yield background
    finally:
        background.end()


@contextmanager
def fed(settings: Settings, service: Service, lists: Iterable[list[bytes]]) -> Iterator[FeedProgress]:
    """Feed the log topic on a thread, as far ahead as the embedded broker can hold, until the lines or the block end."""
    stop, failures, progress = threading.Event(), list[Exception](), FeedProgress()
    ledger = service.pipeline.indexing.ledger
    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=say_nothing, stopped=stop.is_set)
    window = FeedWindow(lambda: {place.partition: next_offset for place, next_offset in ledger.committed().items()})

    def body() -> None:
        Feeder(producer, TOPIC, progress=progress, pause=stop.wait, window=window).feed(iter(lists), refuse=lambda _line: None)

    feeder = Stage("feed", body, lambda _name, error: failures.append(error))
    feeder.start()
    try:
        yield progress
    finally:
        stop.set()
        feeder.join()
        producer.close(0.0)
    for failure in failures:
        raise failure
