r"""Numbers, their units, and runs of white space out of whole columns, with numpy: the masks `unit` and `number`, and tidying up.

A line has ten numbers, and RE2 pays for every match; here time depends on the bytes alone. What a byte is, is looked up in a table of
flags; whether it goes depends on the bytes beside it. Codes, which are numbers that say what happened, stay (`consumers/text/codes.py`).
"""

import numpy as np
import numpy.typing as npt

from consumers.text import codes, regex
from consumers.text.mask_patterns import LETTER_UNITS, UNITS

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]

_LEADS, _JOINS, _UNIT = (codes.FREE << more for more in range(3))
_KINDS = bytes(
    codes.kind_of(chr(byte))
    | _LEADS * (chr(byte) in "-+_#")
    | _JOINS * (chr(byte) in ".,:/")
    | _UNIT * (chr(byte) in {unit[0] for unit in (*UNITS, *LETTER_UNITS)})
    for byte in range(256)
)
_BLOCK_BYTES = 64 * 1024
"""Lines at a time: so little memory is used again and again, where more would come fresh from the system for every step."""
_END, _SPACE = b"\n "
_FIRST_SPACE, _SPACES = ord("\t"), len("\t\n\v\f\r")
_IS_LETTER_UNIT = codes.table(LETTER_UNITS)
_IS_UNIT = np.zeros(1 << 16, dtype=np.bool_)
_IS_UNIT[[int.from_bytes(unit.encode(), "big") for unit in UNITS]] = True


def squeezed(text: regex.Column, *, numbers: bool = True, units: bool = True) -> regex.Column:
    """Take numbers (and their units) out of n lines of one text, as `regex.joined` makes it; returns n texts.

    Any run of ASCII white space becomes one space, and none at the ends.
    """
    utf8 = regex.as_bytes(text)
    blocks = []
    start = 0
    while start < len(utf8):
        end = utf8.find(b"\n", start + _BLOCK_BYTES) + 1 or len(utf8)
        blocks.append(_squeezed(utf8[start:end], numbers=numbers, units=units))
        start = end
    return regex.from_lines(b"".join(blocks))


def _squeezed(lines: bytes, *, numbers: bool, units: bool) -> bytes:
    padding = bytes(codes.ROOM)
    padded = bytearray(b"".join((padding, lines, padding)))
    utf8 = np.frombuffer(padded, dtype=np.uint8)
    others = (utf8 - np.uint8(_FIRST_SPACE) < _SPACES) & (utf8 != _END)
    if others.any():
        utf8[others] = _SPACE
    if numbers:
        utf8 = utf8[_stays(utf8, np.frombuffer(padded.translate(_KINDS), dtype=np.uint8), units=units)]
    utf8 = utf8[codes.ROOM : -codes.ROOM]
    space = utf8 == _SPACE
    first = np.ones(len(utf8), dtype=np.bool_)
    np.logical_not(space[1:] & space[:-1], out=first[1:])
    return utf8[first].tobytes()


def _stays(text: _Bytes, kinds: _Bytes, *, units: bool) -> _Flags:
    """Flag what is no number: neither a digit nor what leads up to one (two characters at most) or joins two, nor a unit."""
    going = (kinds & codes.DIGIT).view(np.bool_)
    going[codes.find_codes(text, kinds)] = False
    drop = going.copy()
    leads = (kinds & _LEADS) != 0
    near = leads[:-1] & going[1:]
    drop[:-1] |= near
    drop[:-2] |= leads[:-2] & near[1:]
    drop[1:-1] |= ((kinds[1:-1] & _JOINS) != 0) & going[:-2] & going[2:]
    if units:
        _flag_units(text, kinds, going, drop)
    return np.logical_not(drop, out=drop)


def _flag_units(text: _Bytes, kinds: _Bytes, going: _Flags, drop: _Flags) -> None:
    """Flag units in `drop`: one letter right after a number, or two, before which there may be a space; no word goes on after them."""
    word = (kinds & codes.WORD) != 0
    # place i of `may_be` is the byte 2 places on; a unit begins there
    may_be = ((kinds[2:-2] & _UNIT) != 0) & ~(word[3:-1] & word[4:])
    may_be &= going[1:-3] | (text[1:-3] == _SPACE) & going[:-4]
    start = np.flatnonzero(may_be) + 2
    drop[start[_IS_LETTER_UNIT[text[start]] & going[start - 1] & ~word[start + 1]]] = True
    pair = start[_IS_UNIT[(text[start].astype(np.uint16) << 8) | text[start + 1]] & ~word[start + 2]]
    drop[pair] = True
    drop[pair + 1] = True
