"""Lines a second of today's masks, of those of version 2 and of Drain3, in turns in one process.

Processor time of one thread. Known lines are copied with other digits and shuffled, as in `benchmarks.masks`.
New lines come once each. Every round begins with sides that have learnt nothing; a ratio is taken within a round,
then the median over the rounds.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.masks import batches_of
from benchmarks.templates_groups import new_masker, version_2_masker
from consumers.columns import Column, string_column

OURS, VERSION_2, DRAIN3 = "ours", "version_2", "drain3"
KNOWN_LINES = 64_000
ROUNDS = 7
BATCH_LINES = 8_000

TakeLines = Callable[[Column], object]
Sides = Mapping[str, Callable[[], TakeLines]]
"""By name, what makes a side that has learnt nothing."""


class Speed(NamedTuple):
    """Seconds of each side in each round."""

    lines: int
    seconds: dict[str, list[float]]

    def lines_per_s(self, side: str) -> int | None:
        """Return the median over the rounds; None without that side."""
        return round(self.lines / median(self.seconds[side])) if side in self.seconds else None

    def ours_is_times(self, other: str) -> float | None:
        """Return how many times faster we are than the other side; None without it."""
        if other not in self.seconds:
            return None
        return round(median(theirs / ours for ours, theirs in zip(self.seconds[OURS], self.seconds[other], strict=True)), 2)


def our_sides() -> dict[str, Callable[[], TakeLines]]:
    """Return today's masks and those of version 2."""
    return {OURS: lambda: new_masker().mask_column, VERSION_2: lambda: version_2_masker().mask_column}


def drain_side() -> TakeLines:
    """Return a miner of Drain3 that takes columns."""
    from benchmarks.templates_drain import new_miner  # noqa: PLC0415 - not installed everywhere

    miner = new_miner()
    return lambda column: [miner.add_log_message(text) for text in column.to_pylist()]


def measure_known(texts: Sequence[str], sides: Sides, *, lines: int = KNOWN_LINES, rounds: int = ROUNDS) -> Speed:
    """Measure a stream that repeats itself."""
    return Speed(lines, _measure(batches_of(texts, lines, BATCH_LINES), sides, rounds))


def measure_new(texts: Sequence[str], sides: Sides, *, rounds: int = ROUNDS) -> Speed:
    """Measure lines that come once each."""
    batches = [string_column(texts[start : start + BATCH_LINES]) for start in range(0, len(texts), BATCH_LINES)]
    return Speed(len(texts), _measure(batches, sides, rounds))


def _measure(batches: Sequence[Column], sides: Sides, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each side in each round; the sides take turns with the batches."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(rounds):
        new = {name: make() for name, make in sides.items()}
        spent = dict.fromkeys(names, 0.0)
        for turn, batch in enumerate(batches):
            first = (turn + number) % len(names)
            for name in names[first:] + names[:first]:
                began_s = time.thread_time()
                new[name](batch)
                spent[name] += time.thread_time() - began_s
        for name, spent_s in spent.items():
            seconds[name].append(spent_s)
    return seconds
