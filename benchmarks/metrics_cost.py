"""The cost of metrics: the demo on lines of known templates, with metrics scraped every second, and without counting.

    python -m benchmarks.metrics_cost [FILES…] [--quick] [--json]

Caveats first. Lines of known templates are the worst case: 10,000 and more a second, with little other work. "Without counting" replaces
the steps' histograms and meters by empty ones; tallies that the worker itself needs stay. The measure is processor time of the whole
process (broker included), because elapsed time on a shared machine cannot show two per cent. The sides take turns, each first in every
other round, and the index grows by the same lines each time.
"""

import argparse
import contextlib
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.throughput import synthetic_file
from worker.cli.demo import DemoOptions, demo
from worker.cli.screen import Screen
from worker.runtime.histogram import Histogram
from worker.runtime.stage import Meter

LINES, QUICK_LINES = 40_000, 10_000
ROUNDS, QUICK_ROUNDS = 9, 3
_SCRAPER = """
import sys, time, urllib.request
while True:
    time.sleep(1)
    try:
        urllib.request.urlopen(sys.argv[1], timeout=5).read()
        print("scraped", flush=True)
    except OSError:
        pass
"""


class Run(NamedTuple):
    """One pass over the lines."""

    cpu_s: float
    elapsed_s: float
    scrapes: int


@contextlib.contextmanager
def nothing_counted() -> Iterator[None]:
    """Make every histogram and meter do nothing."""
    kept = Histogram.add, Histogram.add_many, Meter.add
    Histogram.add = Histogram.add_many = Meter.add = lambda _self, _value: None  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Histogram.add, Histogram.add_many, Meter.add = kept  # type: ignore[method-assign]


def measure(files: tuple[str, ...], folder: Path, *, counted: bool) -> Run:
    """Index the lines again into `folder`."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = folder / "vectail.toml"
    config.write_text(f"[http]\nport = {port}\n")
    options = DemoOptions(files=files, queries=("error",), data=folder / "data", k=1, serve=True, config=config)
    scraper = None
    if counted:
        command = [sys.executable, "-c", _SCRAPER, f"http://127.0.0.1:{port}/metrics"]
        scraper = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - ourselves
    try:
        with contextlib.nullcontext() if counted else nothing_counted():
            began_s = time.process_time()
            result = demo(options, Screen(silent=True), ready=lambda _result: stop.set(), stop=stop)
            cpu_s = time.process_time() - began_s
    finally:
        if scraper is not None:
            scraper.terminate()
    scrapes = 0 if scraper is None else scraper.communicate()[0].count("scraped")
    return Run(cpu_s, result["seconds"], scrapes)


def main(show: Callable[[str], None] = print) -> None:
    """Measure both sides in turn, and show the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LINES} lines and {QUICK_ROUNDS} rounds")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    counted: list[Run] = []
    bare: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        folder = Path(name)
        files = tuple(chosen.files) or (synthetic_file(folder, QUICK_LINES if chosen.quick else LINES),)
        measure(files, folder, counted=True)  # every template is new here
        for number in range(rounds):
            for with_metrics in (number % 2 == 0, number % 2 == 1):
                (counted if with_metrics else bare).append(measure(files, folder, counted=with_metrics))
    ratios = [one.cpu_s / other.cpu_s for one, other in zip(counted, bare, strict=True)]
    figures = {
        "rounds": rounds,
        "cost_of_processor_time": round(statistics.median(ratios) - 1, 4),
        "cost_by_round": [round(ratio - 1, 4) for ratio in ratios],
        "cpu_s_with": [round(one.cpu_s, 2) for one in counted],
        "cpu_s_without": [round(one.cpu_s, 2) for one in bare],
        "scrapes": sum(one.scrapes for one in counted),
    }
    if chosen.json:
        show(json.dumps(figures))
        return
    show(
        f"metrics cost {figures['cost_of_processor_time']:+.1%} of processor time (median of {rounds} rounds, {figures['scrapes']} scrapes)"
    )
    show(f"by round: {', '.join(f'{ratio - 1:+.1%}' for ratio in ratios)}")


if __name__ == "__main__":
    main()
