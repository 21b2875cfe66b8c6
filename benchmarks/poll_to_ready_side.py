"""One process of `benchmarks.poll_to_ready`: reads a topic through a worker's stages or with a bare loop, and says what that took.

Opened, it has learnt the templates; it begins when it is asked, so that several can begin together.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any, NamedTuple

from benchmarks.null_sink import NullSink
from benchmarks.own_pipeline import RunningPipeline, running_pipeline, source_settings
from benchmarks.race import Wrong
from benchmarks.rivals.own_process import Opened
from benchmarks.safety_sides import made_up_model
from consumers.kafka.kafka_source import consumer_of
from consumers.kafka.source_settings import client_properties
from sinks.block import Block
from worker.settings.settings import Settings, load_settings

_POLLED = 2_000
"""Messages that the bare loop asks for at once."""
_LOOK_S = 0.02


class Plan(NamedTuple):
    """What one process does."""

    bootstrap_servers: str
    is_bare: bool
    warm_topic: str
    """Holds every template; read before anything is measured."""
    warm_records: int
    topic: str
    records: int


class YearSink(NullSink):
    """Notes in which years blocks begin and end, by the times of their lines.

    Thread: any.
    """

    def __init__(self) -> None:
        super().__init__()
        self.years: set[int] = set()

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Acknowledge."""
        super().write_blocks(blocks, again=again)
        self.years.update(datetime.fromtimestamp(ms / 1000, UTC).year for one in blocks for ms in (one.first_ms, one.last_ms))


def open_side(plan: Plan) -> Opened:
    """Read what must be known; the answer is the figures of the topic."""
    settings = load_settings(None, {"kafka": {"bootstrap_servers": plan.bootstrap_servers}})
    if plan.is_bare:
        return Opened({}, lambda _go: measure_bare(plan, settings))
    sink, stack = YearSink(), ExitStack()
    running = stack.enter_context(running_pipeline(settings, made_up_model(settings), sink))
    with running.reading(settings, plan.warm_topic):
        running.await_indexed(plan.warm_records, look_s=_LOOK_S)

    def measure(_go: object) -> dict[str, Any]:
        with stack:
            return measure_ready(plan, settings, running, sink)

    return Opened({}, measure)


def measure_ready(plan: Plan, settings: Settings, running: RunningPipeline, sink: YearSink) -> dict[str, Any]:
    """Read the topic into blocks; the time ends when the last record is settled. Raises Wrong."""
    warm_blocks = sink.blocks
    sink.years.clear()
    busy = {name: meter.seconds for name, meter in running.pipeline.busy.items()}
    with running.reading(settings, plan.topic) as source:
        ended = running.await_indexed(plan.warm_records + plan.records, look_s=_LOOK_S)
    indexed = running.pipeline.indexing.ledger.tally["indexed"] - plan.warm_records
    if indexed != plan.records or source.began is None:
        raise Wrong(f"{indexed} of {plan.records} records are settled: no figure")
    return {
        "wall_s": ended.wall_s - source.began.wall_s,
        "cpu_s": ended.cpu_s - source.subscribed.cpu_s,
        "stage_s": {name: running.pipeline.busy[name].seconds - before for name, before in busy.items()},
        "blocks": sink.blocks - warm_blocks,
        "years": sorted(sink.years),
    }


def measure_bare(plan: Plan, settings: Settings) -> dict[str, Any]:
    """Read the topic, look at what every record holds, and do nothing with it. Raises Wrong."""
    consumer = consumer_of({**client_properties(source_settings(settings)), "auto.offset.reset": "earliest", "enable.partition.eof": False})
    began_cpu_s, began_s, read = time.process_time(), 0.0, 0
    consumer.subscribe([plan.topic])
    while read < plan.records:
        messages = consumer.consume(_POLLED, timeout=1.0)
        began_s = began_s or time.perf_counter()
        errors = [message.error() for message in messages]
        if any(errors):
            raise Wrong(f"kafka: {next(filter(None, errors))}")
        columns = (
            [message.value() for message in messages],
            [message.key() for message in messages],
            [message.headers() for message in messages],
            [message.partition() for message in messages],
            [message.offset() for message in messages],
            [message.timestamp() for message in messages],
        )
        read += len(columns[0])
    figures = {"wall_s": time.perf_counter() - began_s, "cpu_s": time.process_time() - began_cpu_s}
    consumer.close()
    return figures
