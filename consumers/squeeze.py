r"""Numbers, their units, and runs of white space out of whole columns, with numpy: the masks `unit` and `number`, and tidying up.

A line has ten numbers, and RE2 pays for every match; here time depends on the bytes alone. What a byte is, is looked up in a table of
flags; whether it goes depends on the bytes beside it. Codes, which are numbers that say what happened, stay (`consumers/codes.py`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from consumers import codes, regex
from consumers.mask_patterns import LETTER_UNITS, UNITS

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]
_Offsets = np.ndarray[Any, np.dtype[np.int32]]

_DIGIT, _LEADS, _JOINS, _SPACE, _UNIT = 1, 2, 4, 8, 16
_ONE_SPACE = bytes(ord(" ") if chr(byte) in " \t\n\v\f\r" else byte for byte in range(256))
_KINDS = bytes(
    _DIGIT * (chr(byte) in "0123456789")
    | _LEADS * (chr(byte) in "-+_#")
    | _JOINS * (chr(byte) in ".,:/")
    | _SPACE * (chr(byte) == " ")
    | _UNIT * (chr(byte) in {unit[0] for unit in (*UNITS, *LETTER_UNITS)})
    for byte in range(256)
)
_IS_LETTER_UNIT = codes.table(LETTER_UNITS)
_IS_UNIT = np.zeros(1 << 16, dtype=np.bool_)
_IS_UNIT[[int.from_bytes(unit.encode(), "big") for unit in UNITS]] = True


def squeezed(column: regex.Column, *, numbers: bool = True, units: bool = True) -> regex.Column:
    """Take numbers (and their units) out of n texts; any run of ASCII white space becomes one space, and none at the ends."""
    ended, offsets = regex.as_bytes(regex.terminated(column))
    if not ended:
        return column
    padding = bytes(codes.ROOM)
    padded = bytearray(padding + ended.translate(_ONE_SPACE) + padding)
    room = slice(codes.ROOM, -codes.ROOM)
    text = np.frombuffer(padded, dtype=np.uint8)
    text[offsets[1:] + (codes.ROOM - 1)] = ord("\n")  # no neighbour for what begins the next text
    if numbers:
        drop = _numbers(text, np.frombuffer(padded.translate(_KINDS), dtype=np.uint8), units=units)
        text, offsets = _without(drop[room], text[room], offsets)
    else:
        text = text[room]
    is_space = text == ord(" ")
    drop = np.zeros(len(text), dtype=np.bool_)
    np.logical_and(is_space[1:], is_space[:-1], out=drop[1:])
    return regex.trimmed(regex.from_bytes(*_without(drop, text, offsets)))


def _without(drop: _Flags, text: _Bytes, offsets: _Offsets) -> tuple[_Bytes, _Offsets]:
    """Drop these bytes, and say where the texts are now. There is at least one byte in all."""
    keep = ~drop
    starts = offsets[:-1]
    kept = np.add.reduceat(keep, np.minimum(starts, len(keep) - 1), dtype=np.int32)
    kept[starts == offsets[1:]] = 0
    moved = np.zeros(len(offsets), dtype=np.int32)
    np.cumsum(kept, out=moved[1:])
    return text[keep], moved


def _numbers(text: _Bytes, kinds: _Bytes, *, units: bool) -> _Flags:
    """Flag the bytes of numbers: their digits, one or two characters that lead up to them, what joins them, and units."""
    digit = (kinds & _DIGIT).view(np.bool_)
    going = digit
    places = codes.find_codes(text, digit)
    if len(places):
        going = digit.copy()
        going[places] = False
    drop = going.copy()
    leads = (kinds & _LEADS) != 0
    near = leads[:-1] & going[1:]
    drop[:-1] |= near
    drop[:-2] |= leads[:-2] & near[1:]
    drop[1:-1] |= ((kinds[1:-1] & _JOINS) != 0) & going[:-2] & going[2:]
    if units:
        starts_unit = (kinds & _UNIT) != 0
        spaced = ((kinds[1:-1] & _SPACE) != 0) & starts_unit[2:]
        ends = np.flatnonzero(going[:-2] & (starts_unit[1:-1] | spaced)) + 1
        letter = ends[_IS_LETTER_UNIT[text[ends]] & ~codes.IS_WORD[text[ends + 1]]]
        drop[letter] = True
        pair = ends + (text[ends] == ord(" "))
        pair = pair[_IS_UNIT[(text[pair].astype(np.uint16) << 8) | text[pair + 1]] & ~codes.IS_WORD[text[pair + 2]]]
        drop[pair] = True
        drop[pair + 1] = True
    return drop
