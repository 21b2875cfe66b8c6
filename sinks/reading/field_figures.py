"""Figures of one kept field: how many lines have it, and of the values that are numbers the least, the greatest, and percentiles.

`sinks.reading.counting` makes them of what it has counted by the field: of each value its lines. Of values that are too many for that, only
numbers are kept, by size: each bucket's value is within `ERROR` of all numbers in it, and there are never more buckets than doubles allow.
"""

import math
import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate, chain
from typing import Final, NamedTuple

ERROR: Final = 0.01
"""How far percentiles may be off, as a share of them, where numbers are kept by size."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WIDTH: Final = math.log((1 + ERROR) / (1 - ERROR))
_MIDDLE: Final = math.log(1 - ERROR)
"""From the upper end of a bucket to its value, as logarithms."""
_LARGEST: Final = 709.78
"""Logarithm of the largest double."""


class NumberFigures(NamedTuple):
    """Of the lines whose value is a number, as doubles.

    Thread: any.
    """

    lines: int
    least: float
    p50: float
    p95: float
    p99: float
    """The least number that is at least as large as those of such a share of the lines."""
    greatest: float
    error: float
    """How far percentiles may be off, as a share of them; 0: they are exact."""


class FieldFigures(NamedTuple):
    """Of all lines that were counted.

    Thread: any.
    """

    lines: int
    with_value: int
    """Those that have the field, with a value that is not empty."""
    values: int
    """How many values were counted one by one."""
    has_all_values: bool
    """False: there are more."""
    numbers: NumberFigures | None
    """None: no value is a number."""


class OtherValues:
    """Values that are too many to be counted one by one.

    Thread: one.
    """

    def __init__(self) -> None:
        self.lines = 0
        self.buckets: dict[float, int] = {}
        """Lines by the numbers that stand for theirs."""
        self.least, self.greatest = math.inf, -math.inf

    def add(self, value: str, lines: int) -> None:
        """Add lines that have a value."""
        self.lines += lines
        number = _number_of(value)
        if number is not None and lines:
            stands_for = _bucket_of(number)
            self.buckets[stands_for] = self.buckets.get(stands_for, 0) + lines
            self.least, self.greatest = min(self.least, number), max(self.greatest, number)


def field_figures(counted: Iterable[tuple[str, int]], others: OtherValues) -> FieldFigures:
    """Return the figures of a field: of each value the lines that have it, the empty one for lines without."""
    lines = dict(counted)
    without = lines.pop("", 0)
    with_value = sum(lines.values()) + others.lines
    numbers = [(number, count) for value, count in lines.items() if (number := _number_of(value)) is not None]
    return FieldFigures(with_value + without, with_value, len(lines), others.lines == 0, _number_figures(numbers, others))


def _number_figures(numbers: list[tuple[float, int]], others: OtherValues) -> NumberFigures | None:
    ordered = sorted(chain(numbers, others.buckets.items()))
    if not ordered:
        return None
    lines = sum(count for _, count in ordered)
    least = min([others.least, *(number for number, _ in numbers)])
    greatest = max([others.greatest, *(number for number, _ in numbers)])
    reached = list(accumulate(count for _, count in ordered))
    p50, p95, p99 = (ordered[bisect_left(reached, -(-lines * share // 100))][0] for share in (50, 95, 99))
    p50, p95, p99 = (min(max(one, least), greatest) for one in (p50, p95, p99))
    return NumberFigures(lines, least, p50, p95, p99, greatest, ERROR if others.buckets else 0.0)


def _number_of(value: str) -> float | None:
    """Return the number that a value is, as JSON writes numbers; None if it is none, or no double."""
    if _NUMBER.fullmatch(value) is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _bucket_of(number: float) -> float:
    """Return what stands for a number: within `ERROR` of it."""
    if number == 0:
        return 0.0
    end = math.ceil(math.log(abs(number)) / _WIDTH) * _WIDTH
    return math.copysign(math.exp(min(end + _MIDDLE, _LARGEST)), number)
