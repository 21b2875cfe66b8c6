"""Topics with a line a second on each partition: how soon a line is acknowledged, and how few rows are left of it.

    python -m benchmarks.slow_topics [--partitions N …] [--seconds S] [--quick] [--json]

Caveats first. A real broker on the same machine, or `--kafka HOST:PORT`. The worker is its own pipeline with Milvus Lite in a new folder,
for each number of partitions one after the other; above 100 partitions a sink that keeps only the ids of its blocks stands in for Milvus.
A made-up engine gives the templates their vectors. Lines are synthetic, and each partition gets one at its own moment of the second. Of a
line, the time runs from the broker's timestamp until its block is acknowledged. Rows are counted 90 s after the last line, those that
were merged into others and are not deleted yet included.

JSON, by number of partitions: `lines`, `acknowledged_p50_s`, `acknowledged_p95_s`, `rows`, `lines_per_row`, `upkeep_share` (merging,
deleting and looking at earlier runs: seconds of a store thread, over the time that the lines took), `processor_share` (all threads of the
process over the same time).
"""

import argparse
import json
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.null_sink import NullSink
from benchmarks.own_pipeline import RunningPipeline, running_pipeline, say_nothing
from benchmarks.own_servers import Started, own_kafka
from benchmarks.safety_sides import made_up_model
from consumers.kafka.settings import KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription
from producers.kafka import KafkaProducer
from producers.log_feed import synthetic_lines
from sinks.block import Block, BlockId
from sinks.codec import decode_places
from sinks.milvus.settings import MilvusSettings
from sinks.milvus.sink import MilvusSink
from worker.connections import vector_space
from worker.embedding.loaded import LoadedModel
from worker.runtime.kafka_admin import KafkaAdmin
from worker.settings.settings import Settings, load_settings

PARTITIONS, QUICK_PARTITIONS = (12, 64, 1_000), (12,)
SECONDS, QUICK_SECONDS = 600, 60
AFTER_S = 90.0
"""From the last line until rows are counted: neighbours of a quiet partition are merged after a minute, inner ones deleted 20 s later."""
LITE_PARTITIONS = 100
"""With more the sink keeps only ids."""
_SEED, _START_MS, _POOL = 7, 1_700_000_000_000, 2_000
_WAIT_S = 60.0
_LOOK_S = 0.05


class Wrong(Exception):
    """Not every line was indexed once: the figures would be worth nothing."""


class Acknowledged:
    """How long lines took from the broker until their first block was acknowledged.

    Thread: any.
    """

    def __init__(self) -> None:
        self._ages_s: list[NDArray[np.floating[Any]]] = []

    def note(self, blocks: Sequence[Block]) -> None:
        """Note blocks that a sink has just acknowledged; merged ones hold lines that were acknowledged before."""
        now_ms = time.time() * 1e3
        self._ages_s += [np.asarray(now_ms - decode_places(one.places).kafka_time) / 1e3 for one in blocks if one.id.first == one.id.last]

    @property
    def ages_s(self) -> NDArray[np.float64]:
        """Of all lines so far: float64[n]."""
        joined: NDArray[np.float64] = np.concatenate([np.empty(0), *self._ages_s]).astype(np.float64)
        return joined


class LiteSink(MilvusSink):
    """Milvus Lite, and when it acknowledged what.

    Thread: as its own.
    """

    def __init__(self, settings: MilvusSettings, model: LoadedModel) -> None:
        super().__init__(settings, vector_space(model.space))
        self.acknowledged = Acknowledged()

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Write them, and note when that was done."""
        super().write_blocks(blocks, again=again)
        self.acknowledged.note(blocks)

    @property
    def rows(self) -> int:
        """How many blocks are stored."""
        return self.counts().blocks


class IdSink(NullSink):
    """Keeps the ids of its blocks, and when it acknowledged what.

    Thread: one writes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.acknowledged = Acknowledged()
        self._ids: set[BlockId] = set()

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        """Keep their ids."""
        super().write_blocks(blocks, again=again)
        self._ids.update(one.id for one in blocks)
        self.acknowledged.note(blocks)

    def delete_blocks(self, ids: Collection[BlockId]) -> None:
        """Forget them."""
        self._ids.difference_update(ids)

    @property
    def rows(self) -> int:
        """How many blocks are stored."""
        return len(self._ids)


class Measured(NamedTuple):
    """What was seen of one topic."""

    lines: int
    ages_s: NDArray[np.float64]
    rows: int
    upkeep_s: float
    processor_s: float
    wall_s: float


