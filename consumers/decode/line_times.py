"""Finds the time at the beginning of lines, as columns; `consumers.decode.from_line` asks.

A time counts where it is the first thing of a line, perhaps in a bracket, or behind a short prefix: a level, a host, a file, a mark of BGL
or the client of an access log. One behind prose is part of the message. A bare number counts only where what surrounds it says that it is a
time: many messages begin with a number.
"""

from typing import Final

import numpy as np

from consumers.columns import Column, take
from consumers.decode.line_heads import HEAD_BYTES, ONE, Bools, Heads, Longs, Words, bits_from, digits_of, lowest_bit, packed_bits, table_of
from consumers.decode.line_shapes import ACCESS, NUMBER
from consumers.decode.times import LineTimes, read_times
from consumers.text.regex import column_of, find_matching

LAST_START: Final = 64
"""A time begins at this byte at the latest."""
_TOKENS = 3
"""Behind how many words a time is looked for."""
_OPENING = table_of("[(<\"'*.")
"""A time may stand behind one of them; Cisco marks clocks that are not set with `*` and `.`."""
_BLANK, _BRACKET, _EQUALS = b" [="

_LEVELS = r"(?i:trace|debug|info|notice|warn|warning|error|err|fatal|crit|critical|alert|emerg|panic|severe)"
_PREFIX: Final = (
    r"^(?:"
    r"(?:(?:-|[A-Z][A-Z0-9]+|\[[^\]\s]*\]|<[^>\s]*>|" + _LEVELS + r":?|[^\s\[\"=]*(?:[0-9]|[0-9._/][^\s\"=]*[^\s.,:;!?)\"=])|https?|wss?)"
    r"(?:[ \t]+(?:[|-][ \t]+)?)){1,2}[\[(<]?"
    r"|[DIWEFA], \["
    r"|(?:time|ts|timestamp|date|at|t|level=\w+ (?:time|ts))=\"?"
    r"|\[" + _LEVELS + r"?\s*\]\s*\[?"
    r"|\[[DIWEFC] "
    r")$"
)
"""What may stand before a time: one or two words that are no prose, Ruby's letter, the key of logfmt."""
_ACCESS_PREFIX: Final = r"^(?:(?:\S+ )?\S+ - \S+(?: \S+)? \[|[0-9a-fA-F.:]+ \[)$"
"""Client, identity and user; or the address alone."""
_NUMBER_PREFIX: Final = r"^(?:-|[A-Z][A-Z0-9]+) $"
"""BGL and Thunderbird: the mark of an alert, or none."""
_AFTER_NUMBER: Final = r"^(?:\]|[ \t]+(?:[^a-zA-Z\s]|[A-Z]{3}|" + _LEVELS + r"\b))"


def find_times(heads: Heads) -> LineTimes:
    """Return the times at the beginning of n lines."""
    times = LineTimes(heads.size)
    digits = digits_of(heads)
    every = np.arange(heads.size)
    read_times(heads, digits, every, np.zeros(heads.size, np.int64), times)
    _drop_numbers(heads, np.flatnonzero((times.kind == NUMBER) & (times.end > 0)), times)
    rows = np.flatnonzero((times.end == 0) & _may_have_time(digits))
    if not len(rows):
        return times
    bracketed = rows[_OPENING[heads.rows[rows, 0]]]
    if len(bracketed):
        read_times(heads, digits, bracketed, np.ones(len(bracketed), np.int64), times)
        _drop_numbers(heads, bracketed[times.kind[bracketed] == NUMBER], times)
        rows = rows[times.end[rows] == 0]
    if len(rows):
        _find_behind_prefix(heads, digits, rows, times)
    return times


