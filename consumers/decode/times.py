"""Reads times as programs write them: columns of texts that are a time, or the time at a place in each of many heads of lines.

`parse_times` is for readers whose records name a time (a field of JSON, a header of syslog), `read_times` for
`consumers.decode.line_times`. All of it is arithmetic over columns (`consumers.decode.line_heads`): the shape of a time is found by where
its digits are, eight bytes are checked and turned into digits at once, and zones are looked up once for each day that occurs
(`consumers.decode.line_zones`). Every byte has to fit: half a date is no time. The clock is never looked at.

What a text may be: ISO 8601 with `T`, `_` or a blank, `/` or `.` between the days, the compact forms, access and error logs of Apache and
nginx, syslog, RFC 2822, ctime, glog, log4j, Android, HDFS, Spark, dates with the name of a month, and numbers. Of numbers, 9 or 10 digits
are seconds, 12 or 13 milliseconds, 15 or 16 microseconds, 18 or 19 nanoseconds, 14 and 17 a compact date. Of `03/04/2026` the month comes
first where AM or PM follows; else it counts only if one of both is above 12, or both are the same.
"""

from datetime import tzinfo
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column
from consumers.decode import line_shapes
from consumers.decode.found import NO_TIME
from consumers.decode.line_heads import (
    EIGHT,
    FIRST_BYTES,
    HIGH_BITS,
    TEN,
    Bools,
    Heads,
    Longs,
    Words,
    bits_from,
    digits_of,
    heads_of,
    lowest_bit,
    table_of,
)
from consumers.decode.line_parts import IS_WORD, MONTHS, eight_digits, fractions_at, half_days_at, names_at, zones_at
from consumers.decode.line_shapes import Digits, Shape
from consumers.decode.line_zones import DAY_MS, FIRST_YEAR, NO_ZONE, days_of, resolved_times

_PAIR, _NOON = 2, 12


class LineTimes:
    """Times at a place in each of n heads, as columns of length n, filled by `read_times`.

    Thread: one.
    """

    def __init__(self, size: int) -> None:
        self.local_ms: Longs = np.full(size, NO_TIME)
        """Milliseconds since 1970 as a clock in the time's own zone shows them; where `has_year` is false, month * 32 + day in days."""
        self.zone_min: NDArray[np.int16] = np.full(size, NO_ZONE, np.int16)
        """Minutes that the zone is ahead of UTC; `NO_ZONE` where none is written."""
        self.has_year: Bools = np.ones(size, np.bool_)
        self.end: Longs = np.zeros(size, np.int64)
        """Where in the head the time ends; 0 where there is none."""
        self.start: Longs = np.zeros(size, np.int64)
        self.kind: NDArray[np.uint8] = np.zeros(size, np.uint8)


