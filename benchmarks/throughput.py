"""Lines per second through the whole path: feed, Kafka (embedded), decode, mask, embed, Milvus Lite, commit.

    python -m benchmarks.throughput [FILES…] [--quick] [--json]

Caveats first. One process on one machine: feed, broker, worker and index share its cores, so the figure is a floor and not what a cluster
gives. From a cold cache nearly all the time goes into embedding new templates; the second figure is of lines whose templates are all known:
those of the files, or synthetic ones, copied with other digits (`benchmarks.copies`). It includes the wait for the last block and its
commit, up to a second. Absolute figures depend on the machine: compare only runs made side by side.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.copies import copies, texts_of_files
from worker.cli.demo import DemoOptions, demo
from worker.cli.screen import Screen
from worker.service import Service

QUICK_LINES, QUICK_KNOWN_LINES = 2_000, 400_000
LINES, KNOWN_LINES = 20_000, 2_000_000
"""Lines from cold, and of known templates."""


def measure(files: tuple[str, ...], *, folder: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Index the files once into `folder`; return the demo's figures and seconds by stage (processor time; engine and sink: elapsed)."""
    stages: dict[str, float] = {}

    def look(service: Service) -> None:
        stages.update(service.stage_seconds())
        stages["engine"] = service.pipeline.embedder.tally.seconds
        stages["sink"] = service.pipeline.store.tally.seconds

    options = DemoOptions(files=files, queries=("error",), data=folder, k=1, serve=False, config=None)
    return demo(options, Screen(silent=True), ended=look), stages


def file_of(folder: Path, texts: Sequence[str], lines: int) -> str:
    """Write copies of the texts to a file; return its path."""
    file = folder / f"{lines}.log"
    with file.open("wb") as out:
        for copied in copies(texts, lines):
            out.writelines(text.replace("\n", " ").encode() + b"\n" for text in copied)
    return str(file)


def synthetic_file(folder: Path, lines: int) -> str:
    """Write synthetic lines to a file; return its path."""
    return file_of(folder, texts_of_files(()), lines)


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None) -> None:
    """Measure cold and warm, and show both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    quick = f"{QUICK_LINES:,} lines from cold and {QUICK_KNOWN_LINES:,} known ones, not {LINES:,} and {KNOWN_LINES:,}"
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--lines", type=int, nargs=2, metavar=("COLD", "KNOWN"), help="other numbers of lines")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args(arguments)
    lines, known_lines = chosen.lines or ((QUICK_LINES, QUICK_KNOWN_LINES) if chosen.quick else (LINES, KNOWN_LINES))
    texts = texts_of_files(chosen.files)
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        folder = Path(name)
        cold, cold_stages = measure((file_of(folder, texts, lines),), folder=folder / "data")
        known_file = file_of(folder, texts[:lines], known_lines)
        measure((known_file,), folder=folder / "data")  # what a copy has changed beyond its templates' masks is new once
        known, known_stages = measure((known_file,), folder=folder / "data")
    figures = {
        "lines_per_s": round(cold["records"] / cold["seconds"], 1),
        "known_lines_per_s": round(known["records"] / known["seconds"], 1),
        "known_us_per_line": {stage: round(1e6 * seconds / known["records"], 2) for stage, seconds in known_stages.items()},
        "engine": cold["engine"],
        "lines": cold["records"],
        "known_lines": known["records"],
        "templates": cold["templates"],
        "tokens_embedded": cold["tokens_embedded"],
        "stage_seconds": {stage: round(seconds, 3) for stage, seconds in cold_stages.items()},
    }
    if chosen.json:
        show(json.dumps(figures))
        return
    show(f"{figures['lines']:,} lines, {figures['templates']:,} templates, engine {figures['engine']}")
    show(f"cold: {figures['lines_per_s']:,} lines/s ({figures['tokens_embedded']:,} tokens embedded)")
    show(f"known templates: {figures['known_lines_per_s']:,} lines/s ({figures['known_lines']:,} lines)")
    show("by stage (processor time of its thread; engine and sink: elapsed): seconds cold, µs a known line")
    for stage, seconds in cold_stages.items():
        show(f"  {stage:<16} {seconds:8.2f} {figures['known_us_per_line'][stage]:8.2f}")


if __name__ == "__main__":
    main()
