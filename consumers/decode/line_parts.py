"""The parts of a time that stand behind the seconds, the names in dates, and digits, at a place in each of many heads of lines.

`consumers.decode.times` puts them together. Places are those of `consumers.decode.line_heads.Heads.byte`.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from consumers.decode.line_heads import (
    ABOVE_NINE,
    EIGHT,
    FIRST_BYTES,
    HIGH_BITS,
    LOW_BITS,
    ONE,
    TEN,
    ZEROS,
    Bools,
    Heads,
    Longs,
    Words,
    table_of,
)
from consumers.decode.line_zones import NO_ZONE

MONTHS: Final = 12
_NAMES: Final = "janfebmaraprmayjunjulaugsepoctnovdecmontuewedthufrisatsun"
"""Months from 1, then weekdays; by their lower-case letters as a number they have a place of their own in a table."""


def fractions_at(heads: Heads, at: Longs) -> tuple[Longs, Longs]:
    """Return the milliseconds that are written at these places, 0 where none are, and where they end.

    Behind `.` or `,` stand one to nine digits of a fraction, behind `:` one to three of a number of milliseconds.
    """
    mark = heads.byte(at)
    some = np.flatnonzero(_IS_FRACTION_MARK[mark])
    milliseconds = np.zeros(len(at), np.int64)
    if not len(some):
        return milliseconds, at
    place = at[some]
    value = heads.word(place + 1) ^ ZEROS
    digits = leading_digits(value)
    more = np.flatnonzero(digits == 8)  # noqa: PLR2004
    digits[more] += (heads.byte(place[more] + 9) - _ZERO) < 10  # noqa: PLR2004
    kept = value & FIRST_BYTES[np.minimum(digits, 3)]
    pairs = (kept * TEN + (kept >> EIGHT)) & np.uint64(0xFF)
    found = (pairs * TEN + ((kept >> np.uint64(16)) & np.uint64(0xFF))).astype(np.int64)
    is_count = mark[some] == ord(":")
    if is_count.any():
        digits[is_count & (digits > 3)] = 0  # noqa: PLR2004
        found[is_count] //= _STEPS_TO_COUNT[digits[is_count]]
    has_digits = digits > 0
    milliseconds[some] = np.where(has_digits, found, 0)
    end = at.copy()
    end[some] += np.where(has_digits, digits + 1, 0)
    return milliseconds, end


def half_days_at(heads: Heads, at: Longs) -> tuple[Bools, Longs, Longs]:
    """Return where AM or PM is written, 12 for PM, and where it ends."""
    blanks = (heads.byte(at) == _BLANK).astype(np.int64)
    is_narrow = (heads.word(at) & np.uint64(0xFFFFFF)) == _NARROW_BLANK
    blanks[is_narrow] = 3
    letters = heads.word(at + blanks) & np.uint64(0xDFDF)
    is_pm = letters == _PM
    is_half = (letters == _AM) | is_pm
    return is_half, np.where(is_pm, 12, 0), at + np.where(is_half, blanks + 2, 0)


def zones_at(heads: Heads, at: Longs) -> tuple[NDArray[np.int16], Longs]:
    """Return the zones that are written at these places, in minutes ahead of UTC, and where they end: `Z`, `UTC`, `GMT`, `+hh[[:]mm]`.

    A blank may stand before; then a sign needs its minutes: ` -1` is no zone.
    """
    zone_min, end = np.full(len(at), NO_ZONE, np.int16), at
    is_blank = heads.byte(at) == _BLANK
    place = at + is_blank
    some = np.flatnonzero(_MAY_BE_ZONE[heads.byte(place)])
    if not len(some):
        return zone_min, end
    place, is_blank, end = place[some], is_blank[some], at.copy()
    word = heads.word(place)
    value = (word >> EIGHT) ^ ZEROS
    digits = leading_digits(value)
    value = value & FIRST_BYTES[np.minimum(digits, 4)]
    # `+hh:mm`: the digits behind the colon move to it.
    has_colon = (digits == 2) & ((word >> np.uint64(24)) & np.uint64(0xFF) == ord(":"))  # noqa: PLR2004
    if has_colon.any():
        behind = (word >> np.uint64(32)) ^ ZEROS
        has_colon &= leading_digits(behind) == 2  # noqa: PLR2004
        joined = (value & np.uint64(0xFFFF)) | ((behind & np.uint64(0xFFFF)) << np.uint64(16))
        value = np.where(has_colon, joined, value)
    pairs = (value * TEN + (value >> EIGHT)).view(np.uint8).reshape(-1, 8).astype(np.int64)
    hours, minutes = pairs[:, 0], np.where((digits == 4) | has_colon, pairs[:, 2], 0)  # noqa: PLR2004
    first = (word & np.uint64(0xFF)).astype(np.uint8)
    is_signed = ((first == ord("+")) | (first == ord("-"))) & (hours < 24) & (minutes < 60)  # noqa: PLR2004
    is_signed &= (digits == 4) | has_colon | ((digits == 2) & ~is_blank)  # noqa: PLR2004
    # What stands behind a blank may be another number: all zones of today are less than 15 hours away, in quarters of an hour.
    is_signed &= ~is_blank | ((hours < 15) & (minutes % 15 == 0))  # noqa: PLR2004
    letters = word & np.uint64(0xFFFFFF)
    is_named = (letters == _UTC) | (letters == _GMT)
    is_z = (first == ord("Z")) | ((first == ord("z")) & ~is_blank)
    size = np.select([is_signed & has_colon, is_signed & (digits == 4), is_signed, is_named, is_z], [6, 5, 3, 3, 1], 0)  # noqa: PLR2004
    is_zone = (size > 0) & ~IS_WORD[heads.byte(place + size)]
    good = some[is_zone]
    ahead = np.where(is_signed, (hours * 60 + minutes) * np.where(first == ord("-"), -1, 1), 0)
    zone_min[good] = ahead[is_zone]
    end[good] = (place + size)[is_zone]
    return zone_min, end


def eight_digits(word: Words) -> Longs:
    """Return the numbers that eight digits are."""
    value = word ^ ZEROS
    value = (value * TEN + (value >> EIGHT)) & np.uint64(0x00FF00FF00FF00FF)
    value = (value * np.uint64(100) + (value >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return ((value * np.uint64(10_000) + (value >> np.uint64(32))) & np.uint64(0xFFFFFFFF)).astype(np.int64)


def leading_digits(value: Words) -> Longs:
    """Return how many bytes from the lowest one on are below ten, at most 8."""
    is_above = (((value & LOW_BITS) + ABOVE_NINE) | value) & HIGH_BITS
    return (np.bitwise_count((is_above & -is_above) - ONE) >> 3).astype(np.int64)


def names_at(heads: Heads, at: Longs) -> Longs:
    """Return the months whose names are at these places, 1 to 12; 13 to 19 for a weekday, 0 for what is no name."""
    letters = (heads.word(at) & np.uint64(0xFFFFFF)) | np.uint64(0x202020)
    slot = (letters % np.uint64(_NAME_SLOTS)).astype(np.int64)
    return np.where(_NAME_LETTERS[slot] == letters, _NAME_NUMBER[slot], 0)


def _name_tables() -> tuple[int, Words, Longs]:
    """Return the smallest table in which no two names share a place: its size, the names and their numbers."""
    letters = [int.from_bytes(_NAMES[place : place + 3].encode(), "little") for place in range(0, len(_NAMES), 3)]
    slots = next(size for size in range(len(letters), 1000) if len({one % size for one in letters}) == len(letters))
    names, numbers = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
    for number, one in enumerate(letters, start=1):
        names[one % slots], numbers[one % slots] = one, number
    return slots, names, numbers


_ZERO, _BLANK = np.uint8(ord("0")), np.uint8(ord(" "))
_AM, _PM, _UTC, _GMT = (np.uint64(int.from_bytes(name, "little")) for name in (b"AM", b"PM", b"UTC", b"GMT"))
_NARROW_BLANK = np.uint64(int.from_bytes("\u202f".encode(), "little"))
"""Newer versions of Java put it before AM and PM."""
_STEPS_TO_COUNT: Longs = np.array([1, 100, 10, 1], np.int64)
"""By the number of digits: `:5` are 5 milliseconds, not 500."""
_NAME_SLOTS, _NAME_LETTERS, _NAME_NUMBER = _name_tables()
IS_WORD: Final = table_of("0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""What no time is followed by."""
_IS_FRACTION_MARK = table_of(".,:")
_MAY_BE_ZONE = table_of("+-UGZz")
