"""Storing lines: the worker's own sink against rows one by one, lists of dicts, and the vector in every line.

    python -m benchmarks.sink [--quick] [--json] [--server URI | --lite]

Caveats first. Milvus runs on the same machine and shares its processors with the client: Milvus Lite in this very process, then a server,
which is the one of PyPI's wheel (2.3.5, without BM25) unless `--server` names another. Time is until Milvus has acknowledged. All sides
get the same lines, made up by `producers.log_feed`; every tenth brings a new template, which is about what real logs give. They take
turns within a round, and a ratio of lines a second is taken within a round. Figures are medians over the rounds; beside them the worst
round, and all rounds together: in a local folder our sink writes its memory out every 32,000 rows, which few rounds meet, and which
pymilvus leaves for later. Rows one by one are fewer, because they take so long. Making the lines (dicts, rows, vectors) is not timed.
"""

import argparse
import json
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import harmonic_mean, median
from typing import Any

import numpy as np

from benchmarks.own_milvus import own_milvus
from benchmarks.sink_sides import Batch, Dicts, Flat, Ours, Place, Side
from consumers.text.mask import Masker
from producers.log_feed import synthetic_lines
from producers.log_vocabulary import LOG_TEMPLATES
from sinks.milvus.fields import PAD_DIM
from sinks.milvus.lite import LocalMilvus
from sinks.row import LineRow, TemplateRow, row_id

DIM = 384
BATCH_ROWS = 2_000
"""Lines at a time: what the worker's store step takes at most (`milvus.batch_rows`)."""
LINES, QUICK_LINES = 10_000, 2_000
"""Stored by each side in each round."""
ALONE, QUICK_ALONE = 300, 50
"""Stored row by row in each round."""
ROUNDS, QUICK_ROUNDS = 9, 3
LINES_A_TEMPLATE = 10
_SEED = 7
_START_MS = 1_700_000_000_000

RATIOS = {"vs_row_by_row": "row_by_row", "vs_list_of_dict": "list_of_dict", "two_level_vs_flat": "flat"}
"""Key of a ratio → the side that ours is compared with."""
Rates = dict[str, list[float]]
"""Lines a second by side, one for each round."""


class Stream:
    """Endless different lines; a template comes with its first line.

    Thread: one.
    """

    def __init__(self, dim: int) -> None:
        self._random = random.Random(_SEED)
        self._draw = np.random.default_rng(_SEED)
        self._dim = dim
        self._stored: list[TemplateRow] = []
        self._offset = 0

    def take(self, count: int) -> Batch:
        """Return the next `count` lines."""
        raw = [line.decode() for line in synthetic_lines(_SEED + self._offset, count, _START_MS + 8 * self._offset)]
        new: list[TemplateRow] = []
        rows: list[LineRow] = []
        vectors = []
        for text, masked in zip(raw, Masker().mask(raw), strict=True):
            if self._offset % LINES_A_TEMPLATE == 0:
                new.append(self._template(masked))
                self._stored.append(new[-1])
                template = new[-1]
            else:
                template = self._random.choice(self._stored)
            rows.append(self._line(text, template.digest))
            vectors.append(template.vector)
            self._offset += 1
        pad = [0.0] * PAD_DIM
        return Batch(new, rows, vectors, [row._asdict() for row in new], [row._asdict() | {"pad": pad} for row in rows])

    def _template(self, text: str) -> TemplateRow:
        vector = self._draw.standard_normal(self._dim).astype(np.float32)
        return TemplateRow(f"{self._random.getrandbits(128):032x}", vector / np.linalg.norm(vector), text)

    def _line(self, text: str, digest: str) -> LineRow:
        template, offset = LOG_TEMPLATES[self._offset % len(LOG_TEMPLATES)], self._offset
        time_ms = _START_MS + 8 * offset
        row = row_id("logs", "e1", 0, offset, 0, 0)
        return LineRow(row, digest, text, time_ms, template.service, template.level, "logs", 0, offset, 0, 0, 1)


def measure(sides: Sequence[Side], *, lines: int, alone: int, rounds: int, dim: int = DIM) -> Rates:
    """Run the sides in turns, and check that everything was stored."""
    stream = Stream(dim)
    rates: Rates = {side.name: [] for side in sides}
    stored = {side.name: (0, 0) for side in sides}

    def store(side: Side, batches: Sequence[Batch]) -> float:
        began_s = time.perf_counter()
        for batch in batches:
            side.store(batch)
        took_s = time.perf_counter() - began_s
        had_lines, had_templates = stored[side.name]
        count = sum(len(batch.lines) for batch in batches)
        stored[side.name] = had_lines + count, had_templates + sum(len(batch.templates) for batch in batches)
        return count / took_s

    first = stream.take(LINES_A_TEMPLATE)
    for side in sides:
        store(side, [first])
    for turn in range(rounds):
        few = stream.take(alone)
        many = [stream.take(min(BATCH_ROWS, lines - start)) for start in range(0, lines, BATCH_ROWS)]
        for place in range(len(sides)):
            side = sides[(turn + place) % len(sides)]
            rates[side.name].append(store(side, [few] if side.name == "row_by_row" else many))
    for side in sides:
        wanted = (stored[side.name][0], 0 if isinstance(side, Flat) else stored[side.name][1])
        if side.counts() != wanted:
            raise SystemExit(f"{side.name} stored {side.counts()} lines and templates of {wanted}: the figures would be worth nothing")
    return rates


