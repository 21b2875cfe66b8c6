"""From Kafka to ready blocks: what a line of a known template costs a worker in processor time, all but broker, engine and sink.

    python -m benchmarks.poll_to_ready [FILES…] [--quick] [--json]

Caveats first. A real broker on the same machine (Java 17 and Maven, or `--kafka HOST:PORT`) shares the cores, so rates are floors.
Processor time is the measure: of all threads of the worker's process, the client library's included, from its join of the group on. The
worker is its own pipeline: poller, ledger, decoding, masks, flights, blocks with their words, encoded. A made-up engine gives the templates
their vectors before anything is measured, and a sink that keeps nothing takes the blocks. Lines are those of the files, or synthetic ones,
copied with other digits (`benchmarks.copies`), over four partitions. JSON is the same lines as a message of about 200 bytes, and as a
Kubernetes shipper wraps them (770). `five_years` is the same lines behind times of five years, as if five old files were read at once: line
by line in turn, on one partition; what counts there is how many lines a block has. The bare loop is a consumer that looks at every field of
every record. All sides take turns; a ratio is taken within a round, then the median.
"""

import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.copies import copies, texts_of_files
from benchmarks.own_servers import some_kafka
from benchmarks.poll_to_ready_side import Plan
from benchmarks.program import ANOTHER_ROUNDS, FILES, KAFKA, Figures, option, program
from benchmarks.race import Wrong, race, ratios
from benchmarks.rivals.own_process import OwnProcess
from benchmarks.send import send
from consumers.text.mask import Masker
from worker.runtime.kafka_admin import KafkaAdmin

LINES, QUICK_LINES = 1_000_000, 200_000
ROUNDS, QUICK_ROUNDS = 5, 3
PARTITIONS = 4
KINDS = ("text", "json", "fat_json")
FIVE_YEARS = "five_years"
YEARS = (2019, 2020, 2021, 2022, 2023)
_GAP = timedelta(milliseconds=100)
"""Between two lines of one year."""
_TO_PARTITION = 500
"""Lines in a row that go to one partition."""
_MASKED_AT_ONCE = 8_000
Measured = dict[str, list[dict[str, Any]]]
"""By side, what its process printed in each round; of `two`, the slower one with the processor time of both halves."""


def json_value(text: str) -> bytes:
    """Return a line as a small structured message."""
    return orjson.dumps({"time": "2026-01-02T03:04:05.678Z", "level": "info", "service": "api", "message": text})


def fat_json_value(text: str) -> bytes:
    """Return a line as a shipper in Kubernetes wraps it."""
    return orjson.dumps(
        {
            "@timestamp": "2026-01-02T03:04:05.678Z",
            "stream": "stderr",
            "log": text,
            "kubernetes": {
                "pod_name": "checkout-5d9c7bdf6b-x2x9z",
                "namespace_name": "shop",
                "pod_id": "0c6e4e0a-7a9e-4f39-8a86-4d2f4f6d3f11",
                "labels": {"app": "checkout", "pod-template-hash": "5d9c7bdf6b", "version": "v42", "tier": "backend"},
                "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9102"},
                "host": "node-17.eu-central-1.compute.internal",
                "container_hash": "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
                "node_pool": "general-purpose",
                "container_name": "checkout",
                "docker_id": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            },
        }
    )


def of_five_years(texts: Sequence[str]) -> list[str]:
    """Return the lines as those of five files, one for each of `YEARS`, in turn: each behind its time."""
    starts = [datetime(year, 7, 1) for year in YEARS]  # noqa: DTZ001 - written without a zone, as most logs are
    five = len(YEARS)
    return [f"{(starts[i % five] + i // five * _GAP).isoformat(' ', 'milliseconds')} {text}" for i, text in enumerate(texts)]


VALUES: dict[str, Callable[[str], bytes]] = {"text": str.encode, "json": json_value, "fat_json": fat_json_value}


def fill(bootstrap_servers: str, texts: Sequence[str], lines: int) -> int:
    """Create and fill the topics: each kind's, and `warm`, which has every template. Returns the records in `warm`."""
    copied = [text for copy in copies(texts, lines) for text in copy]
    dated = of_five_years(copied)
    by_template: dict[str, str] = {}
    for part in range(0, lines, _MASKED_AT_ONCE):
        for some in (copied[part : part + _MASKED_AT_ONCE], dated[part : part + _MASKED_AT_ONCE]):
            by_template.update(zip(Masker().mask(some), some, strict=True))
    warm = list(by_template.values())
    admin = KafkaAdmin(bootstrap_servers, {})
    admin.create_topic(FIVE_YEARS, partitions=1, replication_factor=1)
    send(bootstrap_servers, FIVE_YEARS, map(str.encode, dated), partitions=1)
    for topic in ("warm", *KINDS, "text_2"):
        admin.create_topic(topic, partitions=PARTITIONS, replication_factor=1)
        values = map(VALUES.get(topic, str.encode), warm if topic == "warm" else copied)
        send(bootstrap_servers, topic, values, partitions=PARTITIONS, in_a_row=_TO_PARTITION)
    return len(warm)


