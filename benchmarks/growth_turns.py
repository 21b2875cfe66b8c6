"""Measures one point of `benchmarks.growth`: starts its workers, opens their gates together, waits until everything is settled.

A point whose workers settle other records than those that were waiting, or whose commits do not reach the end, is no figure.
"""

import json
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.growth_side import SidePlan
from benchmarks.growth_topics import FilledTopic, Point
from benchmarks.race import Wrong
from benchmarks.send import at_rate, send

TRICKLE_PER_S = 50
_NEW_MISSED, _MISSED = 0.02, 0.001
"""Of the lines with a new template, and of all lines: how many may be known, or new, though they were made otherwise."""
_WAIT_S = 240.0
_END_S = 30.0
Said = tuple[int, dict[str, Any] | None]
"""Which worker, and what it said; None: nothing more."""


class Ran(NamedTuple):
    """What was measured of one point, once."""

    wall_s: float
    """From the opening of the gates until the last record was settled."""
    cpu_s: float
    """Processor time of all workers in that time."""
    start_s: float
    """Before that: from joining the group until each partition had delivered something."""
    rss_bytes: int
    """The most that one worker had."""
    records: int
    value_bytes: int
    blocks: int
    templates: int
    """How many new ones were written."""
    ages_s: Sequence[float]
    """Of the trickle: seconds until a line was acknowledged."""
    pauses: int
    """How often the worker that paused most often did so."""
    open_records: Sequence[tuple[float, int]]
    """Of the first worker: seconds since the opening, and records that it had taken in and not settled."""


class _Workers:
    """The processes of one point, and what they have said.

    Thread: one; a thread for each process only reads.
    """

    def __init__(self, plan: SidePlan, count: int) -> None:
        self._said: queue.Queue[Said] = queue.Queue()
        self._until_s = time.monotonic() + _WAIT_S
        self.started, self.indexed = [0] * count, [0] * count
        self.latest_s = 0.0
        """When the latest record was settled, on the monotonic clock."""
        self._programs = [
            subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-m", "benchmarks.growth_side", json.dumps(plan._asdict())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[1],
            )
            for _ in range(count)
        ]
        self._readers = [threading.Thread(target=self._read, args=one, daemon=True) for one in enumerate(self._programs)]
        for reader in self._readers:
            reader.start()

    def _read(self, number: int, program: subprocess.Popen[str]) -> None:
        assert program.stdout  # noqa: S101 - asked for above
        for line in program.stdout:
            self._said.put((number, json.loads(line)))
        self._said.put((number, None))

    def tell(self, word: str) -> None:
        """Give all of them a command."""
        for program in self._programs:
            assert program.stdin  # noqa: S101
            program.stdin.write(f"{word}\n")
            program.stdin.flush()

    def hear(self) -> dict[str, Any] | None:
        """Wait for what one says and note it; returns it if it is a worker's figures. Raises Wrong."""
        try:
            number, said = self._said.get(timeout=max(self._until_s - time.monotonic(), 0))
        except queue.Empty:
            raise Wrong(f"time is up: {self.started} partitions started, {self.indexed} records settled") from None
        if said is None:
            raise Wrong("a worker ended too soon; what it says is above")
        if "indexed" not in said:
            return said
        self.started[number] = said["started"]
        if said["indexed"] != self.indexed[number]:
            self.indexed[number], self.latest_s = said["indexed"], max(self.latest_s, said["at_s"])
        return None

    def await_started(self, partitions: int) -> None:
        """Wait until each partition has delivered something to one worker, and each worker has some."""
        while sum(self.started) != partitions or not all(self.started):
            self.hear()

    def await_indexed(self, records: int) -> None:
        """Wait until that many records are settled. Raises Wrong."""
        while sum(self.indexed) < records:
            self.hear()
        if sum(self.indexed) != records:
            raise Wrong(f"{self.indexed} records of {records} were settled")

    def stop(self) -> list[dict[str, Any]]:
        """End them; returns their figures."""
        self.tell("stop")
        figures: list[dict[str, Any]] = []
        while len(figures) < len(self._programs):
            said = self.hear()
            figures += [said] if said else []
        return figures

    def kill(self) -> None:
        """End whatever still runs; a worker that has printed its figures ends by itself."""
        for program, reader in zip(self._programs, self._readers, strict=True):
            assert program.stdin  # noqa: S101 - asked for above
            assert program.stdout  # noqa: S101
            program.stdin.close()
            try:
                program.wait(_END_S)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
            reader.join()
            program.stdout.close()


def measure_point(bootstrap_servers: str, point: Point, filled: FilledTopic, arrived: int) -> tuple[Ran, int]:
    """Read the topic from its beginning; `arrived` lines have trickled in before. Also returns how many have now. Raises Wrong."""
    records = filled.records + arrived
    group = f"bench-{uuid.uuid4().hex[:8]}"
    workers = _Workers(SidePlan(bootstrap_servers, filled.warm_topic, filled.warm_records, filled.topic, group), point.workers)
    try:
        workers.await_started(point.partitions)
        began_s = time.monotonic()
        workers.tell("go")
        workers.await_indexed(records)
        wall_s = workers.latest_s - began_s
        if point.trickle_s:
            workers.tell("trickle")
            arrived += _trickle(bootstrap_servers, point, filled)
            workers.await_indexed(filled.records + arrived)
        figures = workers.stop()
    finally:
        workers.kill()
    ran = Ran(
        wall_s,
        sum(one["cpu_s"] for one in figures),
        max(one["start_s"] for one in figures),
        max(one["rss_bytes"] for one in figures),
        records,
        round(filled.value_bytes * records / filled.records),
        sum(one["blocks"] for one in figures),
        sum(one["templates"] for one in figures),
        [age_s for one in figures for age_s in one["ages_s"]],
        max(one["pauses"] for one in figures),
        figures[0]["open_records"],
    )
    check(ran, point, filled.records + arrived, [one["committed"] for one in figures])
    return ran, arrived


def check(ran: Ran, point: Point, records: int, committed: Sequence[dict[str, int]]) -> None:
    """Raise Wrong if the workers did other work than the point asks for; `committed`: next offsets by partition of each worker."""
    reached: dict[str, int] = {}
    for one in committed:
        for partition, offset in one.items():
            reached[partition] = max(offset, reached.get(partition, 0))
    if sum(reached.values()) != records:
        raise Wrong(f"{sum(reached.values())} of {records} records are committed")
    if abs(ran.templates - point.new_share * ran.records) > max(_NEW_MISSED * point.new_share, _MISSED) * ran.records:
        raise Wrong(f"{ran.templates} templates of {ran.records} lines were new, which is not {point.new_share:.0%}")


def _trickle(bootstrap_servers: str, point: Point, filled: FilledTopic) -> int:
    """Send known lines one by one, to every partition in turn; returns how many."""
    lines = round(point.trickle_s * TRICKLE_PER_S)
    values = (text.encode() for text in islice(cycle(filled.known), lines))
    send(bootstrap_servers, filled.topic, at_rate(values, TRICKLE_PER_S), partitions=point.partitions)
    return lines
