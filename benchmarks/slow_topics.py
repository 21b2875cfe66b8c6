"""Topics with a line a second on each partition: how soon a line is acknowledged, and how few rows are left of it.

    python -m benchmarks.slow_topics [--partitions N …] [--seconds S] [--quick] [--json]

Caveats first. A real broker on the same machine, or `--kafka HOST:PORT`. The worker is its own pipeline with Milvus Lite in a new folder,
for each number of partitions one after the other; above 200 partitions a sink that keeps only the ids of its blocks stands in for Milvus.
A made-up engine gives the templates their vectors. Lines are synthetic, sent by a process of its own, and each partition gets one at its
own moment of the second. Of a line, the time runs from the producer's timestamp (its linger included) until its block is acknowledged.
Rows are counted at the last line and 90 s later, those that were merged into others and are not deleted yet included. Lines in Milvus are
counted too: a lost one, or a sender that falls behind, ends the program without figures.

JSON, by number of partitions: `lines`, `acknowledged_p50_s`, `acknowledged_p95_s`, `rows_at_end` (at the last line), `rows` and
`lines_per_row` (90 s later), `upkeep_share` (merging, deleting and looking at earlier runs: seconds of a store thread, over the time that
the lines took), `upkeep_after_share` (the same, over the 90 s), `processor_share` (all threads of the process while lines arrived).
"""

import tempfile
import time
import uuid
from argparse import Namespace
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.null_sink import NullSink
from benchmarks.own_pipeline import RunningPipeline, running_pipeline
from benchmarks.own_servers import some_kafka
from benchmarks.program import KAFKA, Figures, option, program
from benchmarks.race import Wrong
from benchmarks.safety_sides import Moment, made_up_model
from benchmarks.send import at_rate, send
from producers.log_feed import synthetic_lines
from sinks.block import Block, BlockId
from sinks.codec import decode_places
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.reading.counting import CountQuery
from worker.connections import vector_space
from worker.embedding.loaded import LoadedModel
from worker.runtime.kafka_admin import KafkaAdmin
from worker.settings.settings import load_settings

PARTITIONS, QUICK_PARTITIONS = (12, 64, 1_000), (12,)
SECONDS, QUICK_SECONDS = 600, 150
"""A partition has a line a second, and the goal is 100 lines a row."""
AFTER_S = 90.0
"""From the last line until rows are counted: neighbours of a quiet partition are merged after a minute, inner ones deleted 20 s later."""
LITE_PARTITIONS = 200
"""With more the sink keeps only ids."""
_MOST_SENDING = 1.05
"""Of the time that sending should take."""
_SEED, _START_MS, _POOL = 7, 1_700_000_000_000, 2_000
_WAIT_S = 60.0
_LOOK_S = 0.05


