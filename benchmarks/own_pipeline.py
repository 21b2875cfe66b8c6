"""A worker's pipeline without its service: what a benchmark starts to send records through every stage, with a sink of its choice.

Lanes, ledger and stages are the worker's own, wired by its own `Pipeline`; the benchmark polls with sources of its own.
"""

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from benchmarks.race import Wrong
from benchmarks.safety_sides import Moment, Watched
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.kafka.subscription import Subscription
from consumers.poller import Poller, PollerSettings
from consumers.source import Source
from producers import dead_letters, replies
from producers.dead_letters import TopicLetterBox
from producers.kafka import KafkaProducer
from producers.replies import ReplySender
from sinks.sink import Sink
from worker.connections import Connections
from worker.embedding.loaded import LoadedModel
from worker.runtime.process import collect_garbage_rarely
from worker.runtime.stage import Stage
from worker.runtime.surroundings import Surroundings
from worker.service.pipeline import Pipeline
from worker.settings.settings import Settings

_LEAVE_S = 10.0
_WAIT_S = 300.0


def source_settings(settings: Settings, group: str = "") -> KafkaSourceSettings:
    """Return the settings of a source, in a new group unless one is named."""
    kafka = settings.kafka
    return KafkaSourceSettings(
        bootstrap_servers=kafka.bootstrap_servers,
        group=group or f"bench-{uuid.uuid4().hex[:8]}",
        topic_epoch=kafka.topic_epoch,
        group_protocol=kafka.group_protocol,
    )


def say_nothing(_line: str) -> None:
    """Drop a line that a worker would log."""


class RunningPipeline(NamedTuple):
    """A pipeline whose stages run.

    Thread: the caller's.
    """

    pipeline: Pipeline
    crash: threading.Event
    """Set when a stage has failed."""
    errors: list[Exception]
    """What it failed with."""

    @contextmanager
    def polling(self, source: Source, *, commit_interval_s: float) -> Iterator[None]:
        """Poll a source into the pipeline; in the end, commit what is settled and leave the group."""
        poller = Poller(
            source=source,
            ledger=self.pipeline.indexing.ledger,
            deliver=self.pipeline.indexing.prepare_lane.put,
            settings=PollerSettings(commit_interval_s=commit_interval_s),
            say=say_nothing,
        )
        stage = Stage("poller-logs", poller.run, self._on_crash)
        stage.start()
        try:
            yield
        finally:
            poller.finish(commit=not self.errors)
            stage.join(_LEAVE_S)

    @contextmanager
    def reading(self, settings: Settings, topic: str) -> Iterator[Watched]:
        """Read a topic in a group of its own, as `polling` does."""
        source = Watched(source_settings(settings), Subscription(names=(topic,)), commits=True)
        with self.polling(source, commit_interval_s=settings.kafka.commit_interval_s):
            yield source

    def await_indexed(self, records: int, *, look_s: float) -> Moment:
        """Wait until that many records are settled, and return when that was seen. Raises Wrong."""
        ledger, until_s = self.pipeline.indexing.ledger, time.monotonic() + _WAIT_S
        while ledger.tally["indexed"] < records:
            if self.crash.wait(look_s) or time.monotonic() > until_s:
                raise Wrong(f"{ledger.tally['indexed']} of {records} records are settled ({self.errors or 'time is up'}): no figure")
        return Moment.now()

    def _on_crash(self, _stage: str, error: Exception) -> None:
        self.errors.append(error)
        self.crash.set()


@contextmanager
def running_pipeline(settings: Settings, model: LoadedModel, sink: Sink) -> Iterator[RunningPipeline]:
    """Open the sink and start every stage; end them all and close the sink afterwards. Nothing is drained."""
    collect_garbage_rarely()
    kafka, abandon = settings.kafka, threading.Event()
    dead_letter_producer = KafkaProducer(kafka.bootstrap_servers, dead_letters.PRODUCER_PROPERTIES, say=say_nothing)
    reply_producer = KafkaProducer(kafka.bootstrap_servers, replies.PRODUCER_PROPERTIES, say=say_nothing)
    connections = Connections(
        model=model,
        sink=sink,
        dead_letters=TopicLetterBox(dead_letter_producer, kafka.dead_letter_topic, version="benchmark", say=say_nothing),
        replies=ReplySender(reply_producer),
        reply_producer=reply_producer,
        connect_redis=None,
    )
    pipeline = Pipeline(settings, connections, None, Surroundings(pause=abandon.wait, is_abandoned=abandon.is_set))
    running = RunningPipeline(pipeline, threading.Event(), [])
    groups = pipeline.stages(running._on_crash)  # noqa: SLF001 - its own
    sink.open()
    for group in groups:
        for stage in group.stages:
            stage.start()
    try:
        yield running
    finally:
        for group in groups:
            for lane in group.inlets:
                lane.close()
        abandon.set()
        for group in groups:
            for stage in group.stages:
                stage.join(_LEAVE_S)
        for producer in connections.producers:
            producer.close(0.0)
        sink.close()
        pipeline.close()
