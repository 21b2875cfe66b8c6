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

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any, NamedTuple

from benchmarks.copies import SYNTHETIC, texts_of_files
from benchmarks.search_growth_asker import Asker, Wrong
from benchmarks.search_growth_index import fill, new_sink
from sinks.sink import BlockFilter

SIZES, QUICK_SIZES = (1_000_000, 10_000_000), (100_000, 1_000_000)
ASKED, QUICK_ASKED = 100, 25
"""How often each kind of question is asked."""
_SEED = 7


class Figures(NamedTuple):
    """What was measured at one size."""

    lines: int
    first_s: float
    taken_s: Mapping[str, Sequence[float]]
    """Seconds of each question by its kind."""
    incomplete: int
    """Answers."""
    index_bytes: int
    raw_bytes: int
    rss_bytes: int
    """Memory of the process after the last question."""
    lite_rss_bytes: int
    """Of the process that serves the folder."""
    rss_growth_bytes: int
    """Of both, since an empty index was open."""
    longest_insert_s: float
    reopen_s: float

    @property
    def all_s(self) -> list[float]:
        """Seconds of all questions."""
        return [second for seconds in self.taken_s.values() for second in seconds]


def measure(texts: Sequence[str], lines: int, asked: int) -> Figures:
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
            taken_s: dict[str, list[float]] = {kind: [] for kind in asker.kinds}
            order = [kind for kind in asker.kinds for _ in range(asked)]
            Random(_SEED).shuffle(order)
            for kind in order:
                taken_s[kind].append(asker.seconds(kind))
            own_bytes, lite_bytes = rss_bytes(filled.sink.local_pid)
        index_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        reopen_s = seconds_to_reopen(folder, lines)
    memory = own_bytes, lite_bytes, own_bytes + lite_bytes - before_bytes
    return Figures(lines, first_s, taken_s, asker.incomplete, index_bytes, filled.raw_bytes, *memory, filled.longest_insert_s, reopen_s)


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


def figures_of(smaller: Figures, larger: Figures) -> dict[str, Any]:
    """Return what `--json` prints."""
    return _told(larger) | {"growth": round(p95(larger.all_s) / p95(smaller.all_s), 2), "smaller": _told(smaller)}


def _told(one: Figures) -> dict[str, Any]:
    return {
        "lines": one.lines,
        "first_query_s": round(one.first_s, 4),
        "p50_s": round(median(one.all_s), 4),
        "p95_s": round(p95(one.all_s), 4),
        "incomplete_share": round(one.incomplete / len(one.all_s), 4),
        "index_bytes_per_raw_byte": round(one.index_bytes / one.raw_bytes, 3),
        "rss_bytes": one.rss_bytes,
        "milvus_lite_rss_bytes": one.lite_rss_bytes,
        "rss_growth_bytes": one.rss_growth_bytes,
        "longest_insert_s": round(one.longest_insert_s, 3),
        "reopen_s": round(one.reopen_s, 3),
        "kinds": {kind: {"p50_s": round(median(taken), 4), "p95_s": round(p95(taken), 4)} for kind, taken in one.taken_s.items()},
    }


def show_table(figures: Mapping[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    sides = figures["smaller"], figures
    show(f"{'':<20}" + "".join(f"{one['lines']:>22,} lines" for one in sides))
    show(f"{'first question':<20}" + "".join(f"{1e3 * one['first_query_s']:>25.1f} ms" for one in sides))
    rows = {"all questions": sides, **{kind: tuple(one["kinds"][kind] for one in sides) for kind in figures["kinds"]}}
    for name, both in rows.items():
        show(f"{name:<20}" + "".join(f"{1e3 * one['p50_s']:>11.1f} ms, p95 {1e3 * one['p95_s']:>6.1f} ms" for one in both))
    show(f"{'incomplete answers':<20}" + "".join(f"{one['incomplete_share']:>28.1%}" for one in sides))
    show(f"{'index / raw bytes':<20}" + "".join(f"{one['index_bytes_per_raw_byte']:>28.3f}" for one in sides))
    for name, key in (("memory", "rss_bytes"), ("memory grown by", "rss_growth_bytes")):
        show(f"{name:<20}" + "".join(f"{one[key] / 1e6:>25,.0f} MB" for one in sides))
    for name, key in (("longest insert", "longest_insert_s"), ("opened again in", "reopen_s")):
        show(f"{name:<20}" + "".join(f"{one[key]:>26.2f} s" for one in sides))
    show(f"p95 grows {figures['growth']} times   (goal: at most 3)")


def main(show: Callable[[str], None] = print, arguments: Sequence[str] | None = None) -> None:
    """Fill two indexes, ask both, and show how long it took."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help=f"logs (default: {SYNTHETIC:,} synthetic lines)")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SIZES} lines instead of {SIZES}")
    parser.add_argument("--lines", type=int, nargs=2, metavar=("FEW", "MANY"), help="other numbers of lines")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    chosen = parser.parse_args(arguments)
    texts = texts_of_files(chosen.files)
    try:
        sizes = chosen.lines or (QUICK_SIZES if chosen.quick else SIZES)
        smaller, larger = (measure(texts, lines, QUICK_ASKED if chosen.quick else ASKED) for lines in sizes)
    except Wrong as error:
        parser.error(str(error))
    figures = figures_of(smaller, larger)
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
