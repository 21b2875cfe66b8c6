"""Times of structured entries: the values of fields, texts and numbers, in one column."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from consumers.columns import string_column
from consumers.decode.found import NO_TIME
from consumers.decode.json_text import Scalar
from consumers.decode.rules import Clock
from consumers.decode.times import parse_times

_SCALES: Final = ((1e9, 1e10, 1e3), (1e11, 1e13, 1.0), (1e14, 1e16, 1e-3), (1e17, 9.2e18, 1e-6))
"""Numbers from, numbers below, and milliseconds in one of them: seconds, ms, µs, ns. What is between is no time."""


_OFFSET: Final = re.compile(r"[+-]\d\d:\d\d")
_ZONE: Final = re.compile(r"UTC|GMT|[A-Z][A-Za-z_]{1,20}(?:/[A-Za-z_+\-0-9]{1,30}){1,2}")
"""Not `localtime`, which is another zone on another machine."""
_NEAR_MS: Final = 86_400_000


def is_near(times_ms: NDArray[np.int64], kafka_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of n times are within a day of Kafka's: bool[n]."""
    return (times_ms >= kafka_ms - _NEAR_MS) & (times_ms <= kafka_ms + _NEAR_MS)


def with_zone(local: str, zone: str) -> str | None:
    """Return a date and a time of day as a time with the zone that they are of: an offset, or a name; None if it is none."""
    if _OFFSET.fullmatch(zone):
        return local + zone
    if not _ZONE.fullmatch(zone):
        return None
    try:
        return datetime.fromisoformat(local).replace(tzinfo=ZoneInfo(zone)).isoformat()
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return None


def times_of(values: Sequence[Scalar | None], kafka_ms: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """Return the times that n values stand for, milliseconds since 1970; `NO_TIME` where they stand for none: int64[n]."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return parse_times(string_column(values), kafka_ms, clock)  # type: ignore[arg-type]
    found = np.full(len(values), NO_TIME)
    if str in kinds:
        rows = np.array([row for row, value in enumerate(values) if type(value) is str])
        texts = string_column([values[row] for row in rows.tolist()])
        found[rows] = parse_times(texts, kafka_ms[rows], clock)
    for kind in (int, float):
        if kind in kinds:
            places = [row for row, value in enumerate(values) if type(value) is kind]
            found[places] = _times_of_numbers([values[row] for row in places])  # type: ignore[misc]
    return found


def _times_of_numbers(numbers: Sequence[int | float]) -> NDArray[np.int64]:
    about = np.array(numbers, np.float64)
    found = np.full(len(numbers), NO_TIME)
    for least, most, factor in _SCALES:
        rows = np.flatnonzero((about >= least) & (about < most))
        if not len(rows):
            continue
        if type(numbers[0]) is float:
            # A microsecond makes up for what binary fractions lose: 1700000000.123 s is 123 ms and not 122.
            found[rows] = np.floor(about[rows] * factor + 0.001).astype(np.int64)
        else:
            exact = np.array([numbers[row] for row in rows.tolist()], np.int64)
            found[rows] = exact * int(factor) if factor >= 1 else exact // round(1 / factor)
    return found
