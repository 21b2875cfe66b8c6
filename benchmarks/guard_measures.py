"""What the guard measures: ratios of short benchmarks, or their rates divided by those of a fixed reference loop, so that speed cancels.

The reference runs in the guard's own process, right before and right after each benchmark. It is the same work for every revision: sorting
in numpy, zlib, a regular expression and a loop in Python, in about equal parts.

Another revision runs its own benchmarks, so a measure asks only for what those of 9b73180 know: its arguments and its key.
"""

import math
import re
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np

from benchmarks.suite.child import module_file, run_program
from benchmarks.suite.goals import value_at
from benchmarks.suite.programs import Program

_REFERENCE_RUNS = 3
"""Before and after each benchmark."""
_LIMIT_S = 360.0
_SEED = 7
_WORDS = re.compile(r"[a-z]+(?=[0-9])|\d{4,}")


class Probe(NamedTuple):
    """A benchmark, and how it is asked."""

    module: str
    arguments: tuple[str, ...] = ()


class Measure(NamedTuple):
    """One ratio."""

    name: str
    probe: Probe
    key: str
    """Path in what the benchmark prints, names with dots between them."""
    how: Literal["ratio", "rate", "cost"]
    """`rate`: times the seconds of the reference. `cost`: divided by them."""
    clock: Literal["processor", "elapsed"] = "processor"
    """Of the reference."""

    @property
    def higher_is_better(self) -> bool:
        """Whether a smaller figure is a fall."""
        return self.how != "cost"


_MASKS = Probe("benchmarks.masks", ("--quick",))
_TOKENIZE = Probe("benchmarks.tokenize", ("--quick",))
_CACHE = Probe("benchmarks.cache", ("--quick",))
_DECODE = Probe("benchmarks.decode", ("--quick",))
_SINK = Probe("benchmarks.sink", ("--quick", "--lite"))
_THROUGHPUT = Probe("benchmarks.throughput", ("--lines", "2000", "150000"))
_POLL = Probe("benchmarks.poll_to_ready", ("--lines", "60000", "--rounds", "1"))
_SEARCH = Probe("benchmarks.search_growth", ("--lines", "30000", "300000"))
_QUERIES = Probe("benchmarks.query_latency", ("--quick", "--seconds", "8", "--engine", "llama"))
MEASURES: Sequence[Measure] = (
    Measure("lines masked", _MASKS, "lines_per_s", "rate"),
    Measure("tokenizer, times encode_batch_fast", _TOKENIZE, "vs_encode_batch_fast", "ratio"),
    Measure("tokenizer, times Llama.tokenize", _TOKENIZE, "vs_llama_tokenize", "ratio"),
    Measure("vectors from Redis, times a loop of GET", _CACHE, "vs_get_loop", "ratio"),
    Measure("text decoded, times the library", _DECODE, "vs_library.text_per_s", "ratio"),
    Measure("OTLP decoded, times the library", _DECODE, "vs_library.otlp_per_s", "ratio"),
    Measure("JSON decoded, times the library", _DECODE, "vs_library.json_per_s", "ratio"),
    Measure("syslog decoded, times the library", _DECODE, "vs_library.syslog_per_s", "ratio"),
    Measure("blocks on Milvus Lite, times rows", _SINK, "vs_rows.lite", "ratio"),
    Measure("known lines through the whole path", _THROUGHPUT, "known_lines_per_s", "rate", "elapsed"),
    Measure("a known line in prepare", _THROUGHPUT, "known_us_per_line.prepare", "cost"),
    Measure("a known line in the poller", _THROUGHPUT, "known_us_per_line.poller-logs", "cost"),
    Measure("a known line from poll to ready", _POLL, "cpu_us_per_line", "cost"),
    Measure("a question on Milvus Lite, median", _SEARCH, "p50_s", "cost", "elapsed"),
    Measure("a question on Milvus Lite, p95", _SEARCH, "p95_s", "cost", "elapsed"),
    Measure("counts by time on Milvus Lite, median", _SEARCH, "kinds.counts_by_time.p50_s", "cost", "elapsed"),
    Measure("counts by service on Milvus Lite, median", _SEARCH, "kinds.counts_by_service.p50_s", "cost", "elapsed"),
    Measure("a query under a flood of lines, p99", _QUERIES, "loaded_ms.total.p99", "cost", "elapsed"),
    Measure("a query of 60 users, p99", _QUERIES, "closed_loop.distinct.ms.total.p99", "cost", "elapsed"),
)
Figures = dict[str, float | str]
"""By measure, its value, or why there is none."""


class Reference:
    """The fixed work.

    Thread: main.
    """

    def __init__(self, size: float = 1.0) -> None:
        """Make the input; another size than 1 is for tests, and its figures compare with nothing."""
        random = Random(_SEED)
        self._numbers = np.random.default_rng(_SEED).integers(0, 1 << 40, int(600_000 * size))
        self._steps = int(300_000 * size)
        self._text = " ".join(
            f"{random.choice('abcdef')}{random.randrange(10**6)} took {random.randrange(900)}ms" for _ in range(int(60_000 * size))
        )

    def seconds(self) -> dict[str, float]:
        """Do it once; return its seconds by clock."""
        processor_s, elapsed_s = time.thread_time(), time.perf_counter()
        np.sort(self._numbers)
        zlib.compress(self._text[:700_000].encode(), 6)
        _WORDS.sub("#", self._text)
        counts: dict[int, int] = {}
        for number in range(self._steps):
            counts[number & 1023] = counts.get(number & 1023, 0) + 1
        return {"processor": time.thread_time() - processor_s, "elapsed": time.perf_counter() - elapsed_s}

    def several(self) -> list[dict[str, float]]:
        """Do it some times."""
        return [self.seconds() for _ in range(_REFERENCE_RUNS)]


def measure_tree(measures: Sequence[Measure], root: Path, reference: Reference) -> Figures:
    """Run every benchmark of the measures in the tree at `root`, each once."""
    found: Figures = {}
    for probe in dict.fromkeys(measure.probe for measure in measures):
        before = reference.several()
        printed = ask(probe, root)
        runs = [*before, *reference.several()]
        for measure in measures:
            if measure.probe == probe:
                reference_s = median(run[measure.clock] for run in runs)
                found[measure.name] = printed if isinstance(printed, str) else _figure(measure, printed, reference_s)
    return found


def ask(probe: Probe, root: Path) -> dict[str, Any] | str:
    """Run a benchmark; return what it printed, or in one line why it printed nothing."""
    if module_file(root, probe.module) is None:
        return f"there is no {probe.module}"
    ended = run_program(Program(probe.module, probe.module, limit_s=_LIMIT_S), [*probe.arguments, "--json"], root)
    return ended.figures if ended.state == "measured" else f"{probe.module}: {ended.reason}"


def imported_from(module: str, root: Path) -> str:
    """Return the folder that Python, started in `root`, imports a module's package from."""
    package = module.partition(".")[0]
    command = [sys.executable, "-c", f"import {package}; print(list({package}.__path__)[0])"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603 - ours


def _figure(measure: Measure, printed: dict[str, Any], reference_s: float) -> float | str:
    found = value_at(printed, measure.key)
    if not isinstance(found, int | float) or not math.isfinite(found):
        return f"{measure.probe.module} gives no number for {measure.key}"
    return float(found) * {"ratio": 1.0, "rate": reference_s, "cost": 1 / reference_s}[measure.how]
