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

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import orjson

from benchmarks.copies import SYNTHETIC, copies, texts_of_files
from benchmarks.own_servers import own_or_given_kafka
from benchmarks.poll_to_ready_side import Plan
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
_SIDES = ("bare", *KINDS, FIVE_YEARS, "two")
"""In the order of one round; every other round goes backwards."""
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
    """Run a process for each plan; all begin together."""
    programs = [
        subprocess.Popen(  # noqa: S603 - ours
            [sys.executable, "-m", "benchmarks.poll_to_ready_side", json.dumps(plan._asdict())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        for plan in plans
    ]
    try:
        for program in programs:
            assert program.stdout  # noqa: S101 - asked for above
            if program.stdout.readline().strip() != "ready":
                raise SystemExit("a process did not begin; what it says is above")
        for program in programs:
            assert program.stdin  # noqa: S101
            program.stdin.write("go\n")
            program.stdin.flush()
        printed = [program.communicate()[0] for program in programs]
    finally:
        for program in programs:
            program.kill()
    if any(program.returncode for program in programs):
        raise SystemExit("a process failed; what it says is above")
    return [json.loads(one) for one in printed]


def measure(bootstrap_servers: str, *, warm: int, lines: int, rounds: int) -> Measured:
    """Run all sides in turns."""
    found: Measured = {side: [] for side in _SIDES}

    def plan(topic: str, *, is_bare: bool = False) -> Plan:
        return Plan(bootstrap_servers, is_bare, "warm", warm, topic, lines)

    for number in range(rounds):
        for side in _SIDES if number % 2 == 0 else reversed(_SIDES):
            if side == "two":
                both = run_sides([plan("text"), plan("text_2")])
                found[side].append({"wall_s": max(one["wall_s"] for one in both), "cpu_s": sum(one["cpu_s"] for one in both)})
            else:
                found[side] += run_sides([plan("text" if side == "bare" else side, is_bare=side == "bare")])
    check_years(found[FIVE_YEARS])
    return found


def check_years(ran: Sequence[Mapping[str, Any]]) -> None:
    """End the program unless each run's blocks were of five years: with another time than the line's, blocks would be easy to fill."""
    for one in ran:
        if tuple(one["years"]) != YEARS:
            raise SystemExit(f"the blocks are of the years {one['years']}: no figure")


def figures_of(found: Measured, lines: int) -> dict[str, Any]:
    """Return what `--json` prints."""

    def cpu_us(side: str) -> float:
        return round(1e6 * median(float(one["cpu_s"]) for one in found[side]) / lines, 2)

    def per_s(side: str) -> int:
        return round(lines / median(float(one["wall_s"]) for one in found[side]))

    def per_block(side: str) -> float:
        return round(median(lines / int(one["blocks"]) for one in found[side]), 1)

    def ratio(one: str, other: str) -> float:
        pairs = zip(found[one], found[other], strict=True)
        return round(median(float(b["wall_s"]) / float(a["wall_s"]) for a, b in pairs), 2)

    return {
        "cpu_us_per_line": cpu_us("text"),
        "json_cpu_us_per_line": cpu_us("json"),
        "fat_json_cpu_us_per_line": cpu_us("fat_json"),
        "poll_to_ready_per_s": per_s("text"),
        "json_poll_to_ready_per_s": per_s("json"),
        "fat_json_poll_to_ready_per_s": per_s("fat_json"),
        "two_processes": round(2 * ratio("two", "text"), 2),
        "vs_bare_consume": ratio("text", "bare"),
        "bare_cpu_us_per_line": cpu_us("bare"),
        "bare_per_s": per_s("bare"),
        "stage_us_per_line": {
            stage: round(1e6 * median(one["stage_s"][stage] for one in found["text"]) / lines, 2) for stage in ("prepare", "store")
        },
        "lines_per_block": per_block("text"),
        "five_years_lines_per_block": per_block(FIVE_YEARS),
        "lines": lines,
        "rounds": len(found["text"]),
    }


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{figures['lines']:,} lines, {figures['rounds']} rounds; processor time of all threads of the process")
    show(f"{'':<22}{'µs a line':>12}{'lines/s':>12}")
    for side, name in (("", "text"), ("json_", "JSON"), ("fat_json_", "JSON of Kubernetes")):
        show(f"{name:<22}{figures[f'{side}cpu_us_per_line']:>12.2f}{figures[f'{side}poll_to_ready_per_s']:>12,}")
    show(f"{'bare consume loop':<22}{figures['bare_cpu_us_per_line']:>12.2f}{figures['bare_per_s']:>12,}")
    show(f"{'seconds in a stage':<22}" + ", ".join(f"{stage} {us:.2f} µs a line" for stage, us in figures["stage_us_per_line"].items()))
    show(f"lines a block: {figures['lines_per_block']}; of five years in turn on one partition: {figures['five_years_lines_per_block']}")
    show(f"two processes do {figures['two_processes']} times one; one does {figures['vs_bare_consume']} of the bare loop's rate")


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None) -> None:
    """Fill the topics, run all sides in turns, and show what a line cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help=f"logs (default: {SYNTHETIC:,} synthetic lines)")
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK_LINES:,} lines instead of {LINES:,}, {QUICK_ROUNDS} rounds, not {ROUNDS}"
    )
    parser.add_argument("--lines", type=int, help="another number of lines")
    parser.add_argument("--rounds", type=int, help="another number of rounds")
    parser.add_argument("--kafka", metavar="HOST:PORT", help="a broker to use, instead of one that is started; topics are created there")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args(arguments)
    lines = chosen.lines or (QUICK_LINES if chosen.quick else LINES)
    texts = texts_of_files(chosen.files)
    with own_or_given_kafka(chosen.kafka) as started:
        if not started.address:
            parser.error(f"no broker: {started.reason}")
        warm = fill(started.address, texts, lines)
        found = measure(started.address, warm=warm, lines=lines, rounds=chosen.rounds or (QUICK_ROUNDS if chosen.quick else ROUNDS))
    figures = figures_of(found, lines)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
