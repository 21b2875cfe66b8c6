"""Finds the words in texts: the tokenizer of `sinks.words`, over the bytes of many texts at once.

What is looked at are the *borders* (separators, `/ @`, `:`) and the digits between them; a stretch between two borders without a digit
is never touched. All of it is numpy, and its cost is that of a few passes over the bytes. The rules stand in `sinks.words`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import joined_bytes, string_column, utf8_of
from sinks.block import Column
from sinks.shapes import time_shapes

_INNER, _COLON, _SLASH, _SEPARATOR, _DIGIT = 1, 2, 4, 8, 16
"""Kinds of bytes; letters are 0. What is `_COLON` or more ends a part, or is a digit."""
_PUNCTUATION = _INNER | _COLON | _SLASH
_LEAST_BYTES = 6
_VECTOR_TRIMS = 3
_EACH = np.uint64(0x0101010101010101)
_LOWER = np.uint64(0x2020202020202020)
"""Set in every byte: lower-cases ASCII letters and keeps digits and our punctuation apart."""
MIX = np.uint64(0x9E3779B97F4A7C15)
_ZEROS = np.uint64(0x3030303030303030)
_DIGIT_FIRST = np.uint64(_DIGIT)
_EARLY_PUNCTUATION = np.uint64(_PUNCTUATION << 8 | _PUNCTUATION << 16 | _PUNCTUATION << 32)
_LOW_BITS = np.uint64(0xFFFF)
_LONGEST_EXTENSION = 5
_DOT = np.uint64(ord("."))
_LOW_BYTE = np.uint64(0xFF)
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)
"""Of eight bytes, the first so many."""


def _kinds() -> bytes:
    kinds = bytearray([_SEPARATOR]) * 256
    for byte in range(256):
        if byte >= 0x80 or bytes([byte]).isalpha():  # noqa: PLR2004
            kinds[byte] = 0
    for bytes_, kind in ((b"0123456789", _DIGIT), (b"_.-", _INNER), (b":", _COLON), (b"/@", _SLASH)):
        for byte in bytes_:
            kinds[byte] = kind
    return bytes(kinds)


_KINDS = _kinds()


class TextBytes(NamedTuple):
    """Texts, one after the other with a line feed around each, and zeros at the end, so that eight bytes can be read at any place."""

    eights: NDArray[np.uint64]
    """The eight bytes from each place on, the first one lowest."""
    kinds: NDArray[np.uint8]
    kinds_eights: NDArray[np.uint64]
    """Their kinds."""
    starts: NDArray[np.int64]
    """Where each text begins."""

    @property
    def whole(self) -> "Spans":
        """The texts themselves."""
        return Spans(self.starts, np.append(self.starts[1:] - 1, len(self.kinds) - 1))


class Spans(NamedTuple):
    """Stretches of text."""

    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def at(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Spans":
        """Return some of them."""
        return Spans(self.start[chosen], self.end[chosen])


class HashSet:
    """Hashes that can be asked for, many at a time.

    Thread: any.
    """

    def __init__(self, members: NDArray[np.uint64]) -> None:
        self._sorted = np.unique(members)
        self._low_bits = np.zeros(1 << 16, np.bool_)
        self._low_bits[self._sorted & _LOW_BITS] = True

    def has(self, asked: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which are in it: bool[n]."""
        found: NDArray[np.bool_] = self._low_bits[asked & _LOW_BITS]
        likely = found.nonzero()[0]  # few, so the search costs little
        if len(likely):
            wanted = asked[likely]
            places = np.searchsorted(self._sorted, wanted)
            found[likely] = self._sorted[np.minimum(places, len(self._sorted) - 1)] == wanted
        return found


def bytes_of(column: Column) -> TextBytes:
    """Copy n texts, nulls as empty ones, and find the kind of each byte."""
    size = len(column)
    ends = utf8_of(column)[1].astype(np.int64)
    data = b"\n%b\n\0\0\0\0\0\0\0" % joined_bytes(column)
    kinds = bytearray(data.translate(_KINDS))
    places = len(data) - 7
    eights = np.ndarray((places,), "<u8", data, 0, (1,))
    kinds_eights = np.ndarray((places,), "<u8", kinds, 0, (1,))
    one = np.frombuffer(kinds, np.uint8)[:places]
    if not data.isascii():
        _separate_punctuation(np.frombuffer(data, np.uint8), np.frombuffer(kinds, np.uint8))
    return TextBytes(eights, one, kinds_eights, ends[:-1] + np.arange(1, size + 1))


