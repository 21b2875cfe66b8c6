"""One process of `benchmarks.poll_to_ready`: reads a topic through a worker's stages or with a bare loop, and prints what that took.

It is started with one JSON object as its argument, prints a line when it is about to begin, begins when it reads a line, and prints its
figures. So several can begin together.
"""

import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from benchmarks.null_sink import NullSink
from benchmarks.own_pipeline import running_pipeline, source_settings
from benchmarks.safety_sides import made_up_model
from consumers.kafka.settings import client_properties
from consumers.kafka.source import consumer_of
from sinks.block import Block
from worker.settings.settings import load_settings

_POLLED = 2_000
"""Messages that the bare loop asks for at once."""
_LOOK_S = 0.02


class Plan(NamedTuple):
    """What one process does; what `json` makes of it is its argument."""

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


def measure_ready(plan: Plan) -> dict[str, Any]:
    """Read the topic into blocks; the time ends when the last record is settled."""
    settings = load_settings(None, {"kafka": {"bootstrap_servers": plan.bootstrap_servers}})
    sink = YearSink()
    with running_pipeline(settings, made_up_model(settings), sink) as running:
        with running.reading(settings, plan.warm_topic):
            running.await_indexed(plan.warm_records, look_s=_LOOK_S)
        warm_blocks = sink.blocks
        sink.years.clear()
        busy = {name: meter.seconds for name, meter in running.pipeline.busy.items()}
        _await_start()
        with running.reading(settings, plan.topic) as source:
            ended = running.await_indexed(plan.warm_records + plan.records, look_s=_LOOK_S)
        indexed = running.pipeline.log_ledger.tally["indexed"] - plan.warm_records
    if indexed != plan.records or source.began is None:
        raise SystemExit(f"{indexed} of {plan.records} records are settled: no figure")
    stages = {name: running.pipeline.busy[name].seconds - before for name, before in busy.items()}
    return {
        "wall_s": ended.wall_s - source.began.wall_s,
        "cpu_s": ended.cpu_s - source.subscribed.cpu_s,
        "stage_s": stages,
        "blocks": sink.blocks - warm_blocks,
        "block_bytes": sink.block_bytes,
        "years": sorted(sink.years),
    }


def measure_bare(plan: Plan) -> dict[str, Any]:
    """Read the topic, look at what every record holds, and do nothing with it."""
    settings = source_settings(load_settings(None, {"kafka": {"bootstrap_servers": plan.bootstrap_servers}}))
    consumer = consumer_of({**client_properties(settings), "auto.offset.reset": "earliest", "enable.partition.eof": False})
    _await_start()
    began_cpu_s, began_s, read = time.process_time(), 0.0, 0
    consumer.subscribe([plan.topic])
    while read < plan.records:
        messages = consumer.consume(_POLLED, timeout=1.0)
        began_s = began_s or time.perf_counter()
        errors = [message.error() for message in messages]
        if any(errors):
            raise SystemExit(f"kafka: {next(filter(None, errors))}")
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


def _await_start() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def main() -> None:
    """Measure as told."""
    plan = Plan(**json.loads(sys.argv[1]))
    print(json.dumps(measure_bare(plan) if plan.is_bare else measure_ready(plan)), flush=True)


if __name__ == "__main__":
    main()