class Acknowledged:
    """How long lines took from the producer's timestamp until their first block was acknowledged.

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


def measure_topic(bootstrap_servers: str, partitions: int, *, seconds: int, after_s: float = AFTER_S) -> Figures:
    """Send a line a second to each partition, and count rows in the end. Raises Wrong."""
    topic = f"slow-{partitions}-{uuid.uuid4().hex[:8]}"
    KafkaAdmin(bootstrap_servers, {}).create_topic(topic, partitions=partitions, replication_factor=1)
    settings = load_settings(None, {"kafka": {"bootstrap_servers": bootstrap_servers}})
    model = made_up_model(settings)
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        lite = partitions <= LITE_PARTITIONS
        sink = LiteSink(MilvusSettings(uri=str(Path(name) / "index.db")), model) if lite else IdSink()
        with (
            running_pipeline(settings, model, sink) as running,
            running.reading(settings, topic),
            ProcessPoolExecutor(1, get_context("spawn")) as sender,
        ):
            tally, lines = running.pipeline.indexing.store.tally, (2 + seconds) * partitions
            sender.submit(send_slowly, bootstrap_servers, topic, partitions, 2).result()  # templates, and the assignment
            _wait_until(running, 2 * partitions)
            noted, before_s, began = len(sink.acknowledged.ages_s), tally.upkeep_seconds, Moment.now()
            sent_s = sender.submit(send_slowly, bootstrap_servers, topic, partitions, seconds).result()
            _wait_until(running, lines)
            ended, upkeep_s, rows_at_end = Moment.now(), tally.upkeep_seconds - before_s, sink.rows
            running.crash.wait(after_s)
            ages_s, rows = sink.acknowledged.ages_s, sink.rows
            upkeep_after_s, waited_s = tally.upkeep_seconds - before_s - upkeep_s, Moment.now().wall_s - ended.wall_s
            stored = sum(row.lines for row in running.pipeline.reader.count(CountQuery()).rows) if lite else lines
    if running.errors:
        raise Wrong(f"a stage failed: {running.errors}")
    check(lines, acknowledged=len(ages_s), stored=stored, sent_s=sent_s, seconds=seconds)
    wall_s, ages_s = ended.wall_s - began.wall_s, ages_s[noted:]
    return {
        "lines": lines,
        "acknowledged_p50_s": float(np.percentile(ages_s, 50)),
        "acknowledged_p95_s": float(np.percentile(ages_s, 95)),
        "rows_at_end": rows_at_end,
        "rows": rows,
        "lines_per_row": lines / max(rows, 1),
        "upkeep_share": upkeep_s / wall_s,
        "upkeep_after_share": upkeep_after_s / waited_s,
        "processor_share": (ended.cpu_s - began.cpu_s) / wall_s,
    }


def check(lines: int, *, acknowledged: int, stored: int, sent_s: float, seconds: int) -> None:
    """Raise Wrong if lines came late, or not all of them were acknowledged and are stored once."""
    if sent_s > _MOST_SENDING * seconds:
        raise Wrong(f"sending took {sent_s:.1f} s instead of {seconds} s")
    if (acknowledged, stored) != (lines, lines):
        raise Wrong(f"{acknowledged} lines of {lines} were acknowledged, {stored} are stored")


def _wait_until(running: RunningPipeline, lines: int) -> None:
    until_s = time.monotonic() + _WAIT_S
    while running.pipeline.indexing.store.tally.lines < lines:
        if running.crash.wait(_LOOK_S) or time.monotonic() > until_s:
            raise Wrong(f"{running.pipeline.indexing.store.tally.lines} lines of {lines} were indexed ({running.errors or 'time is up'})")


def send_slowly(bootstrap_servers: str, topic: str, partitions: int, seconds: int) -> float:
    """Send a line a second to each partition, each at its own moment of the second; return the seconds that it took.

    Raises SystemExit if the broker refuses one.
    """
    lines = islice(cycle(synthetic_lines(_SEED, _POOL, _START_MS)), seconds * partitions)
    began_s = time.monotonic()
    send(bootstrap_servers, topic, at_rate(lines, partitions), partitions=partitions)
    return time.monotonic() - began_s


def measure(chosen: Namespace) -> Figures:
    """Run every number of partitions. Raises Missing, Wrong."""
    seconds = chosen.seconds or (QUICK_SECONDS if chosen.quick else SECONDS)
    figures: Figures = {}
    with some_kafka(chosen.kafka) as address:
        for partitions in chosen.partitions or (QUICK_PARTITIONS if chosen.quick else PARTITIONS):
            try:
                figures[str(partitions)] = measure_topic(address, partitions, seconds=seconds, after_s=chosen.after)
            except Wrong as error:
                raise Wrong(f"{partitions} partitions: {error}") from error
    return figures


main = program(
    __doc__,
    measure,
    option("--partitions", type=int, nargs="+", help=f"default: {PARTITIONS}"),
    option("--seconds", type=int, help=f"how long lines arrive (default: {SECONDS})"),
    option("--after", type=float, default=AFTER_S, metavar="S", help="seconds from the last line until rows are counted"),
    KAFKA,
    quick=f"{QUICK_PARTITIONS} partitions, {QUICK_SECONDS} s",
)

if __name__ == "__main__":
    main()
