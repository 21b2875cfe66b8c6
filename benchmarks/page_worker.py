"""The worker behind `benchmarks.page`: the whole service in this process, as in `vectail demo`, over an index that is there already."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from benchmarks.copies import copied
from producers.feed import FeedProgress, FeedWindow, feed
from producers.kafka import EmbeddedBroker, KafkaProducer
from worker.cli.options import worker_settings_or_fail
from worker.cli.run import BackgroundService, load_or_fail, open_service
from worker.connections import vector_space
from worker.runtime.listening import listen
from worker.runtime.stage import Stage
from worker.service import Service
from worker.settings.settings import Settings

INDEX = "index.db"
_TOPIC = "logs"
_EPOCH = "bench"
_TOPICS_S = 60.0

FillIndex = Callable[[Path, str], None]
"""Makes an index at a path, whose vectors are of the space with that name."""


class Running(NamedTuple):
    """A worker that answers."""

    url: str
    service: Service
    settings: Settings

    @property
    def lines(self) -> int:
        """How many lines it has indexed so far."""
        return self.service.pipeline.store.tally.lines


@contextmanager
def opened(folder: Path, fill_index: FillIndex) -> Iterator[Running]:
    """Let `fill_index` make the index in a new folder, start a worker on it, and drain it at the end."""
    with ExitStack() as stack:
        broker = EmbeddedBroker()
        stack.callback(broker.close)
        kafka: dict[str, object] = {
            "bootstrap_servers": broker.bootstrap_servers,
            "topic_epoch": _EPOCH,
            "commit_interval_s": 0.2,
            "librdkafka": {"fetch.wait.max.ms": "10"},
        }
        milvus = {"uri": str(folder / INDEX)}
        tables: dict[str, object] = {"topic": [{"name": _TOPIC}], "kafka": kafka, "milvus": milvus, "http": {"port": 0}}
        settings = worker_settings_or_fail(None, tables)
        model = load_or_fail(settings)
        fill_index(folder / INDEX, vector_space(model.space).id)
        _create_topics(settings)
        http = listen(settings.http)
        service = open_service(settings, model, say=lambda _line: None, http=http)
        background = BackgroundService(service, threading.Event())
        stack.callback(background.end)
        background.wait_opened()
        yield Running(http.url, service, settings)
        background.check()


@contextmanager
def fed(running: Running, texts: list[str]) -> Iterator[None]:
    """Feed copies of these texts with other digits, as fast as the worker takes them, until the end."""
    stop, failed = threading.Event(), list[Exception]()
    feeder = Stage("feed", lambda: _feed(running, texts, stop), lambda _name, error: failed.append(error))
    feeder.start()
    try:
        yield
    finally:
        stop.set()
        feeder.join()
    for error in failed:
        raise error


def _feed(running: Running, texts: list[str], stop: threading.Event) -> None:
    ledger = running.service.pipeline.log_ledger
    lists = ([text.encode() for text in copied(texts, copy)] for copy in count())
    producer = KafkaProducer(running.settings.kafka.bootstrap_servers, {}, say=lambda _line: None, stopped=stop.is_set)
    window = FeedWindow(lambda: {place.partition: next_offset for place, next_offset in ledger.committed().items()})
    try:
        feed(lists, producer, _TOPIC, progress=FeedProgress(), pause=stop.wait, refuse=lambda _line: None, window=window)
    finally:
        producer.close(1.0)


def _create_topics(settings: Settings) -> None:
    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=lambda _line: None)
    for topic in (_TOPIC, *settings.kafka.own_topics):
        producer.partition_count(topic, timeout_s=_TOPICS_S)
    producer.close(1.0)
