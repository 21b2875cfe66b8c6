"""Splits values into syslog messages: a relay may put several into one value.

RFC 6587 knows two ways: octet counting, `123 <34>1 …`, and a line end between messages. A line that does not begin with a priority goes on
with the message before it.
"""

import re
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import byte_column, take, utf8_of
from consumers.decode.found import Values, too_many_entries, undecodable
from consumers.decode.syslog_patterns import BEGINS, BEGINS_OTHERWISE
from consumers.rejection import Rejection
from consumers.text.regex import find_matching

_BETWEEN: Final = re.compile(rb"[\r\n\0]*\n(?=<[0-9]{1,3}>)")
_COUNT: Final = re.compile(rb"[\r\n\0]{0,3}([1-9][0-9]{0,8}) (?=<)")
_NOTHING: Final = b"\r\n\0 "
_LINE_FEED, _LESS, _BLANK = b"\n< "
_LONGEST_COUNT: Final = 12
"""Line ends before it counted."""
_IS_DIGIT, _MAY_BE_COUNT = np.zeros((2, 256), np.bool_)
_IS_DIGIT[list(b"0123456789")] = True
_MAY_BE_COUNT[list(b"\r\n\x00123456789")] = True


class Frames(NamedTuple):
    """The m messages of the values that could be split; those of one value are neighbours.

    Thread: any.
    """

    place: NDArray[np.int64]
    """int64[m]: which of the given values; ascending."""
    sub: NDArray[np.int32]
    """int32[m]: which message of its value, from 0."""
    messages: Values
    """Without headers."""
    failed: list[tuple[int, Rejection]]
    """The other values, ascending, each with the reason."""


def split_frames(values: Values, *, max_entries: int) -> Frames:
    """Split n values. Values of one message each cost a look at their line ends."""
    several = _find_several(values)
    if not len(several):
        return Frames(np.arange(values.size), np.zeros(values.size, np.int32), values, [])
    counts = np.ones(values.size, np.int64)
    split: dict[int, list[bytes]] = {}
    failed: list[tuple[int, Rejection]] = []
    for row in several.tolist():
        messages = split_messages(values.value[row])
        if messages is None:
            failed.append((row, undecodable("an octet count of syslog is not true")))
        elif len(messages) > max_entries:
            failed.append((row, too_many_entries(max_entries)))
        split[row] = messages if messages is not None and len(messages) <= max_entries else []
        counts[row] = len(split[row])
    place = np.repeat(np.arange(values.size), counts)
    begins = np.cumsum(counts) - counts
    sub = (np.arange(len(place)) - begins[place]).astype(np.int32)
    messages = [message for row, value in enumerate(values.value) for message in split.get(row, (value,))]
    return Frames(place, sub, Values(messages, byte_column(messages), values.kafka_ms[place]), failed)


def split_messages(value: bytes) -> list[bytes] | None:
    """Return the messages of a value; None if an octet count is not true."""
    if not _COUNT.match(value):
        return [message for message in _BETWEEN.split(value) if message.strip(_NOTHING)]
    messages: list[bytes] = []
    place = 0
    while found := _COUNT.match(value, place):
        place = found.end() + int(found[1])
        if place > len(value):
            return None
        messages.append(value[found.end() : place])
    return None if value[place:].strip(_NOTHING) else messages


def find_syslog(values: Values) -> NDArray[np.int64]:
    """Return the values that are syslog for sure: a priority, maybe after an octet count, then a head or what is hardly prose."""
    data, ends = utf8_of(values.column)
    rows = np.flatnonzero(np.diff(ends) > 1)
    rows = rows[(data[ends[rows]] == _LESS) & _IS_DIGIT[data[ends[rows] + 1]]]
    rows = np.union1d(rows, _find_counted(data, ends))
    if not len(rows):
        return rows
    sure = rows[find_matching(values.column if len(rows) == values.size else take(values.column, rows), BEGINS)]
    others = np.setdiff1d(rows, sure, assume_unique=True)
    if not len(others):
        return sure
    return np.union1d(sure, others[find_matching(take(values.column, others), BEGINS_OTHERWISE)])


def _find_several(values: Values) -> NDArray[np.int64]:
    """Return the values that may begin with an octet count, or that have a line after the first that may begin with a priority."""
    data, ends = utf8_of(values.column)
    breaks = np.flatnonzero(data[:-1] == _LINE_FEED)
    breaks = breaks[data[breaks + 1] == _LESS]
    row = np.searchsorted(ends, breaks, side="right") - 1
    return np.union1d(_find_counted(data, ends), row[breaks + 1 < ends[row + 1]])


def _find_counted(data: NDArray[np.uint8], ends: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the values that may begin with an octet count."""
    if b"<" not in data.tobytes():  # a search of all of it costs less than a look at each value
        return np.empty(0, np.int64)
    rows = np.flatnonzero(np.diff(ends))
    rows = rows[_MAY_BE_COUNT[data[ends[rows]]]]
    found = np.zeros(len(ends) - 1, np.bool_)
    for blank in range(1, _LONGEST_COUNT + 1):
        rows = rows[ends[rows + 1] - ends[rows] > blank + 1]
        place = ends[rows] + blank
        found[rows[(data[place] == _BLANK) & (data[place + 1] == _LESS)]] = True
    return np.flatnonzero(found)
