r"""Removes numbers, their units and repeated white space from whole columns, with numpy: the masks `unit` and `number`.

A line has about ten numbers, and RE2 takes time for every match; here time depends only on the number of bytes. A table gives the flags of
each byte; whether a byte is removed depends on the bytes beside it. Codes, which are numbers that say what happened, stay
(`consumers/text/codes.py`).
"""

import numpy as np
import numpy.typing as npt

from consumers.text import codes, regex
from consumers.text.mask_patterns import LETTER_UNITS, UNITS

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]

_LEADS, _JOINS, _UNIT = (codes.FIRST_FREE_FLAG << more for more in range(3))
_FLAGS = bytes(
    codes.flags_of(chr(byte))
    | _LEADS * (chr(byte) in "-+_#")
    | _JOINS * (chr(byte) in ".,:/")
    | _UNIT * (chr(byte) in {unit[0] for unit in (*UNITS, *LETTER_UNITS)})
    for byte in range(256)
)
_BLOCK_BYTES = 64 * 1024
"""Bytes of lines at a time: small arrays are reused, large ones would be allocated from the system at every step."""
_END, _SPACE = b"\n "
_FIRST_SPACE, _SPACES = ord("\t"), len("\t\n\v\f\r")
_IS_LETTER_UNIT = codes.flag_table(LETTER_UNITS)
_IS_UNIT = np.zeros(1 << 16, dtype=np.bool_)
_IS_UNIT[[int.from_bytes(unit.encode(), "big") for unit in UNITS]] = True


def strip_numbers(text: regex.Column, *, numbers: bool = True, units: bool = True) -> regex.Column:
    """Remove numbers and their units from the n lines of one text, as `regex.join_lines` makes it; returns n texts.

    Every run of ASCII white space becomes one space; white space at the ends is removed.
    """
    utf8 = regex.as_bytes(text)
    blocks = []
    start = 0
    while start < len(utf8):
        end = utf8.find(b"\n", start + _BLOCK_BYTES) + 1 or len(utf8)
        blocks.append(_strip_block(utf8[start:end], numbers=numbers, units=units))
        start = end
    return regex.split_lines(b"".join(blocks))


def _strip_block(lines: bytes, *, numbers: bool, units: bool) -> bytes:
    padding = bytes(codes.PADDING_BYTES)
    padded = bytearray(b"".join((padding, lines, padding)))
    utf8 = np.frombuffer(padded, dtype=np.uint8)
    other_spaces = (utf8 - np.uint8(_FIRST_SPACE) < _SPACES) & (utf8 != _END)
    if other_spaces.any():
        utf8[other_spaces] = _SPACE
    if numbers:
        utf8 = utf8[_find_kept(utf8, np.frombuffer(padded.translate(_FLAGS), dtype=np.uint8), units=units)]
    utf8 = utf8[codes.PADDING_BYTES : -codes.PADDING_BYTES]
    space = utf8 == _SPACE
    kept = np.ones(len(utf8), dtype=np.bool_)
    np.logical_not(space[1:] & space[:-1], out=kept[1:])
    return utf8[kept].tobytes()


def _find_kept(text: _Bytes, flags: _Bytes, *, units: bool) -> _Flags:
    """Flag the bytes to keep: not digits, nor up to two characters that lead a number, nor what joins two digits, nor units."""
    is_number = (flags & codes.DIGIT).view(np.bool_)
    is_number[codes.find_codes(text, flags)] = False
    drop = is_number.copy()
    leads = (flags & _LEADS) != 0
    near = leads[:-1] & is_number[1:]
    drop[:-1] |= near
    drop[:-2] |= leads[:-2] & near[1:]
    drop[1:-1] |= ((flags[1:-1] & _JOINS) != 0) & is_number[:-2] & is_number[2:]
    if units:
        _flag_units(text, flags, is_number, drop)
    return np.logical_not(drop, out=drop)


def _flag_units(text: _Bytes, flags: _Bytes, is_number: _Flags, drop: _Flags) -> None:
    """Flag units in `drop`: one letter directly after a number, or two with an optional space before them; a word must end there."""
    word = (flags & codes.WORD) != 0
    # element i of `may_be` stands for byte i + 2: a unit may begin there
    may_be = ((flags[2:-2] & _UNIT) != 0) & ~(word[3:-1] & word[4:])
    may_be &= is_number[1:-3] | (text[1:-3] == _SPACE) & is_number[:-4]
    start = np.flatnonzero(may_be) + 2
    drop[start[_IS_LETTER_UNIT[text[start]] & is_number[start - 1] & ~word[start + 1]]] = True
    pair = start[_IS_UNIT[(text[start].astype(np.uint16) << 8) | text[start + 1]] & ~word[start + 2]]
    drop[pair] = True
    drop[pair + 1] = True
