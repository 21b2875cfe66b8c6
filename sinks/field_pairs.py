"""Names and values in kept fields, found in the bytes of many lines' JSON at once: for the words of blocks, for filters and for counts.

Kept fields are flat objects as `consumers.decode.kept_fields` writes them: compact, strings, numbers and booleans. In such a text quotes
stand only around names and string values, so what lies between two of them is known without parsing; a string with an escape is decoded by
itself. A column of which any text is of another shape is parsed line by line: slow, and with the same result.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from sinks.arrow import as_optional_texts, take, utf8_of
from sinks.block import Column

NO_VALUE: Final = -1
_QUOTE, _COLON, _COMMA, _OPEN, _CLOSE, _BACKSLASH, _MINUS = b'":,{}\\-'
_FIRST_PRINTABLE = 32
_VALUE = re.compile(rb'\s*:\s*("[^"]*|[^",}\s]+)?')
"""What comes after a name in a text without escapes."""
_PADDING = 8
_IS_FIRST, _IS_LAST = np.zeros(256, np.bool_), np.zeros(256, np.bool_)
_IS_FIRST[list(b"0123456789-tfn")] = True
_IS_LAST[list(b"0123456789el")] = True
"""How a number, `true`, `false` and `null` begin and end."""
_PLAIN_DIGITS = 15
"""A longer number may be written in several ways."""
_NO_EXPONENT = 2
"""So short a number has no exponent."""
_SMALL = np.uint64(int.from_bytes(b"0.000", "little"))
_FIVE_BYTES = np.uint64((1 << 40) - 1)
_E_S = np.uint64(0x6565656565656565)
_LOWER = np.uint64(0x2020202020202020)
_EACH, _HIGH = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)


class Spans(NamedTuple):
    """Stretches of bytes: n starts and ends.

    Thread: any.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def at(self, chosen: NDArray[np.bool_]) -> "Spans":
        """Return some of them."""
        rows = chosen.nonzero()[0]  # numpy takes by places four times as fast as by a mask
        return Spans(self.start[rows], self.end[rows])


class FieldPairs(NamedTuple):
    """p names with their values, in the order of the lines; spans are of `data`, without quotes.

    Thread: any.
    """

    data: NDArray[np.uint8]
    """The JSON texts, one after the other, and 8 bytes more."""
    name: Spans
    value: Spans
    is_text: NDArray[np.bool_]
    is_odd: NDArray[np.bool_]
    """The pairs that hold an escape, or a number that can be written in several ways: to be decoded by themselves."""

    def decoded(self, pair: int) -> tuple[str, str] | None:
        """Return a name and its value as questions write them; None if it is not valid JSON after all."""
        quote = int(self.is_text[pair])
        try:
            name = orjson.loads(self.data[self.name.start[pair] - 1 : self.name.end[pair] + 1].tobytes())
            value = orjson.loads(self.data[self.value.start[pair] - quote : self.value.end[pair] + quote].tobytes())
        except orjson.JSONDecodeError:
            return None
        return name, field_text(value)


class FieldValues(NamedTuple):
    """What n lines have in one field.

    Thread: any.
    """

    codes: NDArray[np.int32]
    """int32[n]: places in `values`; `NO_VALUE` for lines without the field."""
    values: tuple[str, ...]


class PairNames(NamedTuple):
    """Which fields n lines have: p pairs of a line and a name, in the order of the lines.

    Thread: any.
    """

    rows: NDArray[np.int64]
    """int64[p]: the line of each pair."""
    codes: NDArray[np.int64]
    """int64[p]: places in `names`."""
    names: tuple[str, ...]


def field_text(value: object) -> str:
    """Return a field's value as questions write it, and as blocks hash it: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def parsed_pairs(fields: str | None) -> Iterator[tuple[str, str]]:
    """Return names and values of one line's kept fields; what is no JSON object has none."""
    try:
        values = orjson.loads(fields or "{}")
    except orjson.JSONDecodeError:
        return
    if isinstance(values, dict):
        for name, value in values.items():
            yield name, field_text(value)


