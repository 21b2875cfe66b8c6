"""Lines a second of today's masks, of those of version 2 and of Drain3, in turns in one process; for `benchmarks.templates`.

Processor time of one thread. Known lines are copied with other digits and shuffled, as in `benchmarks.masks`. New lines come once each.
Every round begins with sides that have learnt nothing; a ratio is taken within a round, then the median over the rounds.
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.masks import Sides, TakeLines, batches_of, seconds_by_side
from benchmarks.race import ratios
from benchmarks.templates_groups import new_masker, version_2_masker
from consumers.columns import string_column

OURS, VERSION_2, DRAIN3 = "ours", "version_2", "drain3"
KNOWN_LINES = 64_000
ROUNDS = 7
BATCH_LINES = 8_000


class Speed(NamedTuple):
    """Seconds of each side in each round."""

    lines: int
    seconds: dict[str, list[float]]

    def lines_per_s(self, side: str) -> int | None:
        """Return the median over the rounds; None without that side."""
        return round(self.lines / median(self.seconds[side])) if side in self.seconds else None

    def ours_is_times(self, other: str) -> float | None:
        """Return how many times faster we are than the other side; None without it."""
        return median(ratios(self.seconds[other], self.seconds[OURS])) if other in self.seconds else None


def sides_of(*, with_drain: bool) -> Sides:
    """Return today's masks, those of version 2, and Drain3 if it is there."""
    sides: Sides = {OURS: lambda: new_masker().mask_column, VERSION_2: lambda: version_2_masker().mask_column}
    return {**sides, DRAIN3: _drain_side} if with_drain else sides


def _drain_side() -> TakeLines:
    """Return a miner of Drain3 that takes columns."""
    from benchmarks.templates_drain import new_miner  # noqa: PLC0415 - not installed everywhere

    miner = new_miner()
    return lambda column: [miner.add_log_message(text) for text in column.to_pylist()]


def measure_known(texts: Sequence[str], sides: Sides) -> Speed:
    """Measure a stream that repeats itself."""
    return Speed(KNOWN_LINES, seconds_by_side(sides, batches_of(texts, KNOWN_LINES, BATCH_LINES), ROUNDS))


def measure_new(texts: Sequence[str], sides: Sides) -> Speed:
    """Measure lines that come once each."""
    batches = [string_column(texts[start : start + BATCH_LINES]) for start in range(0, len(texts), BATCH_LINES)]
    return Speed(len(texts), seconds_by_side(sides, batches, ROUNDS))
