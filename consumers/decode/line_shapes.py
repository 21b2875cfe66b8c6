"""The shapes in which programs write a time, compiled for `consumers.decode.times`.

A shape is written as a template: `YYYY` or `yy` is the year, `mm dd HH MM SS` are two digits each, `m d H` alone one digit, `d?` one or
two, `ed` and `eH` two of which the first may be a blank, `bbb` the name of a month, `aaa` of a weekday, `L` a letter of glog; every other
character is itself. Which shapes a text may have at a place is looked up by which of the next 16 bytes are digits.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

OTHER, SYSLOG, NUMBER, GLOG, ACCESS = range(5)
"""What else the shape says of the line: `SYSLOG` that a host follows, `GLOG` that its first letter is the level."""
SIGNATURE_BYTES: Final = 16
_NUMBER_DIGITS = 9
"""Fewest digits of a number that may be a time: seconds since 1973."""
_WORD_BYTES = 8
_FIELD = re.compile(r"YYYY|yy|mm?|[de]d|d|[He]H|H|MM?|SS?|bbb|aaa|L|.")
_NO_DIGIT_FIELDS = ("bbb", "aaa", "L")


class Digits(NamedTuple):
    """One or two digits of a shape: which word of it they are in, from which byte on, and how many they are.

    Thread: any.
    """

    word: int
    byte: int
    size: int


class ShapeWord(NamedTuple):
    """Eight bytes of a shape, as numbers whose lowest byte is the first.

    Thread: any.
    """

    place: int
    """Where it begins in the shape."""
    expected: np.uint64
    """The literal bytes, and "0" where a digit stands."""
    checked: np.uint64
    """The bits that count: none in the bytes that are no part of the word; all but 0x10 where a blank may stand for a digit."""
    bound: np.uint64
    """Added to what differs from `expected`, it sets the high bits of the bytes that do not fit."""


class Shape(NamedTuple):
    """A time as it is written, up to the seconds.

    Thread: any.
    """

    template: str
    size: int
    words: tuple[ShapeWord, ...]
    year: tuple[Digits, ...]
    """Two pairs, one pair, or nothing."""
    month: Digits | None
    day: Digits
    hour: Digits
    minute: Digits
    second: Digits | None
    month_name: int | None = None
    """Where the name of the month stands."""
    weekday_name: int | None = None
    letter: int | None = None
    blank_digits: tuple[int, ...] = ()
    """Where a digit or a blank stands."""
    is_ambiguous: bool = False
    """Whether the month may also be the day."""
    is_half_day: bool = False
    """Whether AM or PM may follow."""
    year_follows: bool = False
    """Whether the year follows, after a blank."""
    has_zone: bool = True
    """Whether a zone may follow."""
    kind: int = OTHER


def _shape(template: str, **options: bool | int) -> list[Shape]:
    """Compile a template, once for each number of digits that it may have."""
    choices = [(part[:-1], part[0] * 2) if part.endswith("?") else (part,) for part in re.findall(r"[a-zA-Z]\?|[^?](?!\?)", template)]
    return [_compiled("".join(choice), **options) for choice in product(*choices)]


def _compiled(template: str, **options: bool | int) -> Shape:
    pieces: list[tuple[str, int, int]] = []
    names: dict[str, int] = {}
    for match in _FIELD.finditer(template):
        field, at = match[0], match.start()
        if field in _NO_DIGIT_FIELDS:
            names[field] = at
        elif field == "YYYY":
            pieces += [("year", at, 2), ("year", at + 2, 2)]
        else:
            pieces.append((_FIELD_NAMES.get(field, ""), at, len(field)))
    words: list[ShapeWord] = []
    found: dict[str, list[Digits]] = {}
    open_pieces = pieces
    while open_pieces:
        start = open_pieces[0][1]
        inside = [piece for piece in open_pieces if piece[1] + piece[2] <= start + _WORD_BYTES]
        open_pieces = open_pieces[len(inside) :]
        for name, at, size in inside:
            found.setdefault(name, []).append(Digits(len(words), at - start, size))
        words.append(_word(template, start, inside))
    found.pop("", None)
    first = {name: digits[0] for name, digits in found.items()}
    return Shape(
        template,
        len(template),
        tuple(words),
        tuple(found.get("year", ())),
        first.get("month"),
        first["day"],
        first["hour"],
        first["minute"],
        first.get("second"),
        names.get("bbb"),
        names.get("aaa"),
        names.get("L"),
        tuple(place for place, character in enumerate(template) if character == "e"),
        **options,  # type: ignore[arg-type]
    )


_FIELD_NAMES = {
    "yy": "year",
    "mm": "month",
    "m": "month",
    "dd": "day",
    "ed": "day",
    "d": "day",
    "HH": "hour",
    "eH": "hour",
    "H": "hour",
    "MM": "minute",
    "M": "minute",
    "SS": "second",
    "S": "second",
}


def _word(template: str, start: int, inside: Iterable[tuple[str, int, int]]) -> ShapeWord:
    expected, checked, bound = bytearray(_WORD_BYTES), bytearray(_WORD_BYTES), bytearray(_WORD_BYTES)
    for name, at, size in inside:
        for place in range(at, at + size):
            byte = place - start
            expected[byte] = ord("0") if name else ord(template[place])
            checked[byte] = 0xEF if template[place] == "e" else 0xFF
            bound[byte] = 0x76 if name else 0x7F
    return ShapeWord(start, *(np.uint64(int.from_bytes(one, "little")) for one in (expected, checked, bound)))


@cache
def shapes() -> tuple[Shape | None, ...]:
    """Return all shapes, the first that fits counts; the last is None, a number."""
    written: list[Shape] = []
    for joiner in "T _t\t":
        written += _shape(f"YYYY-mm-dd{joiner}HH:MM:SS")
    for template in ("YYYY/mm/dd HH:MM:SS", "YYYY/mm/dd-HH:MM:SS", "YYYY.mm.dd HH:MM:SS", "YYYY.mm.dd-HH:MM:SS", "YYYY-mm-dd-HH.MM.SS"):
        written += _shape(template)
    for template in ("YYYYmmddTHHMMSS", "YYYYmmdd-HHMMSS", "YYYYmmdd HHMMSS", "YYYYmmddTHH:MM:SS", "YYYYmmdd HH:MM:SS"):
        written += _shape(template)
    written += _shape("YYYYmmdd-H?:M?:S?")
    written += [*_shape("yy/mm/dd HH:MM:SS"), *_shape("yymmdd HHMMSS"), *_shape("yymmdd eH:MM:SS")]
    for day in ("ed", "d"):
        written += _shape(f"aaa bbb {day} HH:MM:SS", year_follows=True)
        written += _shape(f"bbb {day} HH:MM:SS", kind=SYSLOG, has_zone=False)
        written += _shape(f"bbb {day} YYYY HH:MM:SS")
    written += _shape("bbb d?, YYYY H?:MM:SS", is_half_day=True)
    written += [*_shape("dd/bbb/YYYY:HH:MM:SS", kind=ACCESS), *_shape("dd/bbb/YYYY HH:MM:SS", kind=ACCESS)]
    for template in ("aaa, d? bbb YYYY HH:MM:SS", "d? bbb YYYY HH:MM:SS", "dd bbb HH:MM:SS", "d?-bbb-YYYY HH:MM:SS", "dd.mm.YYYY HH:MM:SS"):
        written += _shape(template)
    for template in ("m?/d?/YYYY H?:MM:SS", "m?/d?/YYYY, H?:MM:SS"):
        written += _shape(template, is_ambiguous=True, is_half_day=True)
    written += _shape("mm-dd-YYYY HH:MM:SS", is_ambiguous=True)
    written += [*_shape("mm-dd HH:MM:SS", has_zone=False), *_shape("mm.dd HH:MM:SS", has_zone=False)]
    written += [*_shape("LYYYYmmdd HH:MM:SS", kind=GLOG), *_shape("Lmmdd HH:MM:SS", kind=GLOG, has_zone=False)]
    written += [*_shape("YYYY-mm-ddTHH:MM"), *_shape("YYYY-mm-dd HH:MM")]
    return (*written, None)


@cache
def shape_groups() -> tuple[NDArray[np.uint8], tuple[tuple[Shape | None, ...], ...]]:
    """Return for each 16 bits (bit i: byte i is a digit) a place in a list of groups of shapes, 0 where no shape fits: uint8[65536]."""
    digits = np.arange(1 << SIGNATURE_BYTES)
    fits = np.stack([(digits & mask) == wanted for mask, wanted in map(_signature, shapes())], axis=1)
    packed = np.packbits(fits, axis=1)
    distinct, first, codes = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True)
    groups = [tuple(shape for shape, does_fit in zip(shapes(), fits[i], strict=True) if does_fit) for i in first.tolist()]
    if len(distinct) > np.iinfo(np.uint8).max or groups[0]:
        raise AssertionError("the groups of shapes are not numbered from the empty one on")
    return codes.astype(np.uint8), tuple(groups)


def _signature(shape: Shape | None) -> tuple[int, int]:
    """Return which of the first 16 bytes are known to be digits or not, and which are digits."""
    if shape is None:
        return (1 << _NUMBER_DIGITS) - 1, (1 << _NUMBER_DIGITS) - 1
    known = digits = 0
    for match in _FIELD.finditer(shape.template):
        for place in range(match.start(), min(match.end(), SIGNATURE_BYTES)):
            if shape.template[place] != "e":
                known |= 1 << place
                digits |= (match[0] in _FIELD_NAMES or match[0] == "YYYY") << place
    return known, digits
