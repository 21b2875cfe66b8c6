"""Finds the words in texts: the tokenizer of `sinks.words`, over the bytes of many texts at once.

What is looked at are the *borders* (separators, `/ @`, `:`) and the digits between them; a stretch between two borders without a digit
is never touched. All of it is numpy, and its cost is that of a few passes over the bytes. The rules stand in `sinks.words`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import JoinedTexts, join_texts, string_column
from sinks.shapes import time_shapes

_INNER, _DIGIT, _COLON, _SLASH, _SEPARATOR = 1, 2, 4, 8, 16
"""Kinds of bytes; letters are 0. What is above `_DIGIT` ends a part, what is at least `_SLASH` ends a segment."""
_PUNCTUATION = _INNER | _COLON | _SLASH
_LEAST_BYTES = 6
_TRIMS = 16
"""Of so much punctuation each mark is looked at alone."""
_EACH = np.uint64(0x0101010101010101)
_BEFORE = b"\n" * 8
_LOWER = np.uint64(0x2020202020202020)
"""Set in every byte: lower-cases ASCII letters and keeps digits and our punctuation apart."""
MIX = np.uint64(0x9E3779B97F4A7C15)
_EARLY_PUNCTUATION = np.uint64(_PUNCTUATION << 8 | _PUNCTUATION << 16 | _PUNCTUATION << 32)
_LOW_BITS = np.uint64(0xFFFF)
_ONE = np.uint64(1)
_LOW_HALF = np.uint64(0xF)
"""What tells one digit from another."""
_LONGEST_EXTENSION = 5
_DOT = ord(".")
_MASKS = np.array([(1 << 8 * length) - 1 for length in range(9)], np.uint64)
"""Of eight bytes, the first so many."""
_POWERS = _MASKS[:8] + np.uint64(1)
"""The least number that has its highest byte at each place."""


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
    """Texts, one after the other with a line feed around each; eight bytes can be read from each place on, and before each end."""

    bytes: NDArray[np.uint8]
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
        rows = chosen.nonzero()[0] if chosen.dtype == np.bool_ else chosen  # numpy takes by places four times as fast as by a mask
        return Spans(self.start[rows], self.end[rows])


class _Events(NamedTuple):
    """Borders and the digits between them, in the order of the texts; the first and the last one are separators."""

    places: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    """Of each, and seven zeros."""
    separators: NDArray[np.int64]
    """Which of them are separators."""

    def own(self, gaps: NDArray[np.int64]) -> Spans:
        """Return the rows of the events between a separator and the next one."""
        return Spans(self.separators[gaps] + 1, self.separators[gaps + 1])

    def have(self, wanted: int, gaps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say between which separators events of those kinds are."""
        return _have(wanted, _eights(self.kinds, len(self.places)), self.own(gaps))


