"""What the text of a line says of itself at its beginning: when it was logged, its level, its service, its host and its logger.

`consumers.decode.decoder` asks for entries whose record does not say it. Works on columns; a pure function of text, rules and Kafka's time.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded_texts, null_column, string_column, take, used_values
from consumers.decode.json_text import write_flat
from consumers.decode.levels import LEVELS
from consumers.decode.line_levels import find_levels
from consumers.decode.line_names import find_names
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
    names: tuple[Coded, Coded, Coded] | None = None
    """Service, host and logger of each line."""


_NONE: Final = ((), ("",))
"""The values of labels that are all empty."""


class LineHeaders:
    """Reads the headers of lines.

    Thread: one.
    """

    def __init__(self, clock: Clock = UTC_CLOCK) -> None:
        self._clock = clock
        self._last: _Read | None = None

    def times(self, text: Column, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return when each of n lines was logged, milliseconds since 1970; `NO_TIME` where it does not say: int64[n]."""
        return self._read(text).times.resolved(kafka_ms, self._clock)

    def levels(self, text: Column) -> Coded:
        """Return the level that each of n lines names; empty where it names none."""
        times = self._read(text).times
        levels = find_levels(text, times.start, times.end, times.kind)
        return used_values(levels + np.int32(1), ("", *LEVELS))

    def services(self, text: Column) -> Coded:
        """Return the service that each of n lines names in a header of syslog's shape or of another usual layout; empty where none."""
        return self._names(text)[0]

    def fields(self, text: Column) -> Column:
        """Return what else the header of each of n lines says, as kept fields: `host.name` and `logger`; null where it says neither."""
        _, host, logger = self._names(text)
        if host.values in _NONE and logger.values in _NONE:
            return null_column(len(text))
        if host.values in _NONE:
            return take(string_column([_written("", name) for name in logger.values]), logger.codes.astype(np.int64))
        if logger.values in _NONE:
            return take(string_column([_written(name, "") for name in host.values]), host.codes.astype(np.int64))
        width = len(logger.values)
        both, codes = np.unique(host.codes * np.int64(width) + logger.codes, return_inverse=True)
        pairs = [(host.values[code // width], logger.values[code % width]) for code in both.tolist()]
        return take(string_column([_written(*pair) for pair in pairs]), codes)

    def forget(self) -> None:
        """Let go of the lines that were read last."""
        self._last = None

    def _names(self, text: Column) -> tuple[Coded, Coded, Coded]:
        """Return service, host and logger of n lines; syslog's tag counts before the name in another layout."""
        read = self._read(text)
        if read.names is not None:
            return read.names
        times = read.times
        tag, host = find_services(text, times.start, times.end, times.kind, times.zone_min)
        service, logger = find_names(text, times.start, times.end)
        names = _first_of(tag, service), host, logger
        self._last = read._replace(names=names)
        return names

    def _read(self, text: Column) -> _Read:
        """Return what was read of n lines, their times at least.

        The decoder asks for time, level, service and fields of the same lines in turn: a column is read once and kept until the next one,
        or until `forget`.
        """
        if self._last is None or not self._last.text.equals(text):
            self._last = _Read(text, find_times(text))
        return self._last


def _first_of(one: Coded, other: Coded) -> Coded:
    """Return labels, and where they are empty those of the other."""
    if other.values in _NONE:
        return one
    if one.values in _NONE:
        return other
    together = coded_texts([*one.values, *other.values])
    first, second = together.codes[: len(one.values)][one.codes], together.codes[len(one.values) :][other.codes]
    return used_values(np.where(first == together.values.index(""), second, first) if "" in one.values else first, together.values)


def _written(host: str, logger: str) -> str | None:
    fields = {name: value for name, value in (("host.name", host), ("logger", logger)) if value}
    return write_flat(fields).decode() if fields else None
