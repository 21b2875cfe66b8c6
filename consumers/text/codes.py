"""Finds codes: numbers that are not variables but say what happened, so they stay in a masked text.

A code is three digits after a word that announces a status (`HTTP 503`, `status: 404`, `code=500`, `"GET / HTTP/1.1" 200`), one to three
digits after errno, or a number that forms a code with the capitals before it (`E1234`, `CS0246`, `ORA-00942`). In numpy, as RE2 has no
look-behind: byte flags leave few candidate places, and these are checked together.
"""

import re

import numpy as np
import numpy.typing as npt

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.int64]

PADDING_BYTES = 16
"""Bytes that the caller adds before and after the text, so that every access to a neighbour stays within the array."""

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_GAPS = " =:\"'[("
_QUOTE, _LINE_FEED = b'"\n'
_STATUS_DIGITS = 3
_LEAST_DIGITS = 3
_LONG_DIGITS = 4
_MOST_DIGITS = 5
_BEFORE, _AFTER = 4, 3
"""Bytes beside the first digit that decide whether a code may begin there."""
_BLOCK_BYTES = 64 * 1024
"""Bytes at a time, so that what is computed for each byte stays in the processor's cache."""

_WORD_BIT, _GAP_BIT, _ANNOUNCES_BIT, _CAPITAL_BIT, _FREE_BIT = range(1, 6)
DIGIT, WORD = 1, 1 << _WORD_BIT
FIRST_FREE_FLAG = 1 << _FREE_BIT
"""The first flag that is not used here."""


def flags_of(character: str) -> int:
    """Return the flags of a character that `find_codes` needs."""
    return (
        DIGIT * (character in _DIGITS)
        | WORD * bool(re.match(r"\w", character, re.ASCII))
        | (character in _GAPS) << _GAP_BIT
        | (character in "oprseOPRSE/") << _ANNOUNCES_BIT
        | (character in _UPPER + "-") << _CAPITAL_BIT
    )


def flag_table(characters: str) -> _Flags:
    """Return a table of 256 flags, set for these ASCII characters."""
    flags = np.zeros(256, dtype=np.bool_)
    flags[list(characters.encode())] = True
    return flags


_IS_WORD = flag_table(_UPPER + _UPPER.lower() + _DIGITS + "_")
_IS_UPPER = flag_table(_UPPER)
_IS_DIGIT = flag_table(_DIGITS)
_IS_GAP = flag_table(_GAPS)
_IS_SEVERITY = flag_table("EWF")
_GOES_ON = flag_table("-.:,/")


def _four(word: str) -> int:
    return int.from_bytes(word.encode(), "big")


_HTTP, _ATUS, _CODE, _RROR, _RRNO = (_four(word) for word in ("http", "atus", "code", "rror", "rrno"))
_FIVE = np.arange(_MOST_DIGITS)[:, np.newaxis]
_AFTER_FIRST = _FIVE + 1


def find_codes(text: _Bytes, flags: _Bytes) -> _Places:
    """Return the places of the digits that belong to codes; `flags` holds the flags of each byte.

    The text must have `PADDING_BYTES` bytes of padding at both ends. No code depends on another line.
    """
    digit = (flags & DIGIT).view(np.bool_)
    start = _where_codes_may_begin(text, flags)
    if not len(start):
        return start
    length = 1 + np.logical_and.accumulate(digit[start + _AFTER_FIRST]).sum(axis=0)
    end = start + length
    right = (length <= _MOST_DIGITS) & ~_IS_WORD[text[end]] & ~(_GOES_ON[text[end]] & digit[end + 1])
    start, end, length = start[right], end[right], length[right]
    stays = _after_word(text, start, length) | _after_capitals(text, start, end)
    places: _Places = (start[stays] + _FIVE)[length[stays] > _FIVE]
    return places


