"""One size of the index for `benchmarks.growth`: fills it and asks it questions, in a process of its own.

What fills and what asks are those of `benchmarks.search_growth`; its caveats hold. On a server the collections have a name of their own,
and are dropped at the end.
"""

import tempfile
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.copies import texts_of_files
from benchmarks.growth_side import peak_rss_bytes
from benchmarks.search_growth import p95
from benchmarks.search_growth_asker import Asker
from benchmarks.search_growth_index import SPACE, fill_index
from benchmarks.sink_sides import TIMEOUT_S, drop_index
from sinks.milvus.milvus_settings import MilvusSettings


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
    """Measure in a new process. Raises Wrong."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(_fill_and_ask, lines, asked, server).result()


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
            taken_s = [second for seconds in Asker(filled).seconds_by_kind(asked).values() for second in seconds]
    return IndexRan(lines, filled.raw_bytes, wall_s, cpu_s, peak_rss_bytes(), median(taken_s), p95(taken_s))