@contextmanager
def lite_sides(dim: int = DIM) -> Iterator[list[Side]]:
    """Open all sides in local folders: ours alone in one, as in the worker, the others in another."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name, ExitStack() as stack:
        local = LocalMilvus(Path(name) / "others")
        stack.callback(local.close)
        place = Place(str(Path(name) / "ours"), local=True, prefix="bench", dim=dim)
        yield _open(stack, place, place._replace(uri=local.address))


@contextmanager
def server_sides(uri: str, dim: int = DIM) -> Iterator[list[Side]]:
    """Open all sides on a server, in their own collections, which are dropped at the end."""
    with ExitStack() as stack:
        place = Place(uri, local=False, prefix=f"bench_{uuid.uuid4().hex[:8]}", dim=dim)
        yield _open(stack, place, place)


def _open(stack: ExitStack, ours: Place, others: Place) -> list[Side]:
    sides: list[Side] = []
    row_by_row, list_of_dict = partial(Dicts, name="row_by_row"), partial(Dicts, name="list_of_dict")
    makers: tuple[tuple[Callable[[Place], Side], Place], ...] = ((Ours, ours), (row_by_row, others), (list_of_dict, others), (Flat, others))
    for make, place in makers:
        sides.append(make(place))
        stack.callback(sides[-1].close)
    return sides


def figures_of(lite: Rates | None, server: Rates | None) -> dict[str, Any]:
    """Return what `--json` prints."""
    backends = {"lite": lite, "server": server}
    ratios = {key: {name: _ratios(rates, other) for name, rates in backends.items()} for key, other in RATIOS.items()}
    return {
        **{key: {name: each and round(median(each), 2) for name, each in by.items()} for key, by in ratios.items()},
        "worst": {key: {name: each and round(min(each), 2) for name, each in by.items()} for key, by in ratios.items()},
        "overall": {key: {name: _overall(rates, other) for name, rates in backends.items()} for key, other in RATIOS.items()},
        "lines_per_s": {name: rates and {side: round(median(each), 1) for side, each in rates.items()} for name, rates in backends.items()},
    }


def _ratios(rates: Rates | None, other: str) -> list[float] | None:
    return None if rates is None else [mine / its for mine, its in zip(rates[Ours.name], rates[other], strict=True)]


def _overall(rates: Rates | None, other: str) -> float | None:
    return None if rates is None else round(harmonic_mean(rates[Ours.name]) / harmonic_mean(rates[other]), 2)


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    words = {
        "sink": "vectail's sink",
        "row_by_row": "one insert a row",
        "list_of_dict": "list[dict] batches",
        "flat": "vector in every line",
    }
    keys = {side: key for key, side in RATIOS.items()}
    for backend, rates in figures["lines_per_s"].items():
        if rates is None:
            continue
        show(f"{backend:<22} {'lines/s':>10} {'ours is times':>14} {'worst round':>12} {'all rounds':>11}")
        for side, rate in rates.items():
            key = keys.get(side)
            ratio = (
                f"{figures[key][backend]:>14,} {figures['worst'][key][backend]:>12,} {figures['overall'][key][backend]:>11,}" if key else ""
            )
            show(f"{words[side]:<22} {rate:>10,} {ratio}".rstrip())


def main(show: Callable[[str], None] = print) -> None:
    """Measure on Milvus Lite, then on a server, and show both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LINES} lines a round instead of {LINES}, {QUICK_ROUNDS} rounds")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--server", metavar="URI", help="a running Milvus, instead of one started for this")
    where.add_argument("--lite", action="store_true", help="no server at all")
    chosen = parser.parse_args()
    size = {
        "lines": QUICK_LINES if chosen.quick else LINES,
        "alone": QUICK_ALONE if chosen.quick else ALONE,
        "rounds": QUICK_ROUNDS if chosen.quick else ROUNDS,
    }
    with lite_sides() as sides:
        lite = measure(sides, **size)
    server, missing = None, ""
    with ExitStack() as stack:
        uri = chosen.server or ""
        if not uri and not chosen.lite:
            uri, missing = stack.enter_context(own_milvus())
        if uri:
            server = measure(stack.enter_context(server_sides(uri)), **size)
    figures = figures_of(lite, server) | ({"no_server": missing} if missing else {})
    if chosen.json:
        show(json.dumps(figures))
        return
    show_table(figures, show)
    if missing:
        show(f"no server: {missing}")


if __name__ == "__main__":
    main()