def run_sides(plans: Sequence[Plan]) -> list[dict[str, Any]]:
    """Run a process for each plan; all begin together. Raises Wrong."""
    with ExitStack() as stack:
        scratch, sides = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-bench-"))), []
        for number, plan in enumerate(plans):
            sides.append(OwnProcess("benchmarks.poll_to_ready_side:open_side", [plan], log=scratch / f"{number}.log"))
            stack.callback(sides[-1].close)
        for side in sides:
            side.begin("go")
        return [side.end() for side in sides]


def race_of(bootstrap_servers: str, *, warm: int, lines: int, rounds: int) -> Measured:
    """Run all sides in turns. Raises Wrong."""

    def run(*topics: str, is_bare: bool = False) -> dict[str, Any]:
        ran = run_sides([Plan(bootstrap_servers, is_bare, "warm", warm, topic, lines) for topic in topics])
        return ran[0] if len(ran) == 1 else {"wall_s": max(one["wall_s"] for one in ran), "cpu_s": sum(one["cpu_s"] for one in ran)}

    sides: dict[str, Callable[[], dict[str, Any]]] = {"bare": partial(run, "text", is_bare=True)}
    sides |= {kind: partial(run, kind) for kind in (*KINDS, FIVE_YEARS)}
    found = race(sides | {"two": partial(run, "text", "text_2")}, rounds)
    check_years(found[FIVE_YEARS])
    return found


def check_years(ran: Sequence[Mapping[str, Any]]) -> None:
    """Raise Wrong unless each run's blocks were of five years: with another time than the line's, blocks would be easy to fill."""
    for one in ran:
        if tuple(one["years"]) != YEARS:
            raise Wrong(f"the blocks are of the years {one['years']}: no figure")


def figures_of(found: Measured, lines: int) -> Figures:
    """Return what `--json` prints."""

    def each(side: str, key: str) -> list[float]:
        return [float(one[key]) for one in found[side]]

    cpu_us = {side: 1e6 * median(each(side, "cpu_s")) / lines for side in found}
    per_s = {side: lines / median(each(side, "wall_s")) for side in found}
    per_block = {side: lines / median(each(side, "blocks")) for side in ("text", FIVE_YEARS)}
    of_text = {"": "text", "json_": "json", "fat_json_": "fat_json"}
    return {
        **{f"{name}cpu_us_per_line": cpu_us[side] for name, side in of_text.items()},
        **{f"{name}poll_to_ready_per_s": per_s[side] for name, side in of_text.items()},
        "two_processes": 2 * median(ratios(each("text", "wall_s"), each("two", "wall_s"))),
        "vs_bare_consume": median(ratios(each("bare", "wall_s"), each("text", "wall_s"))),
        "bare_cpu_us_per_line": cpu_us["bare"],
        "bare_per_s": per_s["bare"],
        "stage_us_per_line": {
            stage: 1e6 * median(one["stage_s"][stage] for one in found["text"]) / lines for stage in ("prepare", "store")
        },
        "lines_per_block": per_block["text"],
        "five_years_lines_per_block": per_block[FIVE_YEARS],
        "lines": lines,
        "rounds": len(found["text"]),
    }


def measure(chosen: Namespace) -> Figures:
    """Fill the topics and run all sides in turns. Raises Missing, Wrong."""
    lines, texts = chosen.lines or (QUICK_LINES if chosen.quick else LINES), texts_of_files(chosen.files)
    with some_kafka(chosen.kafka) as address:
        warm = fill(address, texts, lines)
        found = race_of(address, warm=warm, lines=lines, rounds=chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS))
    return figures_of(found, lines)


SIZE = option("--lines", type=int, help="another number of lines")
_QUICK = f"{QUICK_LINES:,} lines instead of {LINES:,}, {QUICK_ROUNDS} rounds, not {ROUNDS}"
main = program(__doc__, measure, FILES, SIZE, ANOTHER_ROUNDS, KAFKA, quick=_QUICK)

if __name__ == "__main__":
    main()
