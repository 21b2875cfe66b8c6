"""Codes: numbers that are no variables but say what happened, so that they stay in a masked text.

Three digits after a word that announces a status (`HTTP 503`, `status: 404`, `code=500`, `"GET / HTTP/1.1" 200`), one to three after
errno, and numbers that make a code with the capitals before them (`E1234`, `CS0246`, `ORA-00942`). In numpy, as RE2 has no look-behind:
flags of the bytes leave few places, and those are looked at one by one, but all at once.
"""

import numpy as np
import numpy.typing as npt

_Bytes = npt.NDArray[np.uint8]
_Flags = npt.NDArray[np.bool_]
_Places = npt.NDArray[np.int64]

ROOM = 16
"""Bytes that must stand before and after the text, so that no look at a neighbour leaves the array."""

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_STATUS_DIGITS = 3
_LEAST_DIGITS = 3
_LONG_DIGITS = 4
_MOST_DIGITS = 5


def table(characters: str) -> _Flags:
    """Make a table that flags these ASCII characters."""
    flags = np.zeros(256, dtype=np.bool_)
    flags[list(characters.encode())] = True
    return flags


IS_WORD = table(_UPPER + _UPPER.lower() + _DIGITS + "_")
_IS_UPPER = table(_UPPER)
_IS_DIGIT = table(_DIGITS)
_IS_SEVERITY = table("EWF")
_GOES_ON = table("-.:,/")

_GAP, _STATUS_END, _ERRNO_END, _CAPITAL, _DASH = 1, 2, 4, 8, 16
_KINDS = bytes(
    _GAP * (chr(byte) in " =:\"'[(")
    | _STATUS_END * (chr(byte) in "pserPSER/" + _DIGITS)
    | _ERRNO_END * (chr(byte) in "oO")
    | _CAPITAL * (chr(byte) in _UPPER)
    | _DASH * (chr(byte) == "-")
    for byte in range(256)
)
_IS_GAP = table(" =:\"'[(")


def _four(word: str) -> int:
    return int.from_bytes(word.encode(), "big")


_STATUS_WORDS = np.array([_four(word) for word in ("http", "atus", "code", "rror")], dtype=np.uint32)


def find_codes(text: _Bytes, digit: _Flags) -> _Places:
    """Return the places of the digits that belong to codes, with `ROOM` bytes around the text; `digit` flags all digits in it."""
    kinds = np.frombuffer(text.tobytes().translate(_KINDS), dtype=np.uint8)
    gap, status, errno, capital, dash = ((kinds & kind) != 0 for kind in (_GAP, _STATUS_END, _ERRNO_END, _CAPITAL, _DASH))
    # place i of `may_stay` is the byte 3 places on; a number begins there
    three = digit[3:-3] & digit[4:-2] & digit[5:-1]
    four = three & digit[6:]
    may_stay = gap[2:-4] & (three & ~digit[6:] & _ends(status, gap) | digit[3:-3] & _ends(errno, gap))
    may_stay |= three & capital[2:-4] | four & dash[2:-4]
    start = np.flatnonzero(may_stay) + 3
    if not len(start):
        return start
    length = np.zeros(len(start), dtype=np.int64)
    for more in range(_MOST_DIGITS, -1, -1):
        length = np.where(digit[start + more], length + 1, 0)
    end = start + length
    right = (length <= _MOST_DIGITS) & ~IS_WORD[text[end]] & ~(_GOES_ON[text[end]] & digit[end + 1])
    start, end, length = start[right], end[right], length[right]
    stays = _after_status(text, start, length) | _after_capitals(text, start, end)
    return np.concatenate([start[stays & (length > more)] + more for more in range(_MOST_DIGITS)])


def _ends(word: _Flags, gap: _Flags) -> _Flags:
    """Flag where a word ends so one to three characters before, the nearest of which is known to be a gap."""
    return word[1:-5] | gap[1:-5] & (word[:-6] | gap[:-6])


def _lower_four(text: _Bytes, last: _Places) -> npt.NDArray[np.uint32]:
    """Read the four bytes that end at each place, capitals as small letters."""
    fours: npt.NDArray[np.uint32] = np.ndarray((len(text) - 3,), ">u4", buffer=text, strides=(1,))
    return fours[last - 3] | np.uint32(0x20202020)


def _after_status(text: _Bytes, start: _Places, length: _Places) -> _Flags:
    """Say which numbers stand one to three characters after a word that announces a status."""
    last = start - 1
    for _ in range(3):
        last = last - _IS_GAP[text[last]]
    word = _lower_four(text, last)
    quoted = text[last + 1] == ord('"')
    # HTTP/1.1" 200, and what is left of it
    version = (text[last - 1] == ord(".")) & (_lower_four(text, last - 4) == _four("http"))
    version |= (text[last] == ord("/")) & (_lower_four(text, last - 1) == _four("http"))
    status = (length == _STATUS_DIGITS) & (np.isin(word, _STATUS_WORDS) | version & quoted)
    after: _Flags = (last < start - 1) & (status | (length <= _STATUS_DIGITS) & (word == _four("rrno")))
    return after


def _after_capitals(text: _Bytes, start: _Places, end: _Places) -> _Flags:
    """Say which numbers make a code with the capitals before them; not what glog begins a line with, `E1110 22:06:37`."""
    length = end - start
    one, two, three, four = (text[start - back] for back in (1, 2, 3, 4))
    clock = (text[end] == ord(" ")) & _IS_DIGIT[text[end + 1]] & (text[end + 3] == ord(":"))
    severity = (length >= _LEAST_DIGITS) & _IS_SEVERITY[one] & ~IS_WORD[two] & (two != ord("-")) & ~clock
    letters = (length == _LONG_DIGITS) & _IS_UPPER[one] & _IS_UPPER[two] & (~IS_WORD[three] | _IS_UPPER[three] & ~IS_WORD[four])
    dashed = (length >= _LONG_DIGITS) & (one == ord("-")) & _IS_UPPER[two] & _IS_UPPER[three]
    code: _Flags = severity | letters | dashed
    return code