def _where_codes_may_begin(text: _Bytes, flags: _Bytes) -> _Places:
    """Return where numbers begin that may be codes: up to three digits shortly after a word's end, three and more after capitals."""
    found = [np.empty(0, dtype=np.int64)]
    for begin in range(_BEFORE, len(text) - _AFTER, _BLOCK_BYTES):
        around = slice(begin - _BEFORE, min(begin + _BLOCK_BYTES, len(text) - _AFTER) + _AFTER)
        found.append(np.flatnonzero(_may_begin(text[around], flags[around])) + begin)
    return np.concatenate(found)


def _may_begin(text: _Bytes, flags: _Bytes) -> _Flags:
    """Flag where such numbers may begin; the first element stands for byte `_BEFORE`, and `_AFTER` bytes at the end have none.

    A byte's lowest bit is the flag in question, the others mean nothing until the end.
    """
    digit, gap, announces, capital = flags, flags >> _GAP_BIT, flags >> _ANNOUNCES_BIT, flags >> _CAPITAL_BIT
    # a version may come before: HTTP/1.1" 200
    announces[:-1] |= digit[:-1] & (text[1:] == _QUOTE)
    three = digit[5:-2] & digit[6:-1]
    short = announces[1:-6] | gap[1:-6] & announces[:-7]
    short &= gap[2:-5]
    short |= announces[2:-5]
    short &= gap[3:-4] & ~(three & digit[7:])
    long = capital[2:-5] | ~(flags[2:-5] >> _WORD_BIT)
    long &= capital[3:-4] & three
    short |= long
    short &= digit[4:-3] & 1
    return short.view(np.bool_)


def _lower_four(text: _Bytes, last: _Places) -> npt.NDArray[np.uint32]:
    """Read the four bytes that end at each place, in lower case."""
    fours: npt.NDArray[np.uint32] = np.ndarray((len(text) - 3,), ">u4", buffer=text, strides=(1,))
    return fours[last - 3] | np.uint32(0x20202020)


def _after_word(text: _Bytes, start: _Places, length: _Places) -> _Flags:
    """Flag the numbers one to three characters after a word that announces a status, or after errno."""
    last = start - 1
    for _ in range(3):
        last = last - _IS_GAP[text[last]]
    word = _lower_four(text, last)
    quoted = text[last + 1] == _QUOTE
    # HTTP/1.1" 200, and HTTP/" 200 once the version is masked
    version = (text[last - 1] == ord(".")) & (_lower_four(text, last - 4) == _HTTP)
    version &= (text[last - 2] != _LINE_FEED) & (text[last - 3] != _LINE_FEED)
    version |= (text[last] == ord("/")) & (_lower_four(text, last - 1) == _HTTP)
    status = (length == _STATUS_DIGITS) & ((word == _HTTP) | (word == _ATUS) | (word == _CODE) | (word == _RROR) | version & quoted)
    after: _Flags = (last < start - 1) & (status | (length <= _STATUS_DIGITS) & (word == _RRNO))
    return after


def _after_capitals(text: _Bytes, start: _Places, end: _Places) -> _Flags:
    """Flag the numbers that form a code with the capitals before them; not the `E1110 22:06:37` that begins a glog line."""
    length = end - start
    one, two, three, four = (text[start - back] for back in (1, 2, 3, 4))
    clock = (text[end] == ord(" ")) & _IS_DIGIT[text[end + 1]] & (text[end + 2] != _LINE_FEED) & (text[end + 3] == ord(":"))
    severity = (length >= _LEAST_DIGITS) & _IS_SEVERITY[one] & ~_IS_WORD[two] & (two != ord("-")) & ~clock
    letters = (length == _LONG_DIGITS) & _IS_UPPER[one] & _IS_UPPER[two] & (~_IS_WORD[three] | _IS_UPPER[three] & ~_IS_WORD[four])
    dashed = (length >= _LONG_DIGITS) & (one == ord("-")) & _IS_UPPER[two] & _IS_UPPER[three]
    code: _Flags = severity | letters | dashed
    return code
