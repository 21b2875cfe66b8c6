"""Searching among many lines on Milvus Lite: how long a question takes, and how that grows with the number of lines.

    python -m benchmarks.search_growth [FILES…] [--quick] [--json]

Caveats first. The lines are those of the files, or 32,000 synthetic ones, copied with other digits (`search_growth_index`); services and
levels are made up, and a filtered question names an hour and the service of the template that it is about. Lines are stored as the worker
stores them at full speed, 1,024 of a partition a block; nothing is left to be merged, and nothing is written meanwhile. Questions go
through what answers the worker's queries, but a query's vector is a template's with noise: no model runs, and neither HTTP nor Kafka is in
the time. Each kind is asked equally often, in random order, with templates, words, identifiers, windows and places drawn each time; the
cache of decoded blocks is as large as in the worker. The first question comes right after the last line was stored. The folder is measured
after it was closed.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any, NamedTuple

import numpy as np

from benchmarks.copies import SYNTHETIC, texts_of_files
from benchmarks.search_growth_index import PARTITIONS, START_MS, TOPIC, Filled, fill, service_of
from sinks.reading.counting import CountQuery
from sinks.reading.filters import LineFilter, never
from sinks.reading.reader import BlockReader
from worker.querying.dense import rank_by_meaning
from worker.querying.lexical import rank_by_words
from worker.querying.ranking import Index, SearchBounds
from worker.querying.template_index import TemplateIndex
from worker.querying.words import words_of

SIZES, QUICK_SIZES = (1_000_000, 10_000_000), (100_000, 1_000_000)
ASKED, QUICK_ASKED = 100, 25
"""How often each kind of question is asked."""
K = 10
_AROUND = 10
_BUCKETS = 60
_HOUR_MS = 3_600_000
_SEED = 7


class Wrong(Exception):
    """An answer that cannot be right: the figures would be worth nothing."""


class Checked(NamedTuple):
    """What is known of an answer."""

    complete: bool
    """False: the reader gave up, because what it had listed grew too old."""
    is_plausible: bool


Ask = Callable[[], Checked]


class Asker:
    """Asks questions of all kinds, each time others, and checks their answers.

    Thread: one.
    """

    def __init__(self, filled: Filled) -> None:
        self._filled = filled
        self._random = Random(_SEED)
        self._noise = np.random.default_rng(_SEED)
        self._reader = BlockReader(filled.sink)
        self._index = Index(filled.sink, self._reader, TemplateIndex(filled.sink, time.monotonic))
        self.incomplete = 0
        """How many answers were incomplete."""
        self.kinds: Mapping[str, Callable[[], Ask]] = {
            "dense": lambda: self._dense(filtered=False),
            "dense_filtered": lambda: self._dense(filtered=True),
            "words": self._words,
            "identifiers": self._identifiers,
            "around": self._around,
            "templates": lambda: self._counts(CountQuery(self._window(), by=("template",), top=K)),
            "templates_of_all": lambda: self._counts(CountQuery(by=("template",), top=K)),
            "counts_by_time": self._by_time,
            "counts_by_service": lambda: self._counts(CountQuery(self._window()._replace(levels=("ERROR",)), by=("service", "level"))),
        }
        """Name → draws a question; what it returns asks it."""

    def seconds(self, kind: str) -> float:
        """Ask one question of a kind. Raises Wrong."""
        ask = self.kinds[kind]()
        began_s = time.perf_counter()
        answer = ask()
        took_s = time.perf_counter() - began_s
        self.incomplete += not answer.complete
        if answer.complete and not answer.is_plausible:
            raise Wrong(f"a question of kind {kind} got an answer that cannot be right")
        return took_s

    def _dense(self, *, filtered: bool) -> Ask:
        near = self._random.choice(self._filled.templates)
        vector = near.vector + 0.02 * self._noise.standard_normal(len(near.vector)).astype(np.float32)
        only = self._window()._replace(services=(service_of(near.text),)) if filtered else LineFilter()
        bounds = SearchBounds(K, 1, only, never)

        def ask() -> Checked:
            found = rank_by_meaning(self._index, vector / np.linalg.norm(vector), bounds)
            lines = sum(len(one.lines) for one in found.templates)
            return Checked(found.complete, filtered or lines >= min(K, len(self._filled.templates)))

        return ask

    def _words(self) -> Ask:
        text = self._random.choice(self._filled.templates).text
        words = words_of(" ".join(self._random.sample(text.split(), min(3, len(text.split())))))

        def ask() -> Checked:
            found = rank_by_words(self._index, words, SearchBounds(K, 1, LineFilter(), never))
            return Checked(found.complete, bool(found.templates) or not words.terms)

        return ask

    def _identifiers(self) -> Ask:
        while True:
            sample = self._random.choice(self._filled.samples)
            words = words_of(self._random.choice(sample.text.split() or [""]).strip("[]()<>,;:'\""))
            if words.is_exact and words.identifiers:
                break

        def ask() -> Checked:
            found = rank_by_words(self._index, words, SearchBounds(K, K, LineFilter(), never))
            lines = [line for one in found.templates for line in one.lines]
            # Lines that have all come first; where they are few, those follow that have any.
            held = [words.identifiers_in(line.text or "") for line in lines]
            return Checked(found.complete, bool(held) and held[0] == len(words.identifiers) and min(held) > 0)

        return ask

    def _around(self) -> Ask:
        one = self._random.choice(self._filled.samples)
        first, end = max(one.offset - _AROUND, 0), min(one.offset + _AROUND + 1, self._filled.lines // PARTITIONS)

        def ask() -> Checked:
            found = self._reader.lines_between(TOPIC, one.partition, first, end)
            return Checked(found.complete, len(found.lines) == end - first and any(line.text == one.text for line in found.lines))

        return ask

    def _by_time(self) -> Ask:
        return self._counts(CountQuery(self._window(), by=("time",), bucket_ms=max(self._window_ms // _BUCKETS, 1)))

    def _counts(self, query: CountQuery) -> Ask:
        def ask() -> Checked:
            counts = self._reader.count(query)
            return Checked(counts.complete, bool(counts.rows) or bool(query.only.levels))

        return ask

    def _window(self) -> LineFilter:
        since_ms = self._random.randrange(START_MS, self._filled.end_ms - self._window_ms)
        return LineFilter(since_ms, since_ms + self._window_ms)

    @property
    def _window_ms(self) -> int:
        """An hour, or a quarter of all where that is less."""
        return min(_HOUR_MS, (self._filled.end_ms - START_MS) // 4)


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

    @property
    def all_s(self) -> list[float]:
        """Seconds of all questions."""
        return [second for seconds in self.taken_s.values() for second in seconds]


def measure(texts: Sequence[str], lines: int, asked: int) -> Figures:
    """Fill an index and ask. Raises Wrong."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name:
        folder = Path(name) / "index"
        filled = fill(folder, texts, lines)
        with closing(filled.sink):
            asker = Asker(filled)
            first_s = asker.seconds("dense")
            taken_s: dict[str, list[float]] = {kind: [] for kind in asker.kinds}
            order = [kind for kind in asker.kinds for _ in range(asked)]
            Random(_SEED).shuffle(order)
            for kind in order:
                taken_s[kind].append(asker.seconds(kind))
        index_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Figures(lines, first_s, taken_s, asker.incomplete, index_bytes, filled.raw_bytes)


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