def _separate_punctuation(data: NDArray[np.uint8], kinds: NDArray[np.uint8]) -> None:
    """Make separators of U+0080-00BF, U+2000-207F, U+3000-303F and U+FF00-FF7F: quotes, dashes, no-break spaces, full-width marks."""
    for lead, seconds, length in ((0xC2, (0x80, 0xBF), 2), (0xE2, (0x80, 0x81), 3), (0xE3, (0x80, 0x80), 3), (0xEF, (0xBC, 0xBD), 3)):
        places = (data[:-7] == lead).nonzero()[0]
        places = places[(data[places + 1] >= seconds[0]) & (data[places + 1] <= seconds[1])]
        for i in range(length):
            kinds[places + i] = _SEPARATOR


def words_in(data: TextBytes) -> tuple[Spans, Spans]:
    """Return the words of all texts, and with each the token around it; in no order."""
    is_event = data.kinds >= _COLON
    is_event[1:] &= (data.kinds[1:] & data.kinds[:-1] & _DIGIT) == 0  # of several digits the first will do
    events = is_event.nonzero()[0]
    kinds = data.kinds[events]
    borders = (kinds != _DIGIT).nonzero()[0]
    places, kinds = events[borders], kinds[borders]
    # A part lies between two borders; if it has a digit, then there are events between them.
    part = (np.diff(borders) > 1).nonzero()[0]
    parts = _trimmed(data, Spans(places[part] + 1, places[part + 1]))
    is_token = (kinds[part] | kinds[part + 1]) == _SEPARATOR
    whole = parts.at(is_token)
    whole = whole.at(_are_identifiers(data, whole))
    whole = whole.at(~_are_times(data, whole))
    joined, around = _words_in_joined(data, places, kinds, part[~is_token], parts.at(~is_token))
    words, tokens = _chained(whole, joined), _chained(whole, around)
    stems, stem_of = _stems(data, words)
    return _chained(words, stems), _chained(tokens, tokens.at(stem_of))


def is_one_token(data: TextBytes) -> bool:
    """Whether there is one token and nothing else."""
    is_inside = data.kinds != _SEPARATOR
    return int(np.count_nonzero(is_inside[1:] > is_inside[:-1])) == 1


def hashes(data: TextBytes, spans: Spans, *, digits_alike: bool = False) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each stretch, lower-cased, eight bytes at a time; with `digits_alike` all digits are as one."""
    start, left = spans.start, spans.end - spans.start
    found = left.astype(np.uint64)
    rows: NDArray[np.int64] | slice = slice(None)
    while len(start):
        eight = data.eights[start] | _LOWER
        if digits_alike:
            digits = (data.kinds_eights[start] >> np.uint64(4) & _EACH) * np.uint64(0xFF)
            eight = eight & ~digits | digits & _ZEROS
        mixed = (found[rows] ^ eight & _MASKS[np.minimum(left, 8)]) * MIX
        found[rows] = mixed ^ mixed >> np.uint64(32)
        more = (left > 8).nonzero()[0]  # noqa: PLR2004
        if not len(more):
            break
        rows = more if isinstance(rows, slice) else rows[more]
        start, left = start[more] + 8, left[more] - 8
    return found


def _words_in_joined(
    data: TextBytes, places: NDArray[np.int64], kinds: NDArray[np.uint8], part: NDArray[np.int64], parts: Spans
) -> tuple[Spans, Spans]:
    """Return the words of tokens that have several parts, and the tokens around them, from those of their parts that have a digit."""
    tokens, token_of = _spans_around(data, places, (kinds == _SEPARATOR).nonzero()[0], part)
    # Most of these tokens are times: the rest is done for the others only.
    is_other = ~_are_times(data, tokens)
    is_left = is_other[token_of]
    part, parts, tokens = part[is_left], parts.at(is_left), tokens.at(is_other)
    token_of = (np.cumsum(is_other) - 1)[token_of[is_left]]
    segments, segment_of = _spans_around(data, places, (kinds >= _SLASH).nonzero()[0], part)
    token_of_segment = np.zeros(len(segments.start), np.int64)
    token_of_segment[segment_of] = token_of
    is_part = _are_identifiers(data, parts)
    is_segment = _are_identifiers(data, segments) & ~_any_of(is_part, segment_of, len(segments.start))
    is_token = _are_identifiers(data, tokens) & ~_any_of(is_part | is_segment[segment_of], token_of, len(tokens.start))
    words = _chained(_chained(parts.at(is_part), segments.at(is_segment)), tokens.at(is_token))
    token = np.concatenate([token_of[is_part], token_of_segment[is_segment], is_token.nonzero()[0]])
    is_word = ~_are_times(data, words)
    return words.at(is_word), tokens.at(token[is_word])


def _spans_around(
    data: TextBytes, places: NDArray[np.int64], borders: NDArray[np.int64], part: NDArray[np.int64]
) -> tuple[Spans, NDArray[np.int64]]:
    """Return the stretches between such borders that hold the given parts, and for each part which one it is in."""
    number = np.searchsorted(borders, part, "right") - 1
    is_first = np.ones(len(number), np.bool_)
    np.not_equal(number[1:], number[:-1], out=is_first[1:])
    own = number[is_first]
    return _trimmed(data, Spans(places[borders[own]] + 1, places[borders[own + 1]])), np.cumsum(is_first) - 1


def _stems(data: TextBytes, words: Spans) -> tuple[Spans, NDArray[np.int64]]:
    """Return the words that end in what looks like a file's extension, without it, and which words they are of."""
    before = np.zeros(len(words.start), np.int64)
    only_letters = np.ones(len(words.start), np.bool_)
    for back in range(1, _LONGEST_EXTENSION + 2):
        at = np.maximum(words.end - back, 0)
        is_dot = only_letters & ((data.eights[at] & _LOW_BYTE) == _DOT) & (at > words.start)
        before[is_dot & (back > 1)] = at[is_dot & (back > 1)]
        only_letters &= data.kinds[at] == 0
    found = before.nonzero()[0]
    stems = Spans(words.start[found], before[found])
    is_word = _are_identifiers(data, stems) & ((data.kinds[stems.end - 1] & _PUNCTUATION) == 0) & ~_are_times(data, stems)
    is_word &= _have_digits(data, stems)
    return stems.at(is_word), found[is_word]


