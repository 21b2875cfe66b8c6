"""Storing lines: the worker's blocks against a row for each line, written in three ways.

    python -m benchmarks.sink [--quick] [--json] [--server URI | --lite]

Caveats first. Milvus runs on the same machine and shares its processors with the client: Milvus Lite in a process of its own, as in a
worker, then a server, which is the one of PyPI's wheel (2.3.5) unless `--server` names another. Time runs from columns (blocks) or rows
(the others) to Milvus's acknowledgement, in one thread; blocks are built and encoded in it. `rows` is what pymilvus documents, upserts of
lists of dicts; `ready_made` are the same rows in requests that our own client makes ready, `flat` those with a vector in every row. Making
dicts and rows of lines is not timed, making requests of them is. All sides get lines of the same stream, made up by `producers.log_feed`
with other digits in every copy; blocks get 20 times as many of them, because they take so little. The sides take turns within a round, and
a ratio of lines a second is taken within a round. Figures are medians over the rounds; beside them the worst round, and all rounds
together: a local folder writes rows from memory to disk every few ten thousand rows, which few rounds meet. Templates are written by none:
a stream's lines are of known ones but for a few. Bytes a line are those of the folder on Milvus Lite, and those of the requests on a
server.
"""

import argparse
import json
import random
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import harmonic_mean, median
from typing import Any

import numpy as np

from benchmarks.own_servers import own_milvus
from benchmarks.row_layout import row_of
from benchmarks.sink_sides import Batch, Blocks, Flat, Place, ReadyMade, Rows, Side
from consumers.text.mask import Masker
from producers.log_feed import synthetic_lines
from producers.log_vocabulary import LOG_TEMPLATES
from sinks.line import Line
from sinks.lines import lines_of
from sinks.milvus.fields import PAD_DIM
from sinks.milvus.lite import LocalMilvus

DIM = 384
LINES, QUICK_LINES = 20_000, 5_000
"""Stored as rows by each side in each round."""
BLOCK_LINES_A_ROW = 20
"""Stored in blocks in each round."""
ROUNDS, QUICK_ROUNDS = 7, 3
BATCH_LINES = 8_000
"""Of one batch of columns: what the prepare step takes at most."""
POOL_LINES = 8_000
_SEED = 7
_START_MS = 1_700_000_000_000
_GAP_MS = 8

RATIOS = {"vs_rows": "rows", "vs_ready_made": "ready_made", "vs_flat": "flat"}
"""Key of a ratio → the side that blocks are compared with."""
Rates = dict[str, list[float]]
"""Lines a second by side, one for each round."""


class Stream:
    """Endless different lines: a pool of them again and again, each time with other digits, so that the templates stay.

    Thread: one.
    """

    def __init__(self, dim: int, pool_lines: int = POOL_LINES) -> None:
        self._random = random.Random(_SEED)
        self._texts = [line.decode() for line in synthetic_lines(_SEED, pool_lines, _START_MS)]
        self._masked = Masker().mask(self._texts)
        names = list(dict.fromkeys(self._masked))
        draw = np.random.default_rng(_SEED).standard_normal((len(names), dim)).astype(np.float32)
        self._vectors = dict(zip(names, draw / np.linalg.norm(draw, axis=1, keepdims=True), strict=True))
        self._offset = 0

    def take(self, rows: int, lines: int) -> Batch:
        """Return the next `lines` lines as columns, and the first `rows` of them as rows."""
        taken = [line for start in range(0, lines, len(self._texts)) for line in self._copy(min(lines - start, len(self._texts)))]
        few = [row_of(line, line.template) for line in taken[:rows]]
        pad = [0.0] * PAD_DIM
        return Batch(
            [lines_of(taken[start : start + BATCH_LINES]) for start in range(0, lines, BATCH_LINES)],
            few,
            np.stack([self._vectors[line.template_text] for line in taken[:rows]]),
            [row._asdict() | {"pad": pad} for row in few],
        )

    def _copy(self, count: int) -> Iterator[Line]:
        digits = str.maketrans("0123456789", "".join(self._random.sample("0123456789", 10)))
        for text, masked in zip(self._texts[:count], self._masked[:count], strict=True):
            template = LOG_TEMPLATES[self._offset % len(LOG_TEMPLATES)]
            moment = _START_MS + _GAP_MS * self._offset
            names = (template.service, template.level)
            yield Line("logs", "e1", 0, self._offset, 0, 0, 1, text.translate(digits), masked, moment, moment, *names)
            self._offset += 1


def measure(sides: Sequence[Side], *, lines: int, rounds: int, dim: int = DIM, pool_lines: int = POOL_LINES) -> Rates:
    """Run the sides in turns, and check that everything was stored."""
    stream = Stream(dim, pool_lines)
    rates: Rates = {side.name: [] for side in sides}
    first = stream.take(1, 1)
    stored = {side.name: side.store(first) for side in sides}
    for turn in range(rounds):
        batch = stream.take(lines, lines * BLOCK_LINES_A_ROW)
        for place in range(len(sides)):
            side = sides[(turn + place) % len(sides)]
            began_s = time.perf_counter()
            count = side.store(batch)
            rates[side.name].append(count / (time.perf_counter() - began_s))
            stored[side.name] += count
    for side in sides:
        if side.count() != stored[side.name]:
            raise SystemExit(f"{side.name} stored {side.count()} lines of {stored[side.name]}: the figures would be worth nothing")
    return rates


