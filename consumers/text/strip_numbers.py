r"""Removes numbers, their units and repeated white space from whole columns, with numpy: the masks `unit` and `number`.

A line has about ten numbers, and RE2 takes time for every match; here time depends only on the number of bytes. A table gives the flags of
each byte; whether a byte is removed depends on the bytes beside it. Codes, which are numbers that say what happened, stay
(`consumers/text/codes.py`).
"""

import re

import numpy as np
import numpy.typing as npt

from consumers.columns import Column
from consumers.text import regex
from consumers.text.codes import find_codes
from consumers.text.mask_patterns import LETTER_UNITS, SPACED_UNITS, UNITS

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]

_PADDING_BYTES = 16
"""Added before and after the lines, so that every access to a neighbour stays within the array."""
_DIGIT, _WORD, _LEADS, _JOINS, _UNIT = (1 << bit for bit in range(5))
_FLAGS = bytes(
    _DIGIT * (chr(byte) in "0123456789")
    | _WORD * bool(re.match(r"\w", chr(byte), re.ASCII))
    | _LEADS * (chr(byte) in "-+_#")
    | _JOINS * (chr(byte) in ".,:/")
    | _UNIT * (chr(byte) in {unit[0] for unit in (*UNITS, *LETTER_UNITS)})
    for byte in range(256)
)
_BLOCK_BYTES = 64 * 1024
"""Bytes of lines at a time, so that what is computed for each byte stays in the processor's cache."""
_END, _SPACE = b"\n "
_FIRST_SPACE, _SPACES = ord("\t"), len("\t\n\v\f\r")
_IS_LETTER_UNIT = np.zeros(256, dtype=np.bool_)
_IS_LETTER_UNIT[list(LETTER_UNITS.encode())] = True
_IS_SPACED_UNIT = np.zeros(256, dtype=np.bool_)
_IS_SPACED_UNIT[list(SPACED_UNITS.encode())] = True
_IS_UNIT = np.zeros(1 << 16, dtype=np.bool_)
_IS_UNIT[[int.from_bytes(unit.encode(), "big") for unit in UNITS]] = True


def strip_numbers(text: Column, *, numbers: bool = True, units: bool = True, measures: bool = True) -> Column:
    """Remove numbers and their units from the n lines of one text, as `regex.join_lines` makes it; returns n texts.

    With `measures`, units of one letter may have a blank before them, as those of two may.

    Every run of ASCII white space becomes one space; white space at the ends is removed.
    """
    lines = regex.as_bytes(text)
    if not lines:
        return regex.split_lines(lines)
    padding = bytes(_PADDING_BYTES)
    padded = bytearray(b"".join((padding, lines, padding)))
    utf8 = np.frombuffer(padded, dtype=np.uint8)
    blocks = _blocks(padded)
    for block in blocks:
        _replace_spaces(utf8[block])
    kept = np.ones(len(utf8), dtype=np.bool_)
    if numbers:
        kept = _find_kept(utf8, np.frombuffer(padded.translate(_FLAGS), dtype=np.uint8), blocks, units=units, measures=units and measures)
    return regex.split_lines(b"".join(_one_space(utf8[block][kept[block]]) for block in blocks))


def _blocks(padded: bytearray) -> list[slice]:
    """Divide padded lines into blocks of whole lines."""
    blocks = []
    start, last = _PADDING_BYTES, len(padded) - _PADDING_BYTES
    while start < last:
        end = padded.find(b"\n", min(start + _BLOCK_BYTES, last), last) + 1 or last
        blocks.append(slice(start, end))
        start = end
    return blocks


def _replace_spaces(utf8: _Bytes) -> None:
    other_spaces = (utf8 - np.uint8(_FIRST_SPACE) < _SPACES) & (utf8 != _END)
    if other_spaces.any():
        utf8[other_spaces] = _SPACE


def _one_space(utf8: _Bytes) -> bytes:
    space = utf8 == _SPACE
    kept = np.ones(len(utf8), dtype=np.bool_)
    np.logical_not(space[1:] & space[:-1], out=kept[1:])
    return utf8[kept].tobytes()


def _find_kept(text: _Bytes, flags: _Bytes, blocks: list[slice], *, units: bool, measures: bool) -> _Flags:
    """Flag the bytes to keep: not digits, nor up to two characters that lead a number, nor what joins two digits, nor units."""
    is_number = (flags & _DIGIT).view(np.bool_)
    lines = text[_PADDING_BYTES:-_PADDING_BYTES]
    ends = np.concatenate([[0], np.flatnonzero(lines == _END) + 1]).astype(np.int32)
    is_number[_PADDING_BYTES + find_codes(lines, ends)] = False
    kept = np.ones(len(text), dtype=np.bool_)
    starts = [np.empty(0, dtype=np.int64)]
    for block in blocks:
        np.logical_not(_find_dropped(flags[block], is_number[block]), out=kept[block])
        if units:
            around = slice(block.start - 2, block.stop + 2)
            starts.append(_where_units_may_begin(text[around], flags[around], is_number[around]) + block.start)
    _drop_units(text, flags, is_number, np.concatenate(starts), kept, measures=measures)
    return kept


def _find_dropped(flags: _Bytes, is_number: _Flags) -> _Flags:
    """Flag the bytes of whole lines that are removed, units excepted."""
    drop = is_number.copy()
    leads = (flags & _LEADS) != 0
    near = leads[:-1] & is_number[1:]
    drop[:-1] |= near
    drop[:-2] |= leads[:-2] & near[1:]
    drop[1:-1] |= ((flags[1:-1] & _JOINS) != 0) & is_number[:-2] & is_number[2:]
    return drop


def _where_units_may_begin(text: _Bytes, flags: _Bytes, is_number: _Flags) -> npt.NDArray[np.int64]:
    """Return where, after a number and at most one space, a unit's first character is followed by at most one of a word.

    Arrays begin two bytes before the first place and end two after the last.
    """
    word = (flags & _WORD) != 0
    may_be = ((flags[2:-2] & _UNIT) != 0) & ~(word[3:-1] & word[4:])
    may_be &= is_number[1:-3] | (text[1:-3] == _SPACE) & is_number[:-4]
    return np.flatnonzero(may_be)


def _drop_units(text: _Bytes, flags: _Bytes, is_number: _Flags, start: npt.NDArray[np.int64], kept: _Flags, *, measures: bool) -> None:
    """Drop units: one letter directly after a number, or behind a space with `measures`, or two of either kind; a word must end there."""
    one, two, three = text[start], text[start + 1], flags[start + 2] & _WORD
    follows = _IS_LETTER_UNIT[one] & is_number[start - 1]
    if measures:
        follows |= _IS_SPACED_UNIT[one]
    kept[start[follows & (flags[start + 1] & _WORD == 0)]] = False
    pair = start[_IS_UNIT[(one.astype(np.uint16) << 8) | two] & (three == 0)]
    kept[pair] = False
    kept[pair + 1] = False