def _have_digits(data: TextBytes, spans: Spans) -> NDArray[np.bool_]:
    """Return which stretches have a digit: bool[n]."""
    found = np.zeros(len(spans.start), np.bool_)
    rows, start, left = np.arange(len(found)), spans.start, spans.end - spans.start
    while len(rows):
        found[rows] |= (data.kinds_eights[start] & _MASKS[np.minimum(left, 8)] & (_EACH * _DIGIT_FIRST)) != 0
        more = (~found[rows] & (left > 8)).nonzero()[0]  # noqa: PLR2004
        rows, start, left = rows[more], start[more] + 8, left[more] - 8
    return found


def _chained(one: Spans, other: Spans) -> Spans:
    return Spans(np.concatenate([one.start, other.start]), np.concatenate([one.end, other.end]))


def _any_of(is_so: NDArray[np.bool_], group_of: NDArray[np.int64], groups: int) -> NDArray[np.bool_]:
    found = np.zeros(groups, np.bool_)
    found[group_of[is_so]] = True
    return found


def _trimmed(data: TextBytes, spans: Spans) -> Spans:
    """Return stretches, each with a digit, without the punctuation at their ends."""
    start, end = spans.start, spans.end.copy()
    for edge, step in ((start, 1), (end, -1)):
        look = min(step, 0)
        wrong = (data.kinds[edge + look] & _PUNCTUATION).nonzero()[0]
        for _ in range(_VECTOR_TRIMS):
            if not len(wrong):
                break
            edge[wrong] += step
            wrong = wrong[(data.kinds[edge[wrong] + look] & _PUNCTUATION) != 0]
        if len(wrong):  # more punctuation than sane tokens have: look for where it ends
            ends = ((data.kinds & _PUNCTUATION) == 0).nonzero()[0]
            place = np.searchsorted(ends, edge[wrong]) - (step < 0)
            edge[wrong] = ends[place] - look
    return Spans(start, end)


def _are_identifiers(data: TextBytes, spans: Spans) -> NDArray[np.bool_]:
    """Return which trimmed stretches, each with a digit, are identifiers: bool[n]."""
    length = spans.end - spans.start
    inside = data.kinds_eights[spans.start] & _MASKS[np.minimum(length, 8)]
    found: NDArray[np.bool_] = (length >= _LEAST_BYTES) | ((inside & (_EACH * np.uint64(_PUNCTUATION))) != 0)
    return found


def _are_times(data: TextBytes, spans: Spans) -> NDArray[np.bool_]:
    """Return which stretches have the shape of a time or a date: bool[n]."""
    found = np.zeros(len(spans.start), np.bool_)
    # All of them begin with a digit and have punctuation at place 1, 2 or 4.
    begin = data.kinds_eights[spans.start]
    likely = (((begin & _DIGIT_FIRST) != 0) & ((begin & _EARLY_PUNCTUATION) != 0) & (spans.end - spans.start <= _LONGEST_TIME)).nonzero()[0]
    if len(likely):
        found[likely] = _TIMES.has(hashes(data, spans.at(likely), digits_alike=True))
    return found


def _time_hashes() -> NDArray[np.uint64]:
    shapes = bytes_of(string_column(sorted(time_shapes())))
    return hashes(shapes, shapes.whole, digits_alike=True)


_LONGEST_TIME = max(map(len, time_shapes()))
_TIMES = HashSet(_time_hashes())
