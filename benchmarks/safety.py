"""The cost of safety: the worker as it is, against one whose client commits automatically and which does not read back what is stored.

    python -m benchmarks.safety [--quick] [--json]

Caveats first. One process on one machine: embedded broker, worker and Milvus Lite share its cores, and a commit to a broker in the same
process is quicker than one over a network (there are few: one a second). The engine is made up, so that it is not the limit: with a real
one the cost is a smaller share. The same records lie in the topic for both sides; each run reads them from the beginning, in a group of
its own, into a new folder. In each round both sides run twice, in turns, and a share is taken within a round; a first round warms up and
is not counted. Elapsed time is what matters to a user. Processor time of all threads and the fastest run of each side are shown too, since
other load affects them less.
"""

import argparse
import gc
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.safety_run import Ran, run_once
from benchmarks.safety_sides import made_up_model
from benchmarks.send import send
from producers.kafka import EmbeddedBroker
from producers.log_feed import synthetic_lines
from worker.settings.settings import Settings, load_settings

LINES, QUICK_LINES = 24_000, 4_000
"""The embedded broker keeps 5 MB a partition: about 100,000 of these lines."""
ROUNDS, QUICK_ROUNDS = 7, 3
_SEED = 7
_START_MS = 1_700_000_000_000
_PARTITIONS = 4
"""As the embedded broker has them."""
_TURNS = (True, False, False, True)
"""Safe or not: a load that grows or falls within a round meets both alike."""
Round = Mapping[bool, Sequence[Ran]]
"""Runs of the safe side (True) and of the other."""


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


def measure(settings: Settings, folder: Path, *, lines: int, rounds: int) -> list[Round]:
    """Run both sides in turns; each run leaves its index in `folder`."""
    found: list[Round] = []
    model = made_up_model(settings)
    for number in range(rounds):
        ran: dict[bool, list[Ran]] = {True: [], False: []}
        for turn in _TURNS:
            safe = turn is (number % 2 == 0)
            gc.collect()
            where = folder / f"{number}-{'safe' if safe else 'unsafe'}-{len(ran[safe])}"
            ran[safe].append(run_once(settings, model, records=lines, safe=safe, folder=where))
            _check(ran[safe][-1], lines, safe=safe)
        found.append(ran)
    return found


def _check(ran: Ran, lines: int, *, safe: bool) -> None:
    if ran.lines != lines or ran.committed != (lines if safe else 0):
        raise SystemExit(
            f"{ran.lines} stored and {ran.committed} committed of {lines} lines (safe: {safe}): the figure would be worth nothing"
        )


def figures_of(rounds: Sequence[Round], lines: int) -> dict[str, Any]:
    """Return what `--json` prints; a share is what the safe side takes more, of what the unsafe side takes."""
    wall = [_more([ran.wall_s for ran in each[True]], [ran.wall_s for ran in each[False]]) for each in rounds]
    cpu = [_more([ran.cpu_s for ran in each[True]], [ran.cpu_s for ran in each[False]]) for each in rounds]
    walls = {safe: [ran.wall_s for each in rounds for ran in each[safe]] for safe in (True, False)}
    return {
        "cost_share": round(median(wall), 4),
        "cost_share_rounds": sorted(round(share, 4) for share in wall),
        "cpu_cost_share": round(median(cpu), 4),
        "cpu_cost_share_rounds": sorted(round(share, 4) for share in cpu),
        "lines": lines,
        "fastest_cost_share": round(min(walls[True]) / min(walls[False]) - 1, 4),
        "safe_lines_per_s": round(lines / median(walls[True])),
        "unsafe_lines_per_s": round(lines / median(walls[False])),
    }


def _more(safe_s: Sequence[float], unsafe_s: Sequence[float]) -> float:
    return sum(safe_s) / sum(unsafe_s) - 1


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{figures['lines']:,} lines: safe {figures['safe_lines_per_s']:,} lines/s, unsafe {figures['unsafe_lines_per_s']:,} lines/s")
    show(f"{'what safety costs':<20} {'median':>8} {'least':>8} {'most':>8}")
    for key, words in {"cost_share": "time that passes", "cpu_cost_share": "processor time"}.items():
        shares = figures[f"{key}_rounds"]
        show(f"{words:<20} {figures[key]:>8.1%} {shares[0]:>8.1%} {shares[-1]:>8.1%}")
    show(f"{'fastest runs alone':<20} {figures['fastest_cost_share']:>8.1%}")


def main(show: Callable[[str], None] = print) -> None:
    """Measure both sides and show their difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LINES} lines instead of {LINES}, {QUICK_ROUNDS} rounds, not {ROUNDS}")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    lines, rounds = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
    with filled_topic(lines) as settings, tempfile.TemporaryDirectory(prefix="vectail-bench-") as folder:
        _warmed_up, *counted = measure(settings, Path(folder), lines=lines, rounds=rounds + 1)
    figures = figures_of(counted, lines)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