def parse_times(texts: Column, *, timezone: tzinfo | None, year: int | None, kafka_ms: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the times that n texts are, milliseconds since 1970: int64[n]. `NO_TIME` for null, and for what is none or ambiguous.

    `timezone` is the zone of those that name none (None: UTC); `year` the year of those that name none (None: the one that puts them last,
    but at most a day after Kafka's time).
    """
    parsed = np.full(len(texts), NO_TIME)
    for first, heads in heads_of(texts):
        times = LineTimes(heads.size)
        read_times(heads, digits_of(heads), np.arange(heads.size), np.zeros(heads.size, np.int64), times)
        times.end[times.end != heads.length] = 0
        block = slice(first, first + heads.size)
        parsed[block] = resolved_times(
            times.local_ms, times.zone_min, times.has_year, times.end > 0, timezone=timezone, year=year, kafka_ms=kafka_ms[block]
        )
    return parsed


def iso_times(texts: Column) -> NDArray[np.int64]:
    """Return the times that n texts are, UTC where they name no zone and `NO_TIME` where they name no year: int64[n]."""
    return parse_times(texts, timezone=None, year=None, kafka_ms=np.zeros(len(texts), np.int64))


def read_times(heads: Heads, digits: Words, rows: Longs, start: Longs, times: LineTimes) -> None:
    """Fill in the times that begin at byte `start` of the given heads; `digits` is where the heads have digits, for all n."""
    groups, members = line_shapes.shape_groups()
    signature = bits_from(digits[rows], start) & np.uint64((1 << line_shapes.SIGNATURE_BYTES) - 1)
    group = groups[signature.astype(np.int64)]
    for code in np.flatnonzero(np.bincount(group)).tolist():
        inside = np.flatnonzero(group == code) if code else np.empty(0, np.int64)
        for shape in members[code]:
            if not len(inside):
                break
            some_rows, some_starts = rows[inside], start[inside]
            if shape is None:
                fits = _read_numbers(heads, digits, some_rows, some_starts, times)
            else:
                fits = _read_shape(shape, heads, some_rows, some_starts, times)
            inside = inside[~fits]


def _read_shape(shape: Shape, heads: Heads, rows: Longs, start: Longs, times: LineTimes) -> Bools:
    """Fill in those of the given rows that have a time of this shape, and return which they are."""
    base = heads.base[rows] + start
    fits = np.ones(len(rows), np.bool_)
    values: list[Words] = []
    for word in shape.words:
        value = (heads.word(base + word.place) ^ word.expected) & word.checked
        fits &= ((value + word.bound) | value) & HIGH_BITS == 0
        values.append(value)
    some = np.flatnonzero(fits)
    if not len(some):
        return fits
    if len(some) < len(rows):
        base, values = base[some], [value[some] for value in values]
    read = _read_fitting(shape, heads, base, values)
    fits[some] = read.fits
    good = some[read.fits]
    found = rows[good]
    times.local_ms[found] = read.local_ms[read.fits]
    times.zone_min[found] = read.zone_min[read.fits]
    times.has_year[found] = bool(shape.year) or shape.year_follows
    times.end[found] = read.end[read.fits] - heads.base[found]
    times.start[found] = start[good]
    times.kind[found] = shape.kind
    return fits


class _Read(NamedTuple):
    """Times of one shape; as the columns of `LineTimes` where `fits`.

    Thread: any.
    """

    fits: Bools
    local_ms: Longs
    zone_min: NDArray[np.int16]
    end: Longs


def _read_fitting(shape: Shape, heads: Heads, base: Longs, values: list[Words]) -> _Read:
    """Read times at places where the digits and literal bytes of a shape are; `values` are the digits, byte by byte."""
    # Each byte becomes ten times itself plus the next one: wherever a pair of digits begins, its value.
    pairs = [(value * TEN + (value >> EIGHT)).view(np.uint8).reshape(-1, 8) for value in values]
    digits = [value.view(np.uint8).reshape(-1, 8) for value in values]

    def field(where: Digits | None) -> Longs:
        if where is None:
            return np.zeros(len(base), np.int64)
        return (pairs if where.size == _PAIR else digits)[where.word][:, where.byte].astype(np.int64)

    tail = _read_tail(shape, heads, base + shape.size)
    fits = tail.fits & _has_names(shape, heads, base)
    hour, minute, second = field(shape.hour), field(shape.minute), field(shape.second)
    if shape.is_half_day:
        fits &= ~tail.is_half | ((hour >= 1) & (hour <= _NOON))
        hour = np.where(tail.is_half, hour % _NOON + tail.half_hours, hour)
    fits &= (hour < 24) & (minute < 60) & (second <= 60)  # noqa: PLR2004
    month = field(shape.month) if shape.month_name is None else names_at(heads, base + shape.month_name)
    day = field(shape.day)
    if shape.is_ambiguous:
        month, day, is_clear = _ordered(month, day, month_first=tail.is_half)
        fits &= is_clear
    fits &= (month >= 1) & (month <= MONTHS) & (day >= 1)
    if shape.year or shape.year_follows:
        year = tail.year if shape.year_follows else _year_of([field(where) for where in shape.year])
        days, is_day = days_of(year, np.clip(month, 1, MONTHS), day)
        fits &= is_day
    else:
        days = month * 32 + day
    local_ms = days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + tail.fraction_ms
    return _Read(fits, local_ms, tail.zone_min, tail.end)


def _has_names(shape: Shape, heads: Heads, base: Longs) -> Bools:
    """Return where the weekday and the letter of a shape are, and digits or blanks where it has either."""
    fits = np.ones(len(base), np.bool_)
    for place in shape.blank_digits:
        byte = heads.byte(base + place)
        fits &= (byte >= _ZERO) | (byte == _BLANK)
    if shape.weekday_name is not None:
        fits &= names_at(heads, base + shape.weekday_name) > MONTHS
    if shape.letter is not None:
        fits &= _IS_GLOG[heads.byte(base + shape.letter)]
    return fits


def _year_of(pairs: list[Longs]) -> Longs:
    """Return years of two pairs of digits, or of one: 70 to 99 are 1970 to 1999."""
    if len(pairs) == _PAIR:
        return pairs[0] * 100 + pairs[1]
    year: Longs = pairs[0] + np.where(pairs[0] < FIRST_YEAR % 100, 2000, 1900)
    return year


def _ordered(first: Longs, second: Longs, *, month_first: Bools) -> tuple[Longs, Longs, Bools]:
    """Return months and days of dates whose order is not known, and where it is certain."""
    is_swapped = (first > MONTHS) & (second <= MONTHS)
    is_clear = is_swapped | (second > MONTHS) | (first == second) | month_first
    return np.where(is_swapped, second, first), np.where(is_swapped, first, second), is_clear


class _Tail(NamedTuple):
    """What follows the seconds.

    Thread: any.
    """

    fits: Bools
    fraction_ms: Longs
    is_half: Bools
    """Whether AM or PM is written."""
    half_hours: Longs
    """12 for PM."""
    year: Longs
    zone_min: NDArray[np.int16]
    end: Longs


def _read_tail(shape: Shape, heads: Heads, at: Longs) -> _Tail:
    """Read what follows the seconds from these places on. No letter, digit or `_` may follow it."""
    size = len(at)
    none = np.zeros(size, np.int64)
    is_half, half_hours, year = np.zeros(size, np.bool_), none, none
    zone_min = np.full(size, NO_ZONE, np.int16)
    fits = np.ones(size, np.bool_)
    fraction_ms = none
    if shape.second is not None:
        fraction_ms, at = fractions_at(heads, at)
    if shape.is_half_day:
        is_half, half_hours, at = half_days_at(heads, at)
    if shape.has_zone:
        zone_min, at = zones_at(heads, at)
    if shape.year_follows:
        value = (heads.word(at) ^ _BLANK_AND_ZEROS) & _FIVE_BYTES
        fits &= ((value + _BLANK_AND_DIGITS) | value) & HIGH_BITS == 0
        pairs = (value * TEN + (value >> EIGHT)).view(np.uint8).reshape(-1, 8).astype(np.int64)
        year, at = pairs[:, 1] * 100 + pairs[:, 3], at + 5
    byte = heads.byte(at)
    fits &= ~IS_WORD[byte]
    if shape.second is None:
        fits &= byte != ord(":")
    return _Tail(fits, fraction_ms, is_half, half_hours, year, zone_min, at)


def _read_numbers(heads: Heads, digits: Words, rows: Longs, start: Longs, times: LineTimes) -> Bools:
    """Fill in those of the given rows that have a number at `start` that may be a time, and return which they are."""
    base = heads.base[rows] + start
    size = lowest_bit(~bits_from(digits[rows], start))
    fits = np.zeros(len(rows), np.bool_)
    for count in np.flatnonzero(np.bincount(size)).tolist():
        some = np.flatnonzero(size == count)
        at = base[some]
        if count in _NUMBER_SCALES:
            multiply, divide = _NUMBER_SCALES[count]
            number = _numbers_at(heads, at, count)
            fraction_ms, end = fractions_at(heads, at + count)
            local_ms = number * multiply // divide + (fraction_ms if multiply > 1 else 0)
            is_good = (number >= 0) & (local_ms >= 0) & ((heads.byte(at + count) != ord(":")) | (end == at + count))
        elif count in _COMPACT_DIGITS:
            local_ms, is_good = _compact_dates_at(heads, at, count)
            end = at + count
        else:
            continue
        is_good &= ~IS_WORD[heads.byte(end)]
        found = rows[some[is_good]]
        times.local_ms[found] = local_ms[is_good]
        times.zone_min[found] = 0 if count in _NUMBER_SCALES else NO_ZONE
        times.has_year[found] = True
        times.end[found] = end[is_good] - heads.base[found]
        times.start[found] = start[some[is_good]]
        times.kind[found] = line_shapes.NUMBER
        fits[some] = is_good
    return fits


def _numbers_at(heads: Heads, at: Longs, count: int) -> Longs:
    """Return the numbers of `count` digits, 9 to 19, at these places; one that int64 does not hold is negative."""
    last = eight_digits(heads.word(at + count - 8))
    above = eight_digits(heads.word(at))
    read = 8
    if count > 16:  # noqa: PLR2004
        above, read = above * 10**8 + eight_digits(heads.word(at + 8)), 16
    twice: int = 10 ** (read + 8 - count)
    number: Longs = above // twice * 10**8 + last
    return number


def _compact_dates_at(heads: Heads, at: Longs, count: int) -> tuple[Longs, Bools]:
    """Return the times that `yyyymmddHHMMSS` and, with milliseconds behind it, 17 digits stand for, and where they stand for one."""
    date, of_day = eight_digits(heads.word(at)), eight_digits(heads.word(at + 6)) % 10**6
    milliseconds = eight_digits(heads.word(at + 9)) % 1000 if count > 14 else np.zeros(len(at), np.int64)  # noqa: PLR2004
    month = date // 100 % 100
    days, is_good = days_of(date // 10_000, np.clip(month, 1, MONTHS), date % 100)
    hour, minute, second = of_day // 10_000, of_day // 100 % 100, of_day % 100
    is_good &= (month >= 1) & (month <= MONTHS) & (hour < 24) & (minute < 60) & (second <= 60)  # noqa: PLR2004
    return days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds, is_good


_ZERO, _BLANK = np.uint8(ord("0")), np.uint8(ord(" "))
_BLANK_AND_ZEROS, _BLANK_AND_DIGITS = (np.uint64(int.from_bytes(one, "little")) for one in (b" 0000", b"\x7f\x76\x76\x76\x76"))
_FIVE_BYTES = FIRST_BYTES[5]
_IS_GLOG = table_of("DIWEF")
_NUMBER_SCALES: Final = {
    **dict.fromkeys((9, 10), (1000, 1)),
    **dict.fromkeys((12, 13), (1, 1)),
    **dict.fromkeys((15, 16), (1, 1000)),
    **dict.fromkeys((18, 19), (1, 10**6)),
}
"""By the number of digits: what makes milliseconds of it, times and by. All times from 1973 to 2262 have one of these."""
_COMPACT_DIGITS: Final = (14, 17)
