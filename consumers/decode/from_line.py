"""What the text of a line says of itself at its beginning: when it was logged, its level, its service.

`consumers.decode.decoder` asks for entries whose record does not say it. Works on columns; a pure function of text, rules and Kafka's time.
"""

from collections.abc import Iterator
from datetime import tzinfo
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, used_values
from consumers.decode.levels import LEVELS
from consumers.decode.line_heads import Heads, heads_of
from consumers.decode.line_levels import find_levels
from consumers.decode.line_services import find_services
from consumers.decode.line_times import find_times
from consumers.decode.line_zones import resolved_times
from consumers.decode.times import LineTimes

_MOST_KEPT_ROWS = 65_536
"""Their heads take 8 MiB."""


class _Read(NamedTuple):
    """A column that was read, and what was read of it.

    Thread: one.
    """

    text: Column
    blocks: list[tuple[int, Heads, LineTimes]]


class LineHeaders:
    """Reads the headers of lines.

    Thread: one.
    """

    def __init__(self, *, timezone: tzinfo | None = None, year: int | None = None) -> None:
        """`timezone` and `year` are those of times that name none; None: UTC, and the last such time before Kafka's."""
        self._timezone = timezone
        self._year = year
        self._last: _Read | None = None

    def times(self, text: Column, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when each of n lines was logged, milliseconds since 1970; `NO_TIME` where it does not say: int64[n]."""
        time_ms = np.empty(len(text), np.int64)
        for first, heads, times in self._read(text):
            block = slice(first, first + heads.size)
            time_ms[block] = resolved_times(
                times.local_ms,
                times.zone_min,
                times.has_year,
                times.end > 0,
                timezone=self._timezone,
                year=self._year,
                kafka_ms=kafka_ms[block],
            )
        return time_ms

    def levels(self, text: Column) -> Coded:
        """Return the level that each of n lines names; empty where it names none."""
        codes = np.full(len(text), -1, np.int32)
        for first, heads, times in self._read(text):
            codes[first : first + heads.size] = find_levels(heads, times)
        return used_values(codes + 1, ("", *LEVELS))

    def services(self, text: Column) -> Coded:
        """Return the service that each of n lines names in a header of syslog's shape; empty where it names none."""
        codes = np.zeros(len(text), np.int32)
        values = {"": 0}
        for first, heads, times in self._read(text):
            rows, names = find_services(heads, times)
            places = np.array([values.setdefault(name, len(values)) for name in names.values], np.int32)
            if len(rows):
                codes[first + rows] = places[names.codes]
        return used_values(codes, tuple(values))

    def forget(self) -> None:
        """Let go of the lines that were read last."""
        self._last = None

    def _read(self, text: Column) -> Iterator[tuple[int, Heads, LineTimes]]:
        """Return the heads of n lines and the times in them, a block at a time with the row that it begins at.

        The decoder asks for time, level and service of the same lines in turn: a short column is read once and kept until the next one, or
        until `forget`.
        """
        if len(text) > _MOST_KEPT_ROWS:
            return ((first, heads, find_times(heads)) for first, heads in heads_of(text))
        if self._last is None or not self._last.text.equals(text):
            self._last = _Read(text, [(first, heads, find_times(heads)) for first, heads in heads_of(text)])
        return iter(self._last.blocks)
