"""Reads times as programs write them: columns of texts that are a time, and the time at the beginning of lines.

`parse_times` is for readers whose records name a time (a field of JSON, a header of syslog), `find_times` for
`consumers.decode.from_line`. The texts are read in C (`line_times.c`, without the GIL); zones, and years that are not written, are filled
in here, over columns (`consumers.decode.line_zones`). Every byte has to fit: half a date is no time. The clock is never looked at.

What a text may be: ISO 8601 with `T`, `_` or a blank, `/` or `.` between the days, the compact forms, access and error logs of Apache and
nginx, syslog, RFC 2822, ctime, glog, log4j, Android, HDFS, Spark, dates with the name of a month, and numbers. Of numbers, 9 or 10 digits
are seconds, 12 or 13 milliseconds, 15 or 16 microseconds, 18 or 19 nanoseconds, 14 and 17 a compact date. Of `03/04/2026` the month comes
first where AM or PM follows; else it counts only if one of both is above 12, or both are the same.

A time counts where it is the first thing of a line, perhaps in a bracket, or behind a short prefix: a level, a host, a file, a mark of BGL
or the client of an access log. One behind prose is part of the message. A bare number counts only where what surrounds it says that it is a
time: many messages begin with a number.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, cut_texts, take, utf8_of
from consumers.decode.line_zones import NAMED_ZONE, NO_ZONE, LineTimes, times_in_zone
from consumers.decode.rules import UTC_CLOCK, Clock
from consumers.native import BYTES, PLACES, SIZE, c_function, output_of

OTHER, SYSLOG, NUMBER, GLOG, ACCESS = range(5)
"""What else the shape of a time says of the line: `SYSLOG` that a host follows, `GLOG` that its first letter is the level. As in C."""


def parse_times(texts: Column, kafka_ms: NDArray[np.int64], clock: Clock) -> NDArray[np.int64]:
    """Return the times that n texts are, milliseconds since 1970: int64[n]. `NO_TIME` for null, and for what is none or ambiguous.

    `kafka_ms`: Kafka's times, int64[n].
    """
    return _read(_READ_WHOLE_TIMES, texts).resolved(kafka_ms, clock)


def iso_times(texts: Column) -> NDArray[np.int64]:
    """Return the times that n texts are, UTC where they name no zone and `NO_TIME` where they name no year: int64[n]."""
    return parse_times(texts, np.zeros(len(texts), np.int64), UTC_CLOCK)


def find_times(lines: Column) -> LineTimes:
    """Return the times at the beginning of n lines; a null has none."""
    return _read(_FIND_LINE_TIMES, lines)


def _read(read: Callable[..., None], texts: Column) -> LineTimes:
    data, ends = utf8_of(texts)
    times = LineTimes(len(texts))
    read(data, ends, len(texts), times.local_ms, times.zone_min, times.has_year, times.end, times.start, times.kind)
    named = np.flatnonzero(times.zone_min == NAMED_ZONE)
    if len(named):
        _read_named_zones(texts, times, named)
    return times


def _read_named_zones(texts: Column, times: LineTimes, rows: NDArray[np.int64]) -> None:
    """Put the offsets of zones that are written as `Europe/Berlin`; a zone that there is not counts as not written."""
    times.zone_min[rows] = NO_ZONE
    written = as_texts(cut_texts(take(texts, rows), times.start[rows], times.end[rows]))
    names = np.array([_REGION.sub("", text) for text in written])
    for name in np.unique(names).tolist():
        if name in _zone_names():
            of_zone = rows[(names == name) & times.has_year[rows]]
            local_ms = times.local_ms[of_zone]
            times.zone_min[of_zone] = (local_ms - times_in_zone(local_ms, ZoneInfo(name))) // _MINUTE_MS


@cache
def _zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


_REGION: Final = re.compile(r".*[ ]", re.DOTALL)
"""What stands before the name of a zone."""
_MINUTE_MS: Final = 60_000
_COLUMNS = tuple(output_of(kind) for kind in (np.int64, np.int16, np.bool_, np.uint8, np.uint8, np.uint8))
_READ_WHOLE_TIMES = c_function(__file__, "line_times", "read_whole_times", BYTES, PLACES, SIZE, *_COLUMNS)
_FIND_LINE_TIMES = c_function(__file__, "line_times", "find_line_times", BYTES, PLACES, SIZE, *_COLUMNS)