@contextmanager
def lite_sides(dim: int = DIM) -> Iterator[list[Side]]:
    """Open all sides in local folders: blocks alone in one, as in the worker, the others in another."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name, ExitStack() as stack:
        local = LocalMilvus(Path(name) / "others")
        stack.callback(local.close)
        place = Place(str(Path(name) / "blocks"), local=True, prefix="bench", dim=dim)
        yield _open(stack, place, place._replace(uri=local.address))


@contextmanager
def server_sides(uri: str, dim: int = DIM) -> Iterator[list[Side]]:
    """Open all sides on a server, in their own collections, which are dropped at the end."""
    with ExitStack() as stack:
        place = Place(uri, local=False, prefix=f"bench_{uuid.uuid4().hex[:8]}", dim=dim)
        yield _open(stack, place, place)


def _open(stack: ExitStack, blocks: Place, others: Place) -> list[Side]:
    sides: list[Side] = []
    makers: tuple[tuple[Callable[[Place], Side], Place], ...] = ((Blocks, blocks), (Rows, others), (ReadyMade, others), (Flat, others))
    for make, place in makers:
        sides.append(make(place))
        stack.callback(sides[-1].close)
    return sides


def bytes_per_line(sides: Sequence[Side]) -> float:
    """Return how many bytes a line takes in blocks; nothing can be stored after it."""
    return next(side.bytes_per_line() for side in sides if isinstance(side, Blocks))


def figures_of(lite: Rates | None, server: Rates | None, bytes_a_line: dict[str, float | None]) -> dict[str, Any]:
    """Return what `--json` prints."""
    backends = {"lite": lite, "server": server}
    ratios = {key: {name: _ratios(rates, other) for name, rates in backends.items()} for key, other in RATIOS.items()}
    medians = {key: {name: each and round(median(each), 2) for name, each in by.items()} for key, by in ratios.items()}
    return {
        "block_lines_per_s": {name: rates and round(median(rates[Blocks.name]), 1) for name, rates in backends.items()},
        "vs_rows": medians.pop("vs_rows"),
        "bytes_per_line": {name: each and round(each, 1) for name, each in bytes_a_line.items()},
        **medians,
        "worst": {key: {name: each and round(min(each), 2) for name, each in by.items()} for key, by in ratios.items()},
        "overall": {key: {name: _overall(rates, other) for name, rates in backends.items()} for key, other in RATIOS.items()},
        "lines_per_s": {name: rates and {side: round(median(each), 1) for side, each in rates.items()} for name, rates in backends.items()},
    }


def _ratios(rates: Rates | None, other: str) -> list[float] | None:
    return None if rates is None else [mine / its for mine, its in zip(rates[Blocks.name], rates[other], strict=True)]


def _overall(rates: Rates | None, other: str) -> float | None:
    return None if rates is None else round(harmonic_mean(rates[Blocks.name]) / harmonic_mean(rates[other]), 2)


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    words = {"blocks": "blocks", "rows": "rows, list[dict]", "ready_made": "rows, ready-made", "flat": "vector in every line"}
    keys = {side: key for key, side in RATIOS.items()}
    for backend, rates in figures["lines_per_s"].items():
        if rates is None:
            continue
        show(f"{backend:<22} {'lines/s':>10} {'blocks are times':>17} {'worst round':>12} {'all rounds':>11} {'bytes a line':>13}")
        for side, rate in rates.items():
            key = keys.get(side)
            if key is None:
                show(f"{words[side]:<22} {rate:>10,} {figures['bytes_per_line'][backend]:>56,}")
                continue
            three = f"{figures[key][backend]:>17,} {figures['worst'][key][backend]:>12,} {figures['overall'][key][backend]:>11,}"
            show(f"{words[side]:<22} {rate:>10,} {three}")


def main(show: Callable[[str], None] = print) -> None:
    """Measure on Milvus Lite, then on a server, and show both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LINES} rows a round instead of {LINES}, {QUICK_ROUNDS} rounds")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--server", metavar="URI", help="a running Milvus, instead of one started for this")
    where.add_argument("--lite", action="store_true", help="no server at all")
    chosen = parser.parse_args()
    size = {"lines": QUICK_LINES if chosen.quick else LINES, "rounds": QUICK_ROUNDS if chosen.quick else ROUNDS, "pool_lines": POOL_LINES}
    bytes_a_line: dict[str, float | None] = {"lite": None, "server": None}
    with lite_sides() as sides:
        lite = measure(sides, **size)
        bytes_a_line["lite"] = bytes_per_line(sides)
    server, missing = None, ""
    with ExitStack() as stack:
        uri = chosen.server or ""
        if not uri and not chosen.lite:
            uri, missing = stack.enter_context(own_milvus())
        if uri:
            sides = stack.enter_context(server_sides(uri))
            server = measure(sides, **size)
            bytes_a_line["server"] = bytes_per_line(sides)
    figures = figures_of(lite, server, bytes_a_line) | ({"no_server": missing} if missing else {})
    if chosen.json:
        show(json.dumps(figures))
        return
    show_table(figures, show)
    if missing:
        show(f"no server: {missing}")


if __name__ == "__main__":
    main()