def measure(bootstrap_servers: str, partitions: int, *, seconds: int, after_s: float = AFTER_S) -> Measured:
    """Send a line a second to each partition, and count rows in the end. Raises Wrong."""
    topic = f"slow-{partitions}-{uuid.uuid4().hex[:8]}"
    KafkaAdmin(bootstrap_servers, {}).create_topic(topic, partitions=partitions, replication_factor=1)
    settings = load_settings(None, {"kafka": {"bootstrap_servers": bootstrap_servers}})
    model = made_up_model(settings)
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        lite = partitions <= LITE_PARTITIONS
        sink = LiteSink(MilvusSettings(uri=str(Path(name) / "index.db")), model) if lite else IdSink()
        with running_pipeline(settings, model, sink) as running, _reading(running, settings, topic):
            send(bootstrap_servers, topic, partitions, seconds=2)  # templates, and the assignment
            _wait_until(running, 2 * partitions)
            noted = len(sink.acknowledged.ages_s)
            upkeep_s, processor_s, began_s = running.pipeline.store.tally.upkeep_seconds, time.process_time(), time.monotonic()
            send(bootstrap_servers, topic, partitions, seconds=seconds)
            lines = (2 + seconds) * partitions
            _wait_until(running, lines)
            wall_s, spent_s = time.monotonic() - began_s, time.process_time() - processor_s
            upkeep_s = running.pipeline.store.tally.upkeep_seconds - upkeep_s
            running.crash.wait(after_s)
            ages_s, rows = sink.acknowledged.ages_s, sink.rows
    if running.errors or len(ages_s) != lines:
        raise Wrong(f"{len(ages_s)} lines of {lines} were acknowledged ({running.errors or 'no stage failed'})")
    return Measured(lines, ages_s[noted:], rows, upkeep_s, spent_s, wall_s)


@contextmanager
def _reading(running: RunningPipeline, settings: Settings, topic: str) -> Iterator[None]:
    kafka = KafkaSourceSettings(bootstrap_servers=settings.kafka.bootstrap_servers, group=f"bench-{uuid.uuid4().hex[:8]}")
    source = KafkaSource(kafka, Subscription(names=(topic,)), say=say_nothing)
    with running.polling(source, commit_interval_s=settings.kafka.commit_interval_s):
        yield


def _wait_until(running: RunningPipeline, lines: int) -> None:
    until_s = time.monotonic() + _WAIT_S
    while running.pipeline.store.tally.lines < lines:
        if running.crash.wait(_LOOK_S) or time.monotonic() > until_s:
            raise Wrong(f"{running.pipeline.store.tally.lines} lines of {lines} were indexed ({running.errors or 'time is up'})")


def send(bootstrap_servers: str, topic: str, partitions: int, *, seconds: int) -> None:
    """Send a line a second to each partition, each at its own moment of the second. Raises SystemExit if the broker takes one not."""
    texts = cycle(synthetic_lines(_SEED, _POOL, _START_MS))
    failed: list[str] = []
    producer = KafkaProducer(bootstrap_servers, {}, say=say_nothing)
    never, began_s = threading.Event(), time.monotonic()
    for number in range(seconds * partitions):
        never.wait(max(began_s + number / partitions - time.monotonic(), 0))
        delivered: Callable[[str | None], None] = lambda why: failed.append(why) if why else None  # noqa: E731
        producer.send(topic, value=next(texts), partition=number % partitions, delivered=delivered)
    if producer.flush(_WAIT_S) or failed:
        raise SystemExit(f"the broker did not take the lines: {failed[:1]}")
    producer.close(1.0)


def figures_of(one: Measured) -> dict[str, Any]:
    """Return what `--json` prints of one topic."""
    return {
        "lines": one.lines,
        "acknowledged_p50_s": round(float(np.percentile(one.ages_s, 50)), 3),
        "acknowledged_p95_s": round(float(np.percentile(one.ages_s, 95)), 3),
        "rows": one.rows,
        "lines_per_row": round(one.lines / max(one.rows, 1), 1),
        "upkeep_share": round(one.upkeep_s / one.wall_s, 4),
        "processor_share": round(one.processor_s / one.wall_s, 4),
    }


def show_table(figures: dict[str, dict[str, Any]], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{'partitions':<12}{'lines':>10}{'p50, s':>10}{'p95, s':>10}{'rows':>8}{'lines/row':>12}{'upkeep':>10}{'processor':>12}")
    for partitions, one in figures.items():
        times = f"{one['acknowledged_p50_s']:>10.3f}{one['acknowledged_p95_s']:>10.3f}"
        shares = f"{one['upkeep_share']:>10.1%}{one['processor_share']:>12.1%}"
        show(f"{partitions:<12}{one['lines']:>10,}{times}{one['rows']:>8,}{one['lines_per_row']:>12.1f}{shares}")


@contextmanager
def _broker(address: str | None) -> Iterator[Started]:
    if address:
        yield Started(address)
    else:
        with own_kafka() as started:
            yield started


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None) -> None:
    """Run every number of partitions, and show how lines fared."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--partitions", type=int, nargs="+", help=f"default: {PARTITIONS}")
    parser.add_argument("--seconds", type=int, help=f"how long lines arrive (default: {SECONDS})")
    parser.add_argument("--after", type=float, default=AFTER_S, metavar="S", help="seconds from the last line until rows are counted")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PARTITIONS} partitions, {QUICK_SECONDS} s")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="a broker to use, instead of one that is started; topics are created there")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args(arguments)
    seconds = chosen.seconds or (QUICK_SECONDS if chosen.quick else SECONDS)
    figures: dict[str, dict[str, Any]] = {}
    with _broker(chosen.kafka) as started:
        if not started.address:
            parser.error(f"no broker: {started.reason}")
        for partitions in chosen.partitions or (QUICK_PARTITIONS if chosen.quick else PARTITIONS):
            try:
                figures[str(partitions)] = figures_of(measure(started.address, partitions, seconds=seconds, after_s=chosen.after))
            except Wrong as error:
                sys.exit(f"{partitions} partitions: {error}")
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
