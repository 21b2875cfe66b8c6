r"""Repairs JSON that a defect spoils: what JSON has no form for is replaced, and everything else stays as it is.

Readers ask for it after a parse has failed. A scan of tokens finds the defects: `NaN` and infinities, numbers beyond the range of a double,
bytes that are not UTF-8, halves of a surrogate pair, control characters and unknown escapes in strings, NUL, RS and byte order marks
between values. It is linear in the value's size, it never guesses where a string or an object ends, and the repaired value is parsed as any
other. So text and JSON that was cut off are as little JSON as before.
"""

import re
from collections.abc import Callable
from math import isinf
from typing import Final, NamedTuple, TypeVar

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.json_text import NotJson
from consumers.decode.rules import DecodeRules

NUMBER, UTF_8, SURROGATE, CONTROL, ESCAPE, SEPARATOR, LINE = "number", "utf8", "surrogate", "control", "escape", "separator", "line"
REPAIRS: Final = {
    NUMBER: "NaN, an infinity or a number that is too large became null",
    UTF_8: "bytes that are not UTF-8 were replaced",
    SURROGATE: "halves of a surrogate pair were replaced",
    CONTROL: "control characters in a string were escaped",
    ESCAPE: "the backslash of an unknown escape stands for itself",
    SEPARATOR: "NUL, RS or a byte order mark outside of strings was left out",
    LINE: "a line that is not JSON is text; the lines around it are JSON",
}
"""What is repaired, by its label in metrics."""
_MOST_DEFECTS: Final = 20_000
"""Of a value; with more it is not repaired."""
_SURELY_FINITE: Final = 300
"""Digits before the point of a number without an exponent."""

_GOOD: Final = (
    rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*+'
)
_END: Final = rb"(?=[\s,:{}\[\]\x00\x1e\xef]|\Z)"
_IN_STRING: Final = re.compile(_GOOD)
_IN_VALUE: Final = re.compile(
    rb'(?:[ \t\r\n{}\[\],:]++|"' + _GOOD + rb'"|(?:true|false|null|-?[0-9]{1,%d}+(?:\.[0-9]++)?+)' % _SURELY_FINITE + _END + rb")*+"
)
_LONG_NUMBER: Final = re.compile(rb"-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+" + _END)
_NO_NUMBER: Final = re.compile(
    rb"[+-]?(?:nan(?:\((?:ind|snan|0x[0-9a-f]{1,16})\))?|inf(?:inity)?|1\.#(?:inf|ind|[qs]nan)[0-9]{0,8})" + _END, re.IGNORECASE
)
"""As Python, C, Go, Ruby and Microsoft's C write what is no number."""
_SEPARATORS: Final = re.compile(rb"(?:[\x00\x1e]|\xef\xbb\xbf)++")
_LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_ESCAPES: Final = {b"\b": rb"\b", b"\t": rb"\t", b"\n": rb"\n", b"\f": rb"\f", b"\r": rb"\r"}
_QUOTE: Final = ord('"')
_BACKSLASH: Final = b"\\"

T = TypeVar("T")


class RepairedJson(NamedTuple):
    """A value that was repaired.

    Thread: any.
    """

    value: bytes
    what: frozenset[str]
    """Of `REPAIRS`."""


class JsonRepairs:
    """Repairs values of a topic, and counts the records that can be read for it.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally | None = None) -> None:
        self.strict = rules.strict
        self._tally = DecodeTally() if tally is None else tally

    def parse(self, value: bytes, read: Callable[[bytes], T]) -> T:
        """Return what `read` makes of a value, of the repaired one where it raises NotJson. Raises NotJson."""
        try:
            return read(value)
        except NotJson:
            repaired = replace_defects(value, strict=self.strict)
            if repaired is None:
                raise
        found = read(repaired.value)
        self.count(repaired.what)
        return found

    def count(self, what: frozenset[str]) -> None:
        """Count a record in which this was repaired."""
        self._tally.replaced_records += UTF_8 in what
        self._tally.repaired.update(what)


def replace_defects(value: bytes, *, strict: bool = False) -> RepairedJson | None:
    """Return a value without what JSON has no form for; None if there is no defect that can be replaced.

    The result may still be none: only a parser can say. `strict`: bytes that are not UTF-8 are not replaced.
    """
    what: set[str] = set()
    try:
        value.decode()
    except UnicodeDecodeError:
        if strict:
            return None
        value = value.decode("utf-8", "replace").encode()
        what.add(UTF_8)
    parts: list[bytes] = []
    done, place, in_string = 0, 0, False
    while (place := _end(_IN_STRING if in_string else _IN_VALUE, value, place)) < len(value):
        if value[place] == _QUOTE:
            in_string = not in_string
            place += 1
            continue
        defect = (_defect_in_string if in_string else _defect_outside)(value, place)
        if defect is None or len(parts) > 2 * _MOST_DEFECTS:
            return None
        if defect.kind:
            what.add(defect.kind)
            parts += (value[done:place], defect.replacement)
            done = defect.end
        place = defect.end
    parts.append(value[done:])
    return RepairedJson(b"".join(parts), frozenset(what)) if what else None


class _Defect(NamedTuple):
    """What stands in place of a part of a value, and where that part ends; the kind is empty if it is no defect."""

    end: int
    replacement: bytes
    kind: str


def _defect_outside(value: bytes, place: int) -> _Defect | None:
    """Return the defect outside of strings that begins at a place; None if nothing can stand for it."""
    if separators := _SEPARATORS.match(value, place):
        return _Defect(separators.end(), b"\n", SEPARATOR)
    if number := _NO_NUMBER.match(value, place):
        return _Defect(number.end(), b"null", NUMBER)
    if number := _LONG_NUMBER.match(value, place):
        return _Defect(number.end(), b"null", NUMBER if isinf(float(number[0])) else "")
    return None


def _defect_in_string(value: bytes, place: int) -> _Defect:
    """Return the defect in a string that begins at a place."""
    character = value[place : place + 1]
    if character != _BACKSLASH:
        return _Defect(place + 1, _ESCAPES.get(character) or rb"\u%04x" % character[0], CONTROL)
    if half := _LONE_SURROGATE.match(value, place):
        return _Defect(half.end(), rb"\ufffd", SURROGATE)
    return _Defect(place + 1, rb"\\", ESCAPE)


def _end(pattern: re.Pattern[bytes], value: bytes, place: int) -> int:
    """Return where a match ends of a pattern that also matches nothing."""
    found = pattern.match(value, place)
    return found.end() if found else place
