"""The cost of safety: the worker as it is, against one whose client commits automatically and which does not read back what is stored.

    python -m benchmarks.safety [--quick] [--json]

Caveats first. One process on one machine: embedded broker, worker and Milvus Lite share its cores, and a commit to a broker in the same
process is quicker than one over a network (there are few: one a second). The engine is made up, so that it is not the limit: with a real
one the cost is a smaller share. The same records lie in the topic for both sides; each run reads them from the beginning, in a group of
its own, into a new folder. In each round both sides run twice, in turns, and a share is taken within a round; a first round warms up and
is not counted. Elapsed time is what matters to a user. Processor time of all threads and the fastest run of each side are shown too, since
other load affects them less.
"""

import gc
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from benchmarks.own_pipeline import running_pipeline, source_settings
from benchmarks.program import Figures, program
from benchmarks.race import Wrong, race
from benchmarks.safety_sides import AUTO_COMMIT, Watched, WithoutResume, made_up_model
from benchmarks.send import send
from producers.kafka import EmbeddedBroker
from producers.log_feed import synthetic_lines
from sinks.milvus.milvus_sink import MilvusSink
from sinks.reading.counting import CountQuery
from worker.connections import vector_space
from worker.embedding.loaded import LoadedModel
from worker.settings.settings import Settings, load_settings

LINES, QUICK_LINES = 24_000, 4_000
"""The embedded broker keeps 5 MB a partition: about 100,000 of these lines."""
ROUNDS, QUICK_ROUNDS = 7, 3
_LOOK_S = 0.001
_SEED = 7
_START_MS = 1_700_000_000_000
_PARTITIONS = 4
"""As the embedded broker has them."""


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


def run_once(settings: Settings, model: LoadedModel, *, records: int, safe: bool, folder: Path) -> Ran:
    """Read the topic from its beginning in a group of its own, into a new folder, until every record is settled. Raises Wrong."""
    settings = settings.model_copy(update={"milvus": settings.milvus.model_copy(update={"uri": str(folder)})})
    sink = (MilvusSink if safe else WithoutResume)(settings.milvus, vector_space(model.space), consumer_group="benchmark")
    kafka = source_settings(settings)
    if not safe:
        kafka = kafka.model_copy(update={"librdkafka": AUTO_COMMIT})  # unchecked: the settings refuse these properties
    source = Watched(kafka, settings.subscription, commits=safe)
    with running_pipeline(settings, model, sink) as running:
        with running.polling(source, commit_interval_s=settings.kafka.commit_interval_s):
            ended = running.await_indexed(records, look_s=_LOOK_S)
        began = source.began
        lines = 0 if running.errors else sum(row.lines for row in running.pipeline.reader.count(CountQuery()).rows)
    if running.errors or began is None:
        raise Wrong(f"the run did not end: {running.errors or 'no record came'}")
    return Ran(
        wall_s=ended.wall_s - began.wall_s + source.commit_s,
        cpu_s=ended.cpu_s - began.cpu_s,
        lines=lines,
        committed=sum(source.accepted.values()),
    )


@contextmanager
def filled_topic(lines: int) -> Iterator[Settings]:
    """Start an embedded broker and put the lines into its topic; yields settings that name it."""
    broker = EmbeddedBroker()
    try:
        kafka = {"bootstrap_servers": broker.bootstrap_servers, "topic_epoch": "e1", "group_protocol": "consumer"}
        settings = load_settings(None, {"topic": [{"name": "logs"}], "kafka": kafka})
        send(broker.bootstrap_servers, "logs", synthetic_lines(_SEED, lines, _START_MS), partitions=_PARTITIONS)
        yield settings
    finally:
        broker.close()


def race_of(settings: Settings, folder: Path, *, lines: int, rounds: int) -> Mapping[str, list[list[Ran]]]:
    """Run both sides twice a round; return the two runs by side and round. Each leaves its index in `folder`. Raises Wrong."""
    model, numbers = made_up_model(settings), count()

    def run(*, safe: bool) -> Ran:
        gc.collect()
        ran = run_once(settings, model, records=lines, safe=safe, folder=folder / str(next(numbers)))
        if ran.lines != lines or ran.committed != (lines if safe else 0):
            counts = f"{ran.lines} stored and {ran.committed} committed of {lines} lines (safe: {safe})"
            raise Wrong(f"{counts}: the figure would be worth nothing")
        return ran

    # A B B A: a load that grows or falls within a round meets both alike.
    ran = race({"safe": lambda: run(safe=True), "unsafe": lambda: run(safe=False)}, 2 * rounds, warm_ups=2)
    return {side: [each[start : start + 2] for start in range(0, len(each), 2)] for side, each in ran.items()}


def figures_of(ran: Mapping[str, list[list[Ran]]], lines: int) -> Figures:
    """Return what `--json` prints; a share is what the safe side takes more, of what the unsafe side takes."""
    safe, unsafe = ran["safe"], ran["unsafe"]
    wall = [_more([one.wall_s for one in mine], [one.wall_s for one in theirs]) for mine, theirs in zip(safe, unsafe, strict=True)]
    cpu = [_more([one.cpu_s for one in mine], [one.cpu_s for one in theirs]) for mine, theirs in zip(safe, unsafe, strict=True)]
    safe_s, unsafe_s = ([one.wall_s for some in each for one in some] for each in (safe, unsafe))
    return {
        "cost_share": median(wall),
        "cost_share_rounds": sorted(wall),
        "cpu_cost_share": median(cpu),
        "cpu_cost_share_rounds": sorted(cpu),
        "lines": lines,
        "fastest_cost_share": min(safe_s) / min(unsafe_s) - 1,
        "safe_lines_per_s": lines / median(safe_s),
        "unsafe_lines_per_s": lines / median(unsafe_s),
    }


def _more(safe_s: Sequence[float], unsafe_s: Sequence[float]) -> float:
    return sum(safe_s) / sum(unsafe_s) - 1


def measure(chosen: Namespace) -> Figures:
    """Fill a topic and race. Raises Wrong."""
    lines, rounds = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
    with filled_topic(lines) as settings, tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder:
        return figures_of(race_of(settings, Path(folder), lines=lines, rounds=rounds), lines)


main = program(__doc__, measure, quick=f"{QUICK_LINES} lines instead of {LINES}, {QUICK_ROUNDS} rounds, not {ROUNDS}")

if __name__ == "__main__":
    main()
