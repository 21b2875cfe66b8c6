"""Storing lines: the worker's blocks against a row for each line, as pymilvus documents it.

    python -m benchmarks.sink [--quick] [--json] [--server URI | --lite]

Caveats first. Milvus runs on the same machine and shares its processors with the client: Milvus Lite in a process of its own, as in a
worker, then a server, which is the one of PyPI's wheel (2.3.5) unless `--server` names another. Time runs from columns (blocks) or dicts
(rows) to Milvus's acknowledgement, in one thread; blocks are built and encoded in it. `rows` is what pymilvus documents, upserts of lists
of dicts. Making dicts of lines is not timed. Both sides get lines of the same stream, made up by `producers.log_feed` with other digits in
every copy; blocks get 20 times as many of them, because they take so little. Both upsert, as a writer has to whose lines come again after
a crash. The sides take turns within a round, and a ratio of lines a second is taken within a round. Figures are medians over the rounds;
beside them the worst round, and all rounds together: a local folder writes rows from memory to disk every few ten thousand rows, which few
rounds meet. Templates are written by none: a stream's lines are of known ones but for a few. Bytes a line are those of the folder on
Milvus Lite, and those of the requests on a server.
"""

import random
import tempfile
import uuid
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import harmonic_mean, median
from typing import Any

from benchmarks.own_servers import own_or_given_milvus
from benchmarks.program import Figures, program
from benchmarks.race import Wrong, race, ratios, seconds_of
from benchmarks.sink_sides import Batch, Blocks, Place, Rows, Side, row_of
from consumers.text.mask import Masker
from producers.log_feed import synthetic_lines
from producers.log_vocabulary import LOG_TEMPLATES
from sinks.line import Line
from sinks.lines import lines_of
from sinks.milvus.lite import LocalMilvus
from sinks.row import TemplateText

DIM = 384
LINES, QUICK_LINES = 20_000, 5_000
"""Stored as rows in each round."""
BLOCK_LINES_A_ROW = 20
"""Stored in blocks in each round."""
ROUNDS, QUICK_ROUNDS = 7, 3
BATCH_LINES = 8_000
"""Of one batch of columns: what the prepare step takes at most."""
POOL_LINES = 8_000
_SEED = 7
_START_MS = 1_700_000_000_000
_GAP_MS = 8


class Stream:
    """Endless different lines: a pool of them again and again, each time with other digits, so that the templates stay.

    Thread: one.
    """

    def __init__(self) -> None:
        self._random = random.Random(_SEED)
        self._texts = [line.decode() for line in synthetic_lines(_SEED, POOL_LINES, _START_MS)]
        self._masked = Masker().mask(self._texts)
        self._offset = 0

    def take(self, rows: int, lines: int) -> Batch:
        """Return the next `lines` lines as columns, and the first `rows` of them as rows."""
        taken = [line for start in range(0, lines, len(self._texts)) for line in self._copy(min(lines - start, len(self._texts)))]
        columns = [lines_of(taken[start : start + BATCH_LINES]) for start in range(0, lines, BATCH_LINES)]
        return Batch(columns, [row_of(line) for line in taken[:rows]])

    def _copy(self, count: int) -> Iterator[Line]:
        digits = str.maketrans("0123456789", "".join(self._random.sample("0123456789", 10)))
        for text, masked in zip(self._texts[:count], self._masked[:count], strict=True):
            template = LOG_TEMPLATES[self._offset % len(LOG_TEMPLATES)]
            moment = _START_MS + _GAP_MS * self._offset
            names = (template.service, template.level)
            yield Line("logs", "e1", 0, self._offset, 0, 0, 1, text.translate(digits), TemplateText(masked), moment, moment, *names)
            self._offset += 1


def race_of(sides: list[Side], lines: int, rounds: int) -> dict[str, list[float]]:
    """Run the sides in turns; return lines a second by side and round. Raises Wrong unless everything was stored."""
    stream, stored = Stream(), {side.name: 0 for side in sides}
    batch = stream.take(1, 1)

    def prepare() -> None:
        nonlocal batch
        batch = stream.take(lines, lines * BLOCK_LINES_A_ROW)

    def lines_per_s(side: Side) -> float:
        stored[side.name] += (count := side.lines_in(batch))
        return count / seconds_of(lambda: side.store(batch))

    turns = {side.name: partial(lines_per_s, side) for side in sides}
    race(turns, 1)  # with one line
    rates = race(turns, rounds, prepare=prepare)
    for side in sides:
        if side.count() != stored[side.name]:
            raise Wrong(f"{side.name} stored {side.count()} lines of {stored[side.name]}: the figures would be worth nothing")
    return rates


def lite(lines: int, rounds: int) -> tuple[dict[str, list[float]], float]:
    """Race in local folders, blocks alone in theirs, as in the worker; return the rates, and bytes a line in blocks. Raises Wrong."""
    with tempfile.TemporaryDirectory(prefix="vectail-bench-") as name, closing(LocalMilvus(Path(name) / "rows")) as local:
        return _both(Place(str(Path(name) / "blocks"), local=True, prefix="bench"), local.address, lines, rounds)


def server(uri: str, lines: int, rounds: int) -> tuple[dict[str, list[float]], float]:
    """Race on a server, in collections that are dropped at the end. Raises Wrong."""
    return _both(Place(uri, local=False, prefix=f"bench_{uuid.uuid4().hex[:8]}"), uri, lines, rounds)


def _both(place: Place, rows_uri: str, lines: int, rounds: int) -> tuple[dict[str, list[float]], float]:
    with closing(Blocks(place, DIM)) as blocks, closing(Rows(place._replace(uri=rows_uri))) as rows:
        rates = race_of([blocks, rows], lines, rounds)
        return rates, blocks.bytes_per_line()  # nothing can be stored after it


def figures_of(rates: dict[str, list[float]] | None, bytes_per_line: float | None) -> dict[str, Any]:
    """Return the figures of one backend; None where it was not measured."""
    names = ("block_lines_per_s", "vs_rows", "bytes_per_line", "worst", "overall", "lines_per_s")
    if rates is None:
        return dict.fromkeys(names)
    times = ratios(rates["blocks"], rates["rows"])
    overall = harmonic_mean(rates["blocks"]) / harmonic_mean(rates["rows"])
    by_side = {side: median(each) for side, each in rates.items()}
    return dict(zip(names, (by_side["blocks"], median(times), bytes_per_line, min(times), overall, by_side), strict=True))


def measure(chosen: Namespace) -> Figures:
    """Measure on Milvus Lite, then on a server. Raises Wrong."""
    sizes = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
    backends, no_server = {"lite": figures_of(*lite(*sizes)), "server": figures_of(None, None)}, {}
    if not chosen.lite:
        with own_or_given_milvus(chosen.server) as started:
            if started.address:
                backends["server"] = figures_of(*server(started.address, *sizes))
            else:
                no_server = {"no_server": started.reason}
    figures = {name: {backend: of[name] for backend, of in backends.items()} for name in backends["lite"]}
    return figures | {name: {"vs_rows": figures[name]} for name in ("worst", "overall")} | no_server


def _where(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--server", metavar="URI", help="a running Milvus, instead of one started for this")
    where.add_argument("--lite", action="store_true", help="no server at all")


main = program(__doc__, measure, _where, quick=f"{QUICK_LINES} rows a round instead of {LINES}, {QUICK_ROUNDS} rounds")

if __name__ == "__main__":
    main()