def _may_have_time(digits: Words) -> Bools:
    """Return where two digits, another character and two digits stand within the first 96 bytes, or a long number."""
    middle = (digits[:, 0] >> np.uint64(32)) | (digits[:, 1] << np.uint64(32))
    may_be = np.zeros(len(digits), np.bool_)
    for bits in (digits[:, 0], middle):
        twice = bits & (bits >> ONE)
        clock = twice & (twice >> np.uint64(3)) & ~(bits >> np.uint64(2))
        run = twice & (twice >> np.uint64(2))
        may_be |= (clock | (run & (run >> np.uint64(4)))) != 0
    return may_be


def _find_behind_prefix(heads: Heads, digits: Words, rows: Longs, times: LineTimes) -> None:
    """Fill in times that stand behind something else: behind one to three words, the first bracket, or the first `=`."""
    some = heads.rows[rows]
    blanks = packed_bits(some == _BLANK)
    starts = []
    start = np.zeros(len(rows), np.int64)
    for _ in range(_TOKENS):
        start = start + lowest_bit(bits_from(blanks, start))
        start = np.minimum(start + lowest_bit(~bits_from(blanks, np.minimum(start, HEAD_BYTES - 1))), HEAD_BYTES - 1)
        starts.append(start)
    starts += [_behind_first(some, byte) for byte in (_BRACKET, _EQUALS)]
    size = heads.length[rows]
    for start in starts:
        begin = start + _OPENING[heads.byte(heads.base[rows] + start)]
        is_open = (times.end[rows] == 0) & (start > 0) & (start <= LAST_START) & (begin < size)
        chosen = np.flatnonzero(is_open)
        if len(chosen):
            read_times(heads, digits, rows[chosen], begin[chosen], times)
            found = chosen[times.end[rows[chosen]] > 0]
            if len(found):
                _drop_behind_prose(heads, rows[found], begin[found], times)


def _drop_behind_prose(heads: Heads, rows: Longs, start: Longs, times: LineTimes) -> None:
    """Take back the times at `start` that do not stand behind a known prefix."""
    prefix = head_slices(heads, rows, np.zeros(len(rows), np.int64), start)
    kind = times.kind[rows]
    is_good = np.zeros(len(rows), np.bool_)
    for is_kind, pattern in (
        (kind == ACCESS, _ACCESS_PREFIX), (kind == NUMBER, _NUMBER_PREFIX), (kind != NUMBER, _PREFIX),
    ):  # fmt: skip
        some = np.flatnonzero(is_kind & ~is_good)
        if len(some):
            is_good[some[find_matching(take(prefix, some), pattern)]] = True
    _drop(rows[~is_good], times)
    _drop_numbers(heads, rows[is_good & (kind == NUMBER)], times)


def _drop_numbers(heads: Heads, rows: Longs, times: LineTimes) -> None:
    """Take back the numbers that are followed by what a time is not followed by, as in `1700000000 bytes`."""
    if not len(rows):
        return
    end = times.end[rows]
    is_wrong = np.ones(len(rows), np.bool_)
    is_wrong[find_matching(head_slices(heads, rows, end, heads.length[rows]), _AFTER_NUMBER)] = False
    _drop(rows[is_wrong], times)


def _drop(rows: Longs, times: LineTimes) -> None:
    times.end[rows] = 0
    times.kind[rows] = 0


def _behind_first(heads: np.ndarray[tuple[int, int], np.dtype[np.uint8]], byte: int) -> Longs:
    """Return the place behind the first such byte, 0 where there is none."""
    first = (heads == byte).argmax(axis=1)
    return np.where(heads[np.arange(len(heads)), first] == byte, first + 1, 0)


def head_slices(heads: Heads, rows: Longs, start: Longs, stop: Longs) -> Column:
    """Return parts of heads as texts; a character that the end of a head cuts may be a part of one."""
    ends = np.empty(2 * len(rows) + 1, np.int64)
    ends[0] = 0
    ends[1::2] = heads.base[rows] + start
    ends[2::2] = heads.base[rows] + stop
    return take(column_of(heads.rows.reshape(-1), ends), np.arange(1, 2 * len(rows), 2))