def find_pairs(fields: Column) -> FieldPairs | None:
    """Return all pairs of a column; None if a text is not of the shape that decoders write, or there is no pair."""
    texts, _ = utf8_of(fields)
    size = len(texts)
    if not size:
        return None
    data = np.zeros(size + _PADDING, np.uint8)
    data[:size] = texts
    data[size] = _OPEN  # so that the last text ends as the others do
    quotes = (data == _QUOTE).nonzero()[0]
    backslashes = (data == _BACKSLASH).nonzero()[0]
    if len(backslashes):
        quotes = quotes[~_are_escaped(data, backslashes)[quotes]]
    opens, closes = quotes[: len(quotes) & ~1 : 2], quotes[1::2]
    at = (data[closes + 1] == _COLON).nonzero()[0]
    if not len(at) or len(quotes) % 2 or texts.min() < _FIRST_PRINTABLE:
        return None
    name = Spans(opens[at] + 1, closes[at])
    is_text = data[name.end + 2] == _QUOTE
    ends = closes[np.minimum(at + 1, len(closes) - 1)]
    others = (~is_text).nonzero()[0]
    following = np.append(name.start[1:] - 1, size + 1)
    ends[others] = following[others] - 2 + (data[following[others] - 1] == _COMMA)
    pairs = FieldPairs(data, name, Spans(name.end + 2 + is_text, ends), is_text, np.zeros(len(at), np.bool_))
    takes_all = at[0] == 0 and (np.append(at[1:], len(opens)) == at + 1 + is_text).all()
    if not (takes_all and _is_compact(pairs, following) and _are_scalars(pairs, others)):
        return None
    pairs.is_odd[np.searchsorted(name.start, backslashes, "right") - 1] = True
    pairs.is_odd[others[_may_be_written_otherwise(pairs, others)]] = True
    return pairs


def field_values(fields: Column, name: str) -> FieldValues:
    """Return what each of n lines, whose fields are flat objects, has in one field."""
    texts, ends = utf8_of(fields)
    name = name.encode("utf-8", "replace").decode()
    needle = orjson.dumps(name)
    before, *after = texts.tobytes().split(needle)  # at half of the cost of a pattern
    raw = [part[1 : part.find(b'"', 2)] if part[:2] == b':"' else _value_after(needle, part) for part in after]
    distinct: dict[bytes | None, int] = dict.fromkeys(raw, NO_VALUE)
    places: dict[str, int] = {}
    for one in distinct:
        value = None if one is None else _text_of(one)
        distinct[one] = NO_VALUE if value is None else places.setdefault(value, len(places))
    codes = np.full(len(fields), NO_VALUE, np.int32)
    if after:
        sizes = np.fromiter(map(len, after), np.int64, len(after)) + len(needle)
        rows = np.searchsorted(ends, len(before) + np.cumsum(sizes) - sizes, "right") - 1
        is_name = np.fromiter((one is not None for one in raw), np.bool_, len(raw))
        codes[rows[is_name]] = np.fromiter(map(distinct.__getitem__, raw), np.int32, len(raw))[is_name]
    # A text with an escape is parsed: a quote in it may stand for itself.
    escaped = np.unique(np.searchsorted(ends, (texts == _BACKSLASH).nonzero()[0], "right") - 1)
    for row, text in zip(escaped.tolist(), as_optional_texts(take(fields, escaped)), strict=True):
        value = dict(parsed_pairs(text)).get(name)
        codes[row] = NO_VALUE if value is None else places.setdefault(value, len(places))
    return FieldValues(codes, tuple(places))


def field_names(fields: Column) -> PairNames:
    """Return the names of the fields of n lines, whose fields are flat objects; what is no JSON object has none."""
    pairs = find_pairs(fields)
    places: dict[str, int] = {}
    if pairs is None:
        found = [(row, name) for row, text in enumerate(as_optional_texts(fields)) for name, _ in parsed_pairs(text)]
        codes = [places.setdefault(name, len(places)) for _, name in found]
        return PairNames(np.array([row for row, _ in found], np.int64), np.array(codes, np.int64), tuple(places))
    _, ends = utf8_of(fields)
    rows = np.searchsorted(ends, pairs.name.start, "right") - 1
    data = pairs.data.tobytes()
    raw = [data[start:end] for start, end in zip(pairs.name.start.tolist(), pairs.name.end.tolist(), strict=True)]
    distinct = dict.fromkeys(raw, NO_VALUE)
    for one in distinct:
        name = _text_of(b'"' + one) if b"\\" not in one else _decoded(one)
        distinct[one] = NO_VALUE if name is None else places.setdefault(name, len(places))
    numbers = np.fromiter(map(distinct.__getitem__, raw), np.int64, len(raw))
    kept = np.flatnonzero(numbers != NO_VALUE)
    return PairNames(rows[kept], numbers[kept], tuple(places))


