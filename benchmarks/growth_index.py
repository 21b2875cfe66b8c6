"""One size of the index for `benchmarks.growth`: fills it and asks it questions, in a process of its own.

It is started with the number of lines, how often each kind of question is asked, and the address of a Milvus server, empty for a local
folder; it prints one JSON object. What fills and what asks are those of `benchmarks.search_growth`; its caveats hold. On a server the
collections have a name of their own, and are dropped at the end.
"""

import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from benchmarks.copies import texts_of_files
from benchmarks.growth_side import peak_rss_bytes
from benchmarks.search_growth import p95
from benchmarks.search_growth_asker import Asker
from benchmarks.search_growth_index import SPACE, fill_index
from benchmarks.sink_sides import TIMEOUT_S, drop_index
from sinks.milvus.settings import MilvusSettings

_SEED = 7


class IndexRan(NamedTuple):
    """What was measured of one size, once."""

    lines: int
    value_bytes: int
    wall_s: float
    """Of filling: masks, blocks and their writes."""
    cpu_s: float
    rss_bytes: int
    question_p50_s: float
    question_p95_s: float


def measure_index(lines: int, asked: int, server: str = "") -> IndexRan:
    """Measure in a new process. Raises SystemExit if it fails."""
    program = [sys.executable, "-m", "benchmarks.growth_index", str(lines), str(asked), server]
    ran = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=False, cwd=Path(__file__).parents[1])  # noqa: S603 - ours
    if ran.returncode:
        raise SystemExit("an index was not measured; what it says is above")
    return IndexRan(**json.loads(ran.stdout))


@contextmanager
def new_index(server: str) -> Iterator[MilvusSettings]:
    """Yield the settings of an index that is gone afterwards: on a server, or in a folder without one."""
    if not server:
        with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
            yield MilvusSettings(uri=str(Path(name) / "index"))
        return
    settings = MilvusSettings(uri=server, collection=f"bench_{uuid.uuid4().hex[:8]}", bm25="off", timeout_s=TIMEOUT_S)
    try:
        yield settings
    finally:
        drop_index(server, settings.collection, SPACE)


def _fill_and_ask(lines: int, asked: int, server: str) -> IndexRan:
    texts = texts_of_files([])
    with new_index(server) as settings:
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        filled = fill_index(settings, texts, lines)
        wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - began_cpu_s
        with closing(filled.sink):
            asker = Asker(filled)
            order = [kind for kind in asker.kinds for _ in range(asked)]
            Random(_SEED).shuffle(order)
            taken_s = [asker.seconds(kind) for kind in order]
    return IndexRan(lines, filled.raw_bytes, wall_s, cpu_s, peak_rss_bytes(), median(taken_s), p95(taken_s))


def main() -> None:
    """Measure as told."""
    print(json.dumps(_fill_and_ask(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])._asdict()), flush=True)


if __name__ == "__main__":
    main()