class Tokens(NamedTuple):
    """n tokens that have a digit and are identifiers."""

    spans: Spans
    """Trimmed."""
    gaps: NDArray[np.int64]
    """Each stands between the separator of this number and the next one."""
    events: _Events

    def at(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Tokens":
        """Return some of them."""
        rows = chosen.nonzero()[0] if chosen.dtype == np.bool_ else chosen
        return Tokens(self.spans.at(rows), self.gaps[rows], self.events)


def distinct(hashed: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return rows of n hashes: each value at least once, and seldom twice."""
    slot_bits = max(2 * len(hashed), 1).bit_length()
    slots = (hashed >> np.uint64(64 - slot_bits)).astype(np.int64)
    rows = np.arange(len(hashed))
    last = np.empty(1 << slot_bits, np.int64)
    last[slots] = rows
    winner = last[slots]
    found: NDArray[np.int64] = ((winner == rows) | (hashed[winner] != hashed)).nonzero()[0]
    return found


class HashSet:
    """Hashes that can be asked for, many at a time.

    Thread: any.
    """

    def __init__(self, members: NDArray[np.uint64]) -> None:
        self._sorted = np.sort(members)
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


def bytes_of(texts: JoinedTexts) -> TextBytes:
    """Copy n texts and find the kind of each byte."""
    data = b"".join((_BEFORE, texts.data.data, b"\n", bytes(7)))
    kinds: bytes | bytearray = data.translate(_KINDS)
    if not data.isascii():
        kinds = _with_punctuation(data, kinds)
    places = len(data) - 7
    starts = texts.ends[:-1] + np.arange(len(_BEFORE), len(texts.ends) - 1 + len(_BEFORE))
    return TextBytes(
        np.frombuffer(data, np.uint8), _eights(data, places), np.frombuffer(kinds, np.uint8, places), _eights(kinds, places), starts
    )


def raw_bytes(data: NDArray[np.uint8]) -> TextBytes:
    """Return bytes of which only hashes are asked for, and no kinds; the last seven are there to be read."""
    eights = _eights(data, len(data) - 7)
    return TextBytes(data, eights, data, eights, np.zeros(0, np.int64))


def _eights(data: bytes | bytearray | NDArray[np.uint8], size: int) -> NDArray[np.uint64]:
    """Return the eight bytes from each of the first places on; seven bytes more are there."""
    return np.ndarray((size,), "<u8", data, 0, (1,))


def _with_punctuation(data: bytes, kinds: bytes | bytearray) -> bytearray:
    """Make separators of U+0080-00BF, U+2000-207F, U+3000-303F and U+FF00-FF7F: quotes, dashes, no-break spaces, full-width marks."""
    found = bytearray(kinds)
    each, own = np.frombuffer(data, np.uint8), np.frombuffer(found, np.uint8)
    for lead, seconds, length in ((0xC2, (0x80, 0xBF), 2), (0xE2, (0x80, 0x81), 3), (0xE3, (0x80, 0x80), 3), (0xEF, (0xBC, 0xBD), 3)):
        places = (each[:-7] == lead).nonzero()[0]
        places = places[(each[places + 1] >= seconds[0]) & (each[places + 1] <= seconds[1])]
        for i in range(length):
            own[places + i] = _SEPARATOR
    return found


def tokens_in(data: TextBytes) -> Tokens:
    """Return the tokens that have words, and times; in their order."""
    is_event = np.empty(len(data.kinds), np.bool_)
    is_event[0] = True
    # A border or a digit; of several digits the first will do.
    np.greater(data.kinds[1:], data.kinds[:-1] & _DIGIT | _INNER, out=is_event[1:])
    places = is_event.nonzero()[0]
    kinds = np.zeros(len(places) + 7, np.uint8)
    np.take(data.kinds, places, out=kinds[: len(places)], mode="clip")
    events = _Events(places, kinds, (kinds == _SEPARATOR).nonzero()[0])
    sizes = events.separators[1:] - events.separators[:-1]
    gaps = (sizes > 1).nonzero()[0]
    has_digit = kinds[events.separators[gaps] + 1] == _DIGIT
    more = (~has_digit & (sizes[gaps] > 2)).nonzero()[0]  # noqa: PLR2004
    has_digit[more] = events.have(_DIGIT, gaps[more])
    gaps = gaps[has_digit.nonzero()[0]]
    found = Tokens(Spans(places[events.separators[gaps]] + 1, places[events.separators[gaps + 1]]), gaps, events)
    # Most are short numbers: they go before anything is done for them.
    found = found.at(_are_identifiers(data, found.spans))
    found = found._replace(spans=_trimmed(data, found.spans))
    return found.at(_are_identifiers(data, found.spans))


def words_in(data: TextBytes, tokens: Tokens) -> tuple[NDArray[np.int64], Spans]:
    """Return which of these tokens are words, and the words that are no token; in no order."""
    is_other = ~_are_times(data, tokens.spans)
    is_joined = is_other & tokens.events.have(_COLON | _SLASH, tokens.gaps)
    joined = is_joined.nonzero()[0]
    rows, parts = _words_in_joined(data, tokens.at(joined))
    rows = np.append((is_other & ~is_joined).nonzero()[0], joined[rows])
    parts = _chained(parts, _stems(data, _chained(tokens.spans.at(rows), parts)))  # no time ends like a file
    return rows, parts.at(~_are_times(data, parts))


def is_one_token(data: TextBytes) -> bool:
    """Whether there is one token and nothing else."""
    is_inside = data.kinds != _SEPARATOR
    return int(np.count_nonzero(is_inside[1:] > is_inside[:-1])) == 1


def hashes(data: TextBytes, spans: Spans, *, digits_alike: bool = False) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each stretch, lower-cased, eight bytes at a time; with `digits_alike` all digits are as one."""
    start, left = spans.start, spans.end - spans.start
    hashed = left.astype(np.uint64)
    found, rows = hashed, np.arange(0)
    while len(start):
        eight = data.eights[start]
        eight |= _LOWER
        if digits_alike:
            digits = data.kinds_eights[start]
            digits >>= _ONE
            digits &= _EACH
            digits *= _LOW_HALF
            eight &= ~digits
        eight &= _MASKS[np.minimum(left, 8)]
        hashed ^= eight
        hashed *= MIX
        hashed ^= hashed >> np.uint64(32)
        if hashed is not found:
            found[rows] = hashed
        more = (left > 8).nonzero()[0]  # noqa: PLR2004
        rows = more if hashed is found else rows[more]
        start, left, hashed = start[more] + 8, left[more] - 8, hashed[more]
    return found


def _words_in_joined(data: TextBytes, tokens: Tokens) -> tuple[NDArray[np.int64], Spans]:
    """Return which tokens that have several parts are words, and the words, and times, among their segments and parts."""
    if not len(tokens.gaps):
        return tokens.gaps, tokens.spans
    # Their events one after the other, each token's with the separators around it.
    own = tokens.events.own(tokens.gaps)
    sizes = own.end - own.start + 2
    ends = np.cumsum(sizes)
    rows = np.repeat(own.end - ends + 1, sizes) + np.arange(ends[-1])
    places, kinds = tokens.events.places[rows], tokens.events.kinds[rows]
    # Parts that have a digit: between two borders with digits only between them.
    is_digit = kinds == _DIGIT
    changes = (is_digit[1:] != is_digit[:-1]).nonzero()[0]
    left, right = changes[::2], changes[1::2] + 1
    token_of = np.searchsorted(ends, left, "right")
    parts = _trimmed(data, Spans(places[left] + 1, places[right]))
    borders = (kinds >= _SLASH).nonzero()[0]
    begin = np.searchsorted(borders, left, "right") - 1
    is_first = np.append(True, begin[1:] != begin[:-1])
    segment_of, begin = np.cumsum(is_first) - 1, begin[is_first]
    segments = _trimmed(data, Spans(places[borders[begin]] + 1, places[borders[begin + 1]]))
    is_part = _are_identifiers(data, parts)
    is_segment = _are_identifiers(data, segments) & ~_any_of(is_part, segment_of, len(begin))
    is_token = ~_any_of(is_part | is_segment[segment_of], token_of, len(ends))
    return is_token.nonzero()[0], _chained(parts.at(is_part), segments.at(is_segment))


def _stems(data: TextBytes, words: Spans) -> Spans:
    """Return those words that end in what looks like a file's extension, without it; some are times."""
    ending = words.at(data.kinds[words.end - 1] == 0)  # words that end in a letter; most end in a digit
    # Of the eight bytes before the end the last one is highest, and letters are 0.
    letters = 8 - np.searchsorted(_POWERS, data.kinds_eights[ending.end - 8], "right")
    before = ending.end - 1 - letters
    is_dot = (data.bytes[before] == _DOT) & (letters <= _LONGEST_EXTENSION) & (before > ending.start)
    stems = Spans(ending.start[is_dot], before[is_dot])
    is_word = _are_identifiers(data, stems) & ((data.kinds[stems.end - 1] & _PUNCTUATION) == 0)
    return stems.at(is_word & _have(_DIGIT, data.kinds_eights, stems))


def _have(wanted: int, eights: NDArray[np.uint64], spans: Spans) -> NDArray[np.bool_]:
    """Return which stretches of kinds have one of those that are wanted: bool[n]."""
    bits = _EACH * np.uint64(wanted)
    left = spans.end - spans.start
    found: NDArray[np.bool_] = (eights[spans.start] & _MASKS[np.minimum(left, 8)] & bits) != 0
    rows = (~found & (left > 8)).nonzero()[0]  # noqa: PLR2004
    start, left = spans.start[rows] + 8, left[rows] - 8
    while len(rows):
        found[rows] = (eights[start] & _MASKS[np.minimum(left, 8)] & bits) != 0
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
        for _ in range(_TRIMS):
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
    """Return which stretches, each with a digit, are identifiers, or look so by punctuation at their ends: bool[n]."""
    length = spans.end - spans.start
    found: NDArray[np.bool_] = length >= _LEAST_BYTES
    short = (~found).nonzero()[0]
    inside = data.kinds_eights[spans.start[short]] & _MASKS[length[short]]
    found[short] = (inside & (_EACH * np.uint64(_PUNCTUATION))) != 0
    return found


def _are_times(data: TextBytes, spans: Spans) -> NDArray[np.bool_]:
    """Return which stretches have the shape of a time or a date: bool[n]."""
    found = np.zeros(len(spans.start), np.bool_)
    # All of them begin with a digit and have punctuation at place 1, 2 or 4.
    likely = ((data.kinds[spans.start] == _DIGIT) & (spans.end - spans.start <= _LONGEST_TIME)).nonzero()[0]
    likely = likely[(data.kinds_eights[spans.start[likely]] & _EARLY_PUNCTUATION) != 0]
    if len(likely):
        found[likely] = _TIMES.has(hashes(data, spans.at(likely), digits_alike=True))
    return found


def _time_hashes() -> NDArray[np.uint64]:
    shapes = bytes_of(join_texts(string_column(sorted(time_shapes()))))
    return hashes(shapes, shapes.whole, digits_alike=True)


_LONGEST_TIME = max(map(len, time_shapes()))
_TIMES = HashSet(_time_hashes())
