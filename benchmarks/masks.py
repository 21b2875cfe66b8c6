"""Lines masked per second, and how that compares with another revision of this project.

    python -m benchmarks.masks [FILES…] [--quick] [--json] [--against REV [--differing]]

Caveats first. Figures are processor time of one thread that does nothing but mask. Lines are those of the files, or synthetic ones, copied
with other digits and shuffled: a stream of few systems that repeat themselves. A masker remembers what it has masked, so every round begins
with a new one, which learns again; still, streams whose lines differ in more than digits are masked at a third of the speed. The sides take
turns with the same batches in one process; each figure is a median over the rounds, and `vs` is the other side's median divided by ours. A
revision whose masker knows no columns gets lists and returns lists, as its callers had it. If any line is masked differently, there are no
figures, except with `--differing`, which says how many lines are. The other revision runs with the libraries installed here.
"""

import argparse
import importlib
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from benchmarks.copies import copies, texts_of_files
from benchmarks.other_revision import unpack
from consumers.columns import Column, string_column
from consumers.text.mask import Masker

LINES, QUICK_LINES = 200_000, 40_000
ROUNDS, QUICK_ROUNDS = 7, 5
BATCH_LINES = (2_000, 8_000)
"""The last one is the size of the figures that are not listed by size."""
_ROOT = Path(__file__).parent.parent
_PACKAGE, _THEIRS = "consumers", "consumers_of_another_revision"
_SEED = 7

MaskColumn = Callable[[Column], Any]
"""Masks a column; what it returns is unpacked outside the measured time."""
Side = Callable[[], MaskColumn]
"""Makes a masker that remembers nothing yet."""


class MaskedDifferently(Exception):
    """Two sides mask a line differently; one line for the user."""


def our_side() -> MaskColumn:
    """Return this revision's way."""
    return Masker().mask_column


def load_side(revision: str, folder: Path) -> Side:
    """Copy a revision's package into the folder under another name and import it from there; raises `CalledProcessError`."""
    unpack(_ROOT, revision, folder, _PACKAGE)
    (folder / _PACKAGE).rename(folder / _THEIRS)
    for file in folder.rglob("*.py"):
        source = file.read_text()
        file.write_text(re.sub(rf"^(\s*(?:from|import) ){_PACKAGE}\b", rf"\1{_THEIRS}", source, flags=re.MULTILINE))
    sys.path.insert(0, str(folder))
    try:
        masker = importlib.import_module(f"{_THEIRS}.text.mask").Masker
    finally:
        sys.path.remove(str(folder))
    if hasattr(masker, "mask_column"):
        return lambda: masker().mask_column
    return lambda: masker().mask


def batches_of(texts: Sequence[str], lines: int, size: int) -> list[Column]:
    """Return that many copied lines in a random order, in batches."""
    drawn = [text for copy in copies(texts, lines) for text in copy]
    Random(_SEED).shuffle(drawn)
    return [string_column(drawn[start : start + size]) for start in range(0, lines, size)]


class Measured(NamedTuple):
    """What a number of rounds with the same batches gave."""

    seconds: list[list[float]]
    """Of each side in each round."""
    distinct: int
    """Masked texts of ours."""
    differing: int
    """Lines that the sides mask differently."""


def measure(sides: Sequence[Side], batches: Sequence[Column], rounds: int, *, may_differ: bool = False) -> Measured:
    """Mask every batch on every side, in turns; raises `MaskedDifferently` unless the sides may differ."""
    seconds: list[list[float]] = [[] for _ in sides]
    distinct, differing = set[str](), 0
    for number in range(rounds):
        maskers = [side() for side in sides]
        spent = [0.0] * len(sides)
        for turn, batch in enumerate(batches):
            results: list[list[str]] = [[] for _ in sides]
            for place in _in_turn(len(sides), turn + number):
                given = batch if maskers[place].__name__ == "mask_column" else batch.to_pylist()
                began_s = time.thread_time()
                masked = maskers[place](given)
                spent[place] += time.thread_time() - began_s
                results[place] = _unpacked(masked) if number == 0 else []
            if may_differ:
                differing += sum(len(set(masked)) > 1 for masked in zip(*results, strict=True))
            else:
                _compare(batch, results)
            distinct.update(results[0])
        for place, side_s in enumerate(spent):
            seconds[place].append(side_s)
    return Measured(seconds, len(distinct), differing)


def _in_turn(sides: int, first: int) -> list[int]:
    return [(place + first) % sides for place in range(sides)]


def _unpacked(masked: Any) -> list[str]:  # noqa: ANN401 - what either revision returns
    return masked if isinstance(masked, list) else [masked.values[code] for code in masked.codes.tolist()]


def _compare(batch: Column, results: Sequence[list[str]]) -> None:
    ours, *others = results
    for theirs in others:
        for text, mine, other in zip(batch.to_pylist() if ours != theirs else (), ours, theirs, strict=False):
            if mine != other:
                raise MaskedDifferently(f"{text!r} is masked to {mine!r} here and to {other!r} there")


def figures_of(texts: Sequence[str], sides: Sequence[Side], lines: int, rounds: int, *, may_differ: bool = False) -> dict[str, Any]:
    """Measure both sizes of batches; `vs` only if there is another side, `differing` only if they may differ."""
    lines_per_s, vs, distinct, differing = dict[str, int](), dict[str, float](), 0, 0
    for size in BATCH_LINES:
        seconds, distinct, differing = measure(sides, batches_of(texts, lines, size), rounds, may_differ=may_differ)
        ours_s, *others_s = map(median, seconds)
        lines_per_s[str(size)] = round(lines / ours_s)
        vs |= {str(size): round(other_s / ours_s, 2) for other_s in others_s}
    main = str(BATCH_LINES[-1])
    figures: dict[str, Any] = {
        "lines_per_s": lines_per_s[main],
        "us_per_line": round(1e6 / lines_per_s[main], 3),
        "distinct": distinct,
        "batch": lines_per_s,
        "lines": lines,
        "rounds": rounds,
        **({"differing": differing} if may_differ else {}),
    }
    return {**figures, "vs": vs[main], "vs_batch": vs} if vs else figures


def main(show: Callable[[str], None] = print) -> None:
    """Measure and show figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_LINES} lines and {QUICK_ROUNDS} rounds")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    parser.add_argument("--against", metavar="REV", help="compare with this revision, anything that git knows")
    parser.add_argument("--differing", action="store_true", help="with --against: count the lines that are masked differently, and go on")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        sides: list[Side] = [our_side]
        try:
            if chosen.against:
                sides.append(load_side(chosen.against, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vectail-bench-")))))
            lines, rounds = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
            figures = figures_of(texts_of_files(chosen.files), sides, lines, rounds, may_differ=chosen.differing)
        except subprocess.CalledProcessError as error:
            raise SystemExit(error.stderr.decode().strip()) from error
        except MaskedDifferently as error:
            raise SystemExit(str(error)) from error
    if chosen.json:
        show(json.dumps(figures))
        return
    for size, rate in figures["batch"].items():
        ratio = f", {figures['vs_batch'][size]} times {chosen.against}" if chosen.against else ""
        show(f"in batches of {size}: {rate:,} lines a second{ratio}")
    show(f"{figures['distinct']:,} distinct masked texts")
    if chosen.differing:
        show(f"{figures['differing']:,} of {figures['lines']:,} lines are masked differently")


if __name__ == "__main__":
    main()
