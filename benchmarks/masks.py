"""Lines masked per second of processor time.

    python -m benchmarks.masks [FILES…] [--quick] [--json]

Caveats first. Figures are processor time of one thread that does nothing but mask. Lines are those of the files, or synthetic ones, copied
with other digits and shuffled: a stream of few systems that repeat themselves. A masker remembers what it has masked, so every round begins
with a new one, which learns again; still, streams whose lines differ in more than digits are masked at a third of the speed. Each figure is
a median over the rounds. `benchmarks.guard --against REV` compares with another revision.
"""

import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import median

from benchmarks.copies import copies, texts_of_files
from benchmarks.program import FILES, Figures, program
from benchmarks.race import in_turn, seconds_of
from consumers.columns import Column, string_column
from consumers.text.mask import Masker

LINES, QUICK_LINES = 200_000, 40_000
ROUNDS, QUICK_ROUNDS = 7, 5
BATCH_LINES = (2_000, 8_000)
"""The last one is the size of the figures that are not listed by size."""
_SEED = 7

TakeLines = Callable[[Column], object]
Sides = Mapping[str, Callable[[], TakeLines]]
"""By name, what makes a side that has learnt nothing yet."""


def batches_of(texts: Sequence[str], lines: int, size: int) -> list[Column]:
    """Return that many copied lines in a random order, in batches."""
    drawn = [text for copy in copies(texts, lines) for text in copy]
    Random(_SEED).shuffle(drawn)
    return [string_column(drawn[start : start + size]) for start in range(0, lines, size)]


def seconds_by_side(sides: Sides, batches: Sequence[Column], rounds: int) -> dict[str, list[float]]:
    """Return the processor time of each side in each round; the sides are new in every round, and take turns with the batches."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        new = {name: make() for name, make in sides.items()}
        spent = dict.fromkeys(sides, 0.0)
        for turn, batch in enumerate(batches):
            for name in in_turn(sides, turn + number):
                take = new[name]
                spent[name] += seconds_of(lambda: take(batch), time.thread_time)  # noqa: B023 - called at once
        for name, spent_s in spent.items():
            seconds[name].append(spent_s)
    return seconds


def measure(chosen: Namespace) -> Figures:
    """Mask the lines in batches of both sizes."""
    lines, rounds = (QUICK_LINES, QUICK_ROUNDS) if chosen.quick else (LINES, ROUNDS)
    texts, rates = texts_of_files(chosen.files), dict[str, float]()
    for size in BATCH_LINES:
        batches = batches_of(texts, lines, size)
        seconds = seconds_by_side({"ours": lambda: Masker().mask_column}, batches, rounds)
        rates[str(size)] = lines / median(seconds["ours"])
    masker = Masker()
    distinct = {text for batch in batches_of(texts, lines, lines) for text in masker.mask_column(batch).values}
    rate = rates[str(BATCH_LINES[-1])]
    figures = {"lines_per_s": rate, "us_per_line": 1e6 / rate, "distinct": len(distinct), "batch": rates}
    return figures | {"lines": lines, "rounds": rounds}


main = program(__doc__, measure, FILES, quick=f"{QUICK_LINES} lines and {QUICK_ROUNDS} rounds")

if __name__ == "__main__":
    main()
