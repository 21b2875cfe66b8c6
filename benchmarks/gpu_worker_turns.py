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
from typing import NamedTuple

from benchmarks.by_hand_ours import Looks
from benchmarks.null_sink import NullSink, NullTemplates
from benchmarks.own_pipeline import say_nothing
from benchmarks.own_service import broker_tables, create_topics, in_background
from benchmarks.race import Wrong
from producers.feed import FeedProgress
from producers.kafka import EmbeddedBroker
from sinks.row import TemplateId, TemplateRow, TemplateText, Vector
from worker.cli.demo_feed import index_lines
from worker.cli.screen import Screen
from worker.connections import open_connections, vector_space
from worker.embedding.loaded import LoadedModel
from worker.service.service import Service
from worker.settings.settings import load_settings

_LOOK_S = 0.002


class KeptTemplates(NullTemplates):
    """Keeps the texts of templates in the order in which they came, and their vectors, so that the next worker finds them.

    Thread: any reads, one writes.
    """

    def __init__(self, *, gives_vectors: bool) -> None:
        self.kept: list[TemplateText] = []
        self._gives_vectors = gives_vectors
        self._vectors: dict[TemplateId, Vector] = {}

    def upsert(self, rows: Sequence[TemplateRow]) -> None:
        """Keep them."""
        self.kept += [row.text for row in rows]
        if self._gives_vectors:
            self._vectors.update((row.template, row.vector) for row in rows)

    def vectors(self, templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
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


def run_turn(model: LoadedModel, sink: NullSink, file: Path, lines: int, *, mask_mode: str) -> Turn:
    """Let a new service read a file into the sink. Raises Wrong, and CommandFailed if the service or the feed fails."""
    with closing(EmbeddedBroker()) as broker:
        tables = broker_tables(broker.bootstrap_servers) | {"mask": {"mode": mask_mode}, "http": {"enabled": False}}
        settings = load_settings(None, tables)
        create_topics(settings)
        sink.space = vector_space(model.space)
        connections = replace(open_connections(settings, model, say=say_nothing), sink=sink)
        service, stop, progress = Service(settings, connections, say=say_nothing), threading.Event(), FeedProgress()
        with in_background(service) as background, ThreadPoolExecutor(1) as thread:
            watched = thread.submit(watch, service, lines, stop)
            try:
                index_lines((str(file),), background, progress, Screen(silent=True))
            finally:
                stop.set()
    seconds, shares = watched.result()
    outcomes, embedded = service.pipeline.indexing.ledger.tally, service.pipeline.embedder.tally
    if outcomes["indexed"] != lines or outcomes["admitted"] != lines:
        raise Wrong(f"of {lines} lines became {dict(outcomes)}")
    cpu_s = sum(service.stage_seconds().values())
    return Turn(seconds, lines, embedded.templates, embedded.tokens, cpu_s, shares["engine_share"], shares["engine_idle_share"])


def watch(service: Service, lines: int, stop: threading.Event) -> tuple[float, dict[str, float]]:
    """Look at a service until all lines are through or `stop` is set; return the seconds from the first record, and `Looks`' shares."""
    ledger, store, looks, began_s = service.pipeline.indexing.ledger, service.pipeline.indexing.store, Looks(service), 0.0
    while not stop.is_set():
        began_s = began_s or (time.perf_counter() if ledger.open_records else 0.0)
        if ledger.tally["indexed"] + store.waiting_lines >= lines:
            break
        looks.look()
        time.sleep(_LOOK_S)
    seconds = time.perf_counter() - began_s
    return seconds, looks.figures(seconds)
