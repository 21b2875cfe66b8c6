"""Lines per second through the whole path: feed, Kafka (embedded), decode, mask, embed, Milvus Lite, commit.

    python -m benchmarks.throughput [FILES…] [--quick] [--json]

Caveats first. One process on one machine: feed, broker, worker and index share its cores, so the figure is a floor and not what a cluster
gives. From a cold cache nearly all the time goes into embedding new templates; the second figure is of lines whose templates are all known:
those of the files, or synthetic ones, copied with other digits (`benchmarks.copies`). It includes the wait for the last block and its
commit, up to a second. Absolute figures depend on the machine: compare only runs made side by side.
"""

import tempfile
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.copies import copies, texts_of_files
from benchmarks.program import FILES, Figures, option, program
from worker.cli.demo import demo
from worker.cli.screen import Screen
from worker.cli.verb_options import DemoOptions
from worker.service.service import Service

QUICK_LINES, QUICK_KNOWN_LINES = 2_000, 400_000
LINES, KNOWN_LINES = 20_000, 2_000_000
"""Lines from cold, and of known templates."""


def index(files: tuple[str, ...], *, folder: Path) -> tuple[dict[str, Any], dict[str, float]]:
    """Index the files once into `folder`; return the demo's figures and seconds by stage (processor time; engine and sink: elapsed)."""
    stages: dict[str, float] = {}

    def look(service: Service) -> None:
        stages.update(service.stage_seconds())
        stages["engine"] = service.pipeline.embedder.tally.seconds
        stages["sink"] = service.pipeline.indexing.store.tally.seconds

    options = DemoOptions(files=list(files), query=["error"], data=folder, k=1)
    return demo(options, Screen(silent=True), ended=look), stages


def file_of(folder: Path, texts: Sequence[str], lines: int) -> str:
    """Write copies of the texts to a file; return its path."""
    file = folder / f"{lines}.log"
    with file.open("wb") as out:
        for copied in copies(texts, lines):
            out.writelines(text.replace("\n", " ").encode() + b"\n" for text in copied)
    return str(file)


def measure(chosen: Namespace) -> Figures:
    """Measure cold, then known lines."""
    lines, known_lines = chosen.lines or ((QUICK_LINES, QUICK_KNOWN_LINES) if chosen.quick else (LINES, KNOWN_LINES))
    texts = texts_of_files(chosen.files)
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        folder = Path(name)
        cold, cold_stages = index((file_of(folder, texts, lines),), folder=folder / "data")
        known_file = file_of(folder, texts[:lines], known_lines)
        index((known_file,), folder=folder / "data")  # what a copy has changed beyond its templates' masks is new once
        known, known_stages = index((known_file,), folder=folder / "data")
    return {
        "lines_per_s": cold["records"] / cold["seconds"],
        "known_lines_per_s": known["records"] / known["seconds"],
        "known_us_per_line": {stage: 1e6 * seconds / known["records"] for stage, seconds in known_stages.items()},
        "engine": cold["engine"],
        "lines": cold["records"],
        "known_lines": known["records"],
        "templates": cold["templates"],
        "tokens_embedded": cold["tokens_embedded"],
        "stage_seconds": cold_stages,
    }


SIZES = option("--lines", type=int, nargs=2, metavar=("COLD", "KNOWN"), help="other numbers of lines")
_QUICK = f"{QUICK_LINES:,} lines from cold and {QUICK_KNOWN_LINES:,} known ones, not {LINES:,} and {KNOWN_LINES:,}"
main = program(__doc__, measure, FILES, SIZES, quick=_QUICK)

if __name__ == "__main__":
    main()
