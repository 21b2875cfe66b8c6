"""Lines per second through the whole path: feed, Kafka (embedded), decode, mask, embed, Milvus Lite, commit.

    python -m benchmarks.throughput [FILES…] [--quick] [--json]

Caveats first. One process on one machine: broker, worker and index share its cores, so the figure is a floor and not what a
cluster gives. From a cold cache nearly all the time goes into embedding new templates; the second figure is the same lines
again, when every template is known. Absolute figures depend on the machine: compare only runs made side by side.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worker.cli.demo import DemoOptions, demo
from worker.cli.screen import Screen
from worker.service import Service

QUICK_LINES = 2_000
LINES = 20_000


def measure(files: tuple[str, ...], *, folder: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Index the files once into `folder`; return the demo's figures and seconds by stage (processor time; engine and sink: elapsed)."""
    stages: dict[str, float] = {}

    def look(service: Service) -> None:
        stages.update(service.stage_seconds())
        stages["engine"] = service.pipeline.embed.tally.seconds
        stages["sink"] = service.pipeline.store.tally.seconds

    options = DemoOptions(files=files, queries=("error",), data=folder, k=1, serve=False, config=None)
    return demo(options, Screen(silent=True), ended=look), stages


def synthetic_file(folder: Path, lines: int) -> str:
    """Write synthetic lines to a file; return its path."""
    from producers.log_feed import synthetic_lines  # noqa: PLC0415 - only without files

    file = folder / "synthetic.log"
    with file.open("wb") as out:
        for line in synthetic_lines(7, lines, int(time.time() * 1000)):
            out.write(line.replace(b"\n", b" ") + b"\n")
    return str(file)


def main(show: Callable[[str], None] = print) -> None:
    """Measure cold and warm, and show both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LINES} synthetic lines instead of {LINES}")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        folder = Path(name)
        files = tuple(chosen.files) or (synthetic_file(folder, QUICK_LINES if chosen.quick else LINES),)
        cold, cold_stages = measure(files, folder=folder / "data")
        warm, warm_stages = measure(files, folder=folder / "data")
    figures = {
        "lines_per_s": round(cold["records"] / cold["seconds"], 1),
        "engine": cold["engine"],
        "lines": cold["records"],
        "templates": cold["templates"],
        "known_lines_per_s": round(warm["records"] / warm["seconds"], 1),
        "tokens_embedded": cold["tokens_embedded"],
        "stage_seconds": {stage: round(seconds, 3) for stage, seconds in cold_stages.items()},
        "known_stage_seconds": {stage: round(seconds, 3) for stage, seconds in warm_stages.items()},
    }
    if chosen.json:
        show(json.dumps(figures))
        return
    show(f"{figures['lines']:,} lines, {figures['templates']:,} templates, engine {figures['engine']}")
    show(f"cold: {figures['lines_per_s']:,} lines/s ({figures['tokens_embedded']:,} tokens embedded)")
    show(f"known templates: {figures['known_lines_per_s']:,} lines/s")
    show("seconds by stage (processor time of its thread; engine and sink: elapsed), cold and known:")
    for stage, seconds in cold_stages.items():
        show(f"  {stage:<16} {seconds:8.2f} {warm_stages[stage]:8.2f}")


if __name__ == "__main__":
    main()
