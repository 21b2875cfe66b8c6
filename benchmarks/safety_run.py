"""One run of the worker's path from Kafka to Milvus Lite, safe or unsafe, as `benchmarks.safety` compares them.

Poller, ledger, prepare, embed, store and sink are the worker's own (`benchmarks.own_pipeline`); what is not is in
`benchmarks.safety_sides`.
"""

import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.own_pipeline import running_pipeline
from benchmarks.safety_sides import AUTO_COMMIT, Moment, Watched, WithoutResume
from consumers.kafka.settings import KafkaSourceSettings
from sinks.milvus.sink import MilvusSink
from sinks.reading.counting import CountQuery
from worker.connections import vector_space
from worker.embedding.loaded import LoadedModel
from worker.settings.settings import Settings

_LOOK_S = 0.001
_WAIT_S = 300.0


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
    settings = settings.model_copy(update={"milvus": settings.milvus.model_copy(update={"uri": str(folder)})})
    sink = (MilvusSink if safe else WithoutResume)(settings.milvus, vector_space(model.space), consumer_group="benchmark")
    group_name = f"bench-{uuid.uuid4().hex[:8]}"
    source = Watched(_source(settings, group_name, safe=safe), settings.subscription, commits=safe)
    with running_pipeline(settings, model, sink) as running:
        pipeline = running.pipeline
        with running.polling(source, commit_interval_s=settings.kafka.commit_interval_s):
            ended = _await(lambda: pipeline.log_ledger.tally["indexed"] >= records, running.crash)
        began = source.began
        lines = 0 if running.errors else sum(row.lines for row in pipeline.reader.count(CountQuery()).rows)
    if running.errors or began is None:
        raise SystemExit(f"the run did not end: {running.errors or 'no record came'}")
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
