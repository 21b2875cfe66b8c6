"""One run of the worker's path from Kafka to Milvus Lite, safe or unsafe, as `benchmarks.safety` compares them.

Poller, ledger, prepare, embed, store and sink are the worker's own, wired by its own `Pipeline`, with producers and lanes; what is not is
in `benchmarks.safety_sides`.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.safety_sides import AUTO_COMMIT, Moment, Watched, WithoutResume
from consumers.kafka.settings import KafkaSourceSettings
from consumers.poller import Poller, PollerSettings
from producers import dead_letters, replies
from producers.dead_letters import DeadLetterSender
from producers.kafka import KafkaProducer
from producers.replies import ReplySender
from sinks.milvus.sink import MilvusSink
from sinks.reading.counting import CountQuery
from worker.connections import Connections, vector_space
from worker.embedding.loaded import LoadedModel
from worker.pipeline import Pipeline
from worker.runtime.stage import Stage
from worker.settings.settings import Settings

_LOOK_S = 0.001
_WAIT_S = 300.0
_LEAVE_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The measurements of one run."""

    wall_s: float
    """From the first records to the last acknowledgement, and the commit of it."""
    cpu_s: float
    lines: int
    """How many were stored at the end."""
    committed: int
    """Sum of the offsets that the worker itself has committed."""
    group: str


def run_once(settings: Settings, model: LoadedModel, *, records: int, safe: bool, folder: Path) -> Ran:
    """Read the topic from its beginning in a group of its own, into a new folder, until every record is settled."""
    crashed: list[Exception] = []
    crash = threading.Event()

    def on_crash(_stage: str, error: Exception) -> None:
        crashed.append(error)
        crash.set()

    kafka = settings.kafka
    settings = settings.model_copy(update={"milvus": settings.milvus.model_copy(update={"uri": str(folder)})})
    sink = (MilvusSink if safe else WithoutResume)(settings.milvus, vector_space(model.space), consumer_group="benchmark")
    dead_letter_producer = KafkaProducer(kafka.bootstrap_servers, dead_letters.PRODUCER_PROPERTIES, say=lambda _line: None)
    reply_producer = KafkaProducer(kafka.bootstrap_servers, replies.PRODUCER_PROPERTIES, say=lambda _line: None)
    dead_letter_sender = DeadLetterSender(dead_letter_producer, kafka.dead_letter_topic, version="benchmark", say=lambda _line: None)
    abandon = threading.Event()
    connections = Connections(
        model=model,
        sink=sink,
        dead_letters=dead_letter_sender,
        dead_letter_producer=dead_letter_producer,
        replies=ReplySender(reply_producer),
        reply_producer=reply_producer,
        connect_redis=None,
    )
    pipeline = Pipeline(settings, connections, None, say=lambda _line: None, abandon=abandon, at=lambda _point: None)
    group_name = f"bench-{uuid.uuid4().hex[:8]}"
    source = Watched(_source(settings, group_name, safe=safe), commits=safe)
    poller = Poller(
        source=source,
        ledger=pipeline.log_ledger,
        deliver=pipeline.prepare_lane.put,
        settings=PollerSettings(commit_interval_s=kafka.commit_interval_s),
        say=lambda _line: None,
    )
    polling = Stage("poller-logs", poller.run, on_crash)
    groups = pipeline.stages(on_crash)
    sink.open()
    for stage in [*(stage for group in groups for stage in group.stages), polling]:
        stage.start()
    try:
        ended = _await(lambda: pipeline.log_ledger.tally["indexed"] >= records, crash)
        began = source.began
        poller.finish(commit=True)
        polling.join(_LEAVE_S)
        lines = 0 if crashed else sum(row.lines for row in pipeline.reader.count(CountQuery()).rows)
    finally:
        poller.finish(commit=False)
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
    if crashed or began is None:
        raise SystemExit(f"the run did not end: {crashed or 'no record came'}")
    return Ran(
        wall_s=ended.wall_s - began.wall_s + source.commit_s,
        cpu_s=ended.cpu_s - began.cpu_s,
        lines=lines,
        committed=sum(source.accepted.values()),
        group=group_name,
    )


def _source(settings: Settings, group: str, *, safe: bool) -> KafkaSourceSettings:
    kafka = settings.kafka
    source = KafkaSourceSettings(
        bootstrap_servers=kafka.bootstrap_servers,
        group=group,
        topics=kafka.topics,
        topic_epoch=kafka.topic_epoch,
        group_protocol=kafka.group_protocol,
    )
    return source if safe else source.model_copy(update={"librdkafka": AUTO_COMMIT})  # unchecked: the settings refuse these properties


def _await(condition: Callable[[], bool], crash: threading.Event) -> Moment:
    until_s = time.monotonic() + _WAIT_S
    while not condition():
        if crash.wait(_LOOK_S) or time.monotonic() > until_s:
            break
    return Moment.now()