def joined_names_and_values(pairs: FieldPairs) -> tuple[NDArray[np.uint8], Spans]:
    """Return the pairs that are not odd, each as name, NUL, value: what is hashed of them, and where in the bytes it is."""
    data = pairs.data
    kept = np.ones(len(data), np.bool_)
    colons = pairs.name.end + 1
    kept[colons] = False
    kept[colons[pairs.is_text] + 1] = False
    dropped = np.cumsum(1 + pairs.is_text)
    start = pairs.name.start.copy()
    start[1:] -= dropped[:-1]
    joined = data[kept]
    joined[start + (pairs.name.end - pairs.name.start)] = 0
    spans = Spans(start, pairs.value.end - dropped)
    return joined, spans.at(~pairs.is_odd) if pairs.is_odd.any() else spans


def _are_escaped(data: NDArray[np.uint8], backslashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which bytes come after a backslash that is not escaped itself: bool[bytes]."""
    begins = np.append(True, np.diff(backslashes) != 1)
    begin = np.maximum.accumulate(np.where(begins, backslashes, 0))
    escaped = np.zeros(len(data) + 1, np.bool_)
    escaped[backslashes[(backslashes - begin) % 2 == 0] + 1] = True
    return escaped


def _is_compact(pairs: FieldPairs, following: NDArray[np.int64]) -> bool:
    """Whether between two pairs is nothing but `,`, or `}{` from one line to the next."""
    data, after = pairs.data, pairs.value.end + pairs.is_text
    gap = following - after
    is_next = (gap == 1) & (data[after] == _COMMA)
    last = (~is_next).nonzero()[0]
    ends = after[last]
    is_end = (gap[last] == 2) & (data[ends] == _CLOSE) & (data[ends + 1] == _OPEN)  # noqa: PLR2004 - both braces
    return bool(data[0] == _OPEN and pairs.name.start[0] == 2 and is_end.all())  # noqa: PLR2004 - after `{"`


def _are_scalars(pairs: FieldPairs, others: NDArray[np.int64]) -> bool:
    """Whether the values that are no strings are numbers, booleans or null."""
    start, end = pairs.value.start[others], pairs.value.end[others]
    return bool((start < end).all() and _IS_FIRST[pairs.data[start]].all() and _IS_LAST[pairs.data[end - 1]].all())


def _may_be_written_otherwise(pairs: FieldPairs, others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of these values may have another form too: long ones, small ones, and those with an exponent; bool[n]."""
    eights = np.ndarray((len(pairs.data) - _PADDING + 1,), "<u8", pairs.data, 0, (1,))  # the eight bytes from each place on
    start, end = pairs.value.start[others], pairs.value.end[others]
    found: NDArray[np.bool_] = end - start > _PLAIN_DIGITS
    digits = start + (pairs.data[start] == _MINUS)
    found |= (eights[np.minimum(digits, len(eights) - 1)] & _FIVE_BYTES) == _SMALL
    rows = (~found & (end - start > _NO_EXPONENT) & (pairs.data[end - 1] < ord("a"))).nonzero()[0]  # `true` and `null` end in a letter
    for place in (0, _PADDING):
        rows = rows[end[rows] - start[rows] > place]
        if len(rows):
            left = end[rows] - start[rows] - place
            zeros = (eights[start[rows] + place] | _LOWER) ^ _E_S
            zeros |= ~_FIRST_BYTES[np.minimum(left, 8)]
            found[rows] |= ((zeros - _EACH) & ~zeros & _HIGH) != 0
    return found


_FIRST_BYTES = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)


def _value_after(name: bytes, part: bytes) -> bytes | None:
    """Return the value that follows a name, without the quote at its end; None if this was a value and no name.

    `part` ends where the same text comes again: right after the colon that is the value.
    """
    found = _VALUE.match(part)
    return None if found is None else found[1] or name[:-1]


def _decoded(raw: bytes) -> str | None:
    """Return a string with escapes, given without its quotes; None if it is none."""
    try:
        return str(orjson.loads(b'"' + raw + b'"'))
    except orjson.JSONDecodeError:
        return None


def _text_of(raw: bytes) -> str | None:
    """Return a value without escapes as questions write it; None if it is none."""
    if raw[:1] == b'"':
        return raw[1:].decode()
    try:
        return field_text(orjson.loads(raw))
    except orjson.JSONDecodeError:
        return None
