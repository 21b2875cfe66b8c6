"""One turn of `benchmarks.gpu_worker`: a new broker and a new service with the loaded model, which reads the lines of a file.

Service, feed and engine are the worker's and the demo's own, with their defaults; only the sink is another. The feed is paced by commits
(`worker.cli.demo_feed`), because the embedded broker drops what exceeds 5 MB a partition.
"""

import threading
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.by_hand_ours import Looks
from benchmarks.null_sink import NullSink, NullTemplates
from benchmarks.own_pipeline import say_nothing
from producers.feed import FeedProgress
from producers.kafka import EmbeddedBroker, KafkaProducer
from sinks.row import TemplateRow
from worker.cli.demo_feed import TOPIC, index_lines
from worker.cli.run import BackgroundService
from worker.cli.screen import Screen
from worker.connections import open_connections
from worker.embedding.loaded import LoadedModel
from worker.service import Service
from worker.settings.settings import Settings, load_settings

_LOOK_S = 0.002
_ANSWER_S = 60.0


class Wrong(Exception):
    """The worker did other work than was asked for: a figure would be worth nothing."""


class KeptTemplates(NullTemplates):
    """Keeps the texts of templates in the order in which they came, and their vectors, so that the next worker finds them.

    Thread: any reads, one writes.
    """

    def __init__(self, *, gives_vectors: bool) -> None:
        self.kept: list[str] = []
        self._gives_vectors = gives_vectors
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def upsert(self, rows: Sequence[TemplateRow]) -> None:
        """Keep them."""
        self.kept += [row.text for row in rows]
        if self._gives_vectors:
            self._vectors.update((row.template, row.vector) for row in rows)

    def vectors(self, templates: Collection[str]) -> dict[str, NDArray[np.float32]]:
        """Return those that were kept."""
        return {template: self._vectors[template] for template in templates if template in self._vectors}


class TextSink(NullSink):
    """Keeps the texts of templates, and nothing else.

    Thread: one writes.
    """

    def __init__(self) -> None:
        templates = KeptTemplates(gives_vectors=False)
        super().__init__(templates)
        self.texts = templates.kept


class VectorSink(NullSink):
    """Keeps the vectors of templates, so that the next worker finds them, as after a restart; no lines.

    Thread: any reads, one writes.
    """

    def __init__(self) -> None:
        super().__init__(KeptTemplates(gives_vectors=True))


class Turn(NamedTuple):
    """What a service did with the lines of a file."""

    seconds: float
    """From the first record read until no line is open but those that wait for their block to fill."""
    lines: int
    templates: int
    """Texts that were embedded."""
    tokens: int
    """Of these texts."""
    cpu_s: float
    """Processor time of the stages' threads."""
    engine_share: float
    """Of the time: the engine was busy."""
    engine_idle_share: float
    """Of the looks that saw templates wait: the engine was idle."""


def engine_settings(engine: str) -> Settings:
    """Return the settings that choose the engine."""
    return load_settings(None, {"engine": {"name": engine}})


def turn_settings(bootstrap_servers: str, mask_mode: str) -> Settings:
    """Return a worker's defaults, and for Kafka what the demo sets because of the embedded broker."""
    kafka = {
        "bootstrap_servers": bootstrap_servers,
        "topic_epoch": "run1",
        "commit_interval_s": 0.2,
        "group_protocol": "consumer",
        "librdkafka": {"fetch.wait.max.ms": "10"},
    }
    flags: dict[str, Any] = {"topic": [{"name": TOPIC}], "kafka": kafka, "mask": {"mode": mask_mode}, "http": {"enabled": False}}
    return load_settings(None, flags)


def run_turn(model: LoadedModel, sink: NullSink, file: Path, lines: int, *, mask_mode: str) -> Turn:
    """Let a new service read a file into the sink. Raises Wrong, and CommandFailed if the service or the feed fails."""
    with closing(EmbeddedBroker()) as broker:
        settings = turn_settings(broker.bootstrap_servers, mask_mode)
        create_topics(settings)
        connections = replace(open_connections(settings, model, say=say_nothing), sink=sink)
        service, stop, fed = Service(settings, connections, say=say_nothing), threading.Event(), FeedProgress()
        background = BackgroundService(service, threading.Event())
        try:
            background.wait_opened()
            with ThreadPoolExecutor(1) as thread:
                watched = thread.submit(watch, service, lines, stop)
                try:
                    index_lines((str(file),), settings, background, fed, Screen(silent=True))
                finally:
                    stop.set()
        finally:
            background.end()
    seconds, shares = watched.result()
    outcomes, embedded = service.pipeline.log_ledger.tally, service.pipeline.embed.tally
    if outcomes["indexed"] != lines or outcomes["admitted"] != lines:
        raise Wrong(f"of {lines} lines became {dict(outcomes)}")
    cpu_s = sum(service.stage_seconds().values())
    return Turn(seconds, lines, embedded.templates, embedded.tokens, cpu_s, shares["engine_share"], shares["engine_idle_share"])


def create_topics(settings: Settings) -> None:
    """Create the topics: the embedded broker creates one when a client first asks for it."""
    producer = KafkaProducer(settings.kafka.bootstrap_servers, {}, say=say_nothing)
    for topic in (TOPIC, *settings.kafka.own_topics):
        producer.partition_count(topic, timeout_s=_ANSWER_S)
    producer.close(1.0)


def watch(service: Service, lines: int, stop: threading.Event) -> tuple[float, dict[str, float]]:
    """Look at a service until all lines are through or `stop` is set; return the seconds from the first record, and `Looks`' shares."""
    ledger, store, looks, began_s = service.pipeline.log_ledger, service.pipeline.store, Looks(service), 0.0
    while not stop.is_set():
        began_s = began_s or (time.perf_counter() if ledger.open_records else 0.0)
        if ledger.tally["indexed"] + store.waiting_lines >= lines:
            break
        looks.look()
        time.sleep(_LOOK_S)
    seconds = time.perf_counter() - began_s
    return seconds, looks.figures(seconds)
