"""What the text of a line says of itself at its beginning: when it was logged, its level, its service.

`consumers.decode.decoder` asks for entries whose record does not say it. Works on columns; a pure function of text, rules and Kafka's time.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, used_values
from consumers.decode.levels import LEVELS
from consumers.decode.line_levels import find_levels
from consumers.decode.line_services import find_services
from consumers.decode.line_zones import LineTimes
from consumers.decode.rules import UTC_CLOCK, Clock
from consumers.decode.times import find_times


class _Read(NamedTuple):
    """A column that was read, and what was read of it.

    Thread: one.
    """

    text: Column
    times: LineTimes


class LineHeaders:
    """Reads the headers of lines.

    Thread: one.
    """

    def __init__(self, clock: Clock = UTC_CLOCK) -> None:
        self._clock = clock
        self._last: _Read | None = None

    def times(self, text: Column, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when each of n lines was logged, milliseconds since 1970; `NO_TIME` where it does not say: int64[n]."""
        return self._read(text).resolved(kafka_ms, self._clock)

    def levels(self, text: Column) -> Coded:
        """Return the level that each of n lines names; empty where it names none."""
        times = self._read(text)
        levels = find_levels(text, times.start, times.end, times.kind)
        return used_values(levels + np.int32(1), ("", *LEVELS))

    def services(self, text: Column) -> Coded:
        """Return the service that each of n lines names in a header of syslog's shape; empty where it names none."""
        times = self._read(text)
        return find_services(text, times.start, times.end, times.kind, times.zone_min)

    def forget(self) -> None:
        """Let go of the lines that were read last."""
        self._last = None

    def _read(self, text: Column) -> LineTimes:
        """Return the times in n lines.

        The decoder asks for time, level and service of the same lines in turn: a column is read once and kept until the next one, or until
        `forget`.
        """
        if self._last is None or not self._last.text.equals(text):
            self._last = _Read(text, find_times(text))
        return self._last.times
