"""Searching among many lines on Milvus Lite: how long a question takes, and how time and memory grow with the number of lines.

    python -m benchmarks.search_growth [FILES…] [--quick] [--lines FEW MANY] [--json]

Caveats first. The lines are those of the files, or 32,000 synthetic ones, copied with other digits (`search_growth_index`); services and
levels are made up, and a filtered question names an hour and the service of the template that it is about. Lines are stored as the worker
stores them at full speed, 1,024 of a partition a block; nothing is left to be merged, and nothing is written meanwhile. Questions go
through what answers the worker's queries, but a query's vector is a template's with noise: no model runs, and neither HTTP nor Kafka is in
the time. Each kind is asked equally often, in random order, with templates, words, identifiers, windows and places drawn each time; the
cache of decoded blocks is as large as in the worker. The first question comes right after the last line was stored. The folder is measured
after it was closed, and then opened again in the same process: its files are in the page cache. Each index has a process of its own;
memory is that after the last question, of it and of the process that serves the folder, and has grown since an empty index was open; there
is no model in it. An insert is one call that stores 64 blocks, 65,536 lines.
"""

import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from statistics import median, quantiles

from benchmarks.copies import texts_of_files
from benchmarks.program import FILES, Figures, option, program
from benchmarks.race import Wrong
from benchmarks.search_growth_asker import Asker
from benchmarks.search_growth_index import fill, new_sink
from sinks.sink import BlockFilter

SIZES, QUICK_SIZES = (1_000_000, 10_000_000), (100_000, 1_000_000)
ASKED, QUICK_ASKED = 100, 25
"""How often each kind of question is asked."""


def measure_one(texts: Sequence[str], lines: int, asked: int) -> Figures:
    """Fill an index and ask, in a process of its own. Raises Wrong."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(measure_here, texts, lines, asked).result()


def measure_here(texts: Sequence[str], lines: int, asked: int) -> Figures:
    """Fill an index and ask. Raises Wrong."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        folder = Path(name) / "index"
        with closing(new_sink(Path(name) / "empty")) as empty:
            empty.open()
            before_bytes = sum(rss_bytes(empty.local_pid))
        filled = fill(folder, texts, lines)
        with closing(filled.sink):
            asker = Asker(filled)
            first_s = asker.seconds("dense")
            taken_s = asker.seconds_by_kind(asked)
            own_bytes, lite_bytes = rss_bytes(filled.sink.local_pid)
        index_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        reopen_s = seconds_to_reopen(folder, lines)
    all_s = [second for seconds in taken_s.values() for second in seconds]
    return {
        "lines": lines,
        "first_query_s": first_s,
        "p50_s": median(all_s),
        "p95_s": p95(all_s),
        "incomplete_share": asker.incomplete / len(all_s),
        "index_bytes_per_raw_byte": index_bytes / filled.raw_bytes,
        "rss_bytes": own_bytes,
        "milvus_lite_rss_bytes": lite_bytes,
        "rss_growth_bytes": own_bytes + lite_bytes - before_bytes,
        "longest_insert_s": filled.longest_insert_s,
        "reopen_s": reopen_s,
        "kinds": {kind: {"p50_s": median(taken), "p95_s": p95(taken)} for kind, taken in taken_s.items()},
    }


def rss_bytes(other: int | None) -> tuple[int, int]:
    """Return how much memory this process and another one have now, as Linux says."""
    own, others = (_rss_bytes(Path("/proc") / str(pid)) for pid in ("self", other))
    return own, others


def _rss_bytes(process: Path) -> int:
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    return 1024 * int(status["VmRSS"].split()[0])


def seconds_to_reopen(folder: Path, lines: int) -> float:
    """Return how long it takes until blocks can be found in a closed folder. Raises Wrong."""
    began_s = time.perf_counter()
    with closing(new_sink(folder)) as sink:
        sink.open(create=False)
        heads = sink.find_blocks(BlockFilter()).heads
        took_s = time.perf_counter() - began_s
    if heads.lines.sum() != lines:
        raise Wrong(f"the folder was opened again with {heads.lines.sum():,} lines, not {lines:,}")
    return took_s


def p95(seconds: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(seconds, n=20, method="inclusive")[-1] if len(seconds) > 1 else seconds[0]


def measure(chosen: Namespace) -> Figures:
    """Fill two indexes and ask both. Raises Wrong."""
    texts, asked = texts_of_files(chosen.files), QUICK_ASKED if chosen.quick else ASKED
    smaller, larger = (measure_one(texts, lines, asked) for lines in chosen.lines or (QUICK_SIZES if chosen.quick else SIZES))
    return larger | {"growth": larger["p95_s"] / smaller["p95_s"], "smaller": smaller}


ANOTHER_SIZES = option("--lines", type=int, nargs=2, metavar=("FEW", "MANY"), help="other numbers of lines")
main = program(__doc__, measure, FILES, ANOTHER_SIZES, quick=f"{QUICK_SIZES} lines instead of {SIZES}")

if __name__ == "__main__":
    main()
