"""The pairs of logfmt lines as JSON objects, by columns.

Lines as loggers write them are cut at all their blanks at once; the others, with escapes that JSON does not know, quotes that do not end or
control characters, go one by one through `pairs_of`, which says what the rules are.
"""

import json
import re
import sys
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, as_texts, cut_texts, join_texts, replace_rows, string_column, take, text_bytes, utf8_of
from consumers.text.regex import column_of

_WORD: Final = r'[^ \t\r\n\f\v="]+'
_BETWEEN: Final = r'[ \t\r\n\f\v="]'
_PAIR: Final = re.compile(rf'{_BETWEEN}*({_WORD})=(?:("(?:[^"\\]|\\.)*")|([^ \t\r\n\f\v"]*))|{_BETWEEN}*{_WORD}|{_BETWEEN}+', re.DOTALL)
"""A pair, or a word that is none, or what is between."""
_ESCAPED: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF
_BLANK, _EQUALS, _QUOTE, _BACKSLASH = b' ="\\'
_IS_SIMPLE_ESCAPE: Final = np.zeros(256, np.bool_)
_IS_SIMPLE_ESCAPE[list(b'"nrtbf/')] = True
"""What after a backslash means in JSON what it means here; two backslashes in a row are not among it."""


class _Pairs(NamedTuple):
    """p pairs of n lines, in their order: places in the lines' bytes.

    Thread: one.
    """

    name: NDArray[np.int64]
    name_end: NDArray[np.int64]
    value: NDArray[np.int64]
    value_end: NDArray[np.int64]
    row: NDArray[np.int64]
    """Of which line; none of an unusual one."""
    unusual: NDArray[np.bool_]
    """bool[n]: lines that are to be read one by one."""


def objects_of(lines: Column) -> Column:
    """Return the pairs of n lines, which are not empty, as JSON objects; of a name that is there twice the last counts."""
    data, ends = utf8_of(lines)
    pairs = _find_pairs(data, ends.astype(np.int64))
    bounds = np.full(4 * len(pairs.row) + 1, len(data))
    bounds[0:-1:4], bounds[1::4], bounds[2::4], bounds[3::4] = pairs[:4]
    stretches, first = column_of(data, bounds), np.arange(0, 4 * len(pairs.row), 4)
    written, written_ends = utf8_of(join_texts(['"', take(stretches, first), '":"', take(stretches, first + 2), '",']))
    rows = column_of(written, written_ends[np.searchsorted(pairs.row, np.arange(len(lines) + 1))])
    objects = join_texts(["{", cut_texts(rows, np.zeros(len(rows), np.int32), np.maximum(text_bytes(rows) - 1, 0)), "}"])
    others = np.flatnonzero(pairs.unusual)
    if not len(others):
        return objects
    alone = [json.dumps(pairs_of(line), ensure_ascii=False, separators=(",", ":")) for line in as_texts(take(lines, others))]
    return replace_rows(objects, others, string_column(alone))


def _find_pairs(data: NDArray[np.uint8], ends: NDArray[np.int64]) -> _Pairs:
    starts, size = ends[:-1], len(ends) - 1
    unusual = np.zeros(size, np.bool_)

    def mark(places: NDArray[np.int64]) -> None:
        unusual[np.searchsorted(ends, places, side="right") - 1] = True

    mark(np.flatnonzero(data < _BLANK))
    before = np.empty_like(data)
    before[1:] = data[:-1]
    before[starts] = 0
    is_quote = (data == _QUOTE) & (before != _BACKSLASH)
    quotes = np.flatnonzero(is_quote)
    quote_row = np.searchsorted(ends, quotes, side="right") - 1
    is_odd = (np.bincount(quote_row, minlength=size) & 1).astype(np.bool_)
    unusual |= is_odd
    is_quote[quotes[is_odd[quote_row]]] = False
    quotes_to = np.cumsum(is_quote, dtype=np.int32)
    """int32[len(data)]: how many quotes there are up to each byte, and with it."""
    is_quoted = (quotes_to & 1).astype(np.bool_)

    escapes = np.flatnonzero(data == _BACKSLASH)
    if len(escapes):
        after = data[np.minimum(escapes + 1, len(data) - 1)]
        mark(escapes[~is_quoted[escapes] | ~_IS_SIMPLE_ESCAPE[after]])

    is_between = (data == _BLANK) & ~is_quoted
    follows = np.concatenate([[True], is_between[:-1]])
    follows[starts] = True
    precedes = np.concatenate([is_between[1:], [True]])
    precedes[ends[1:] - 1] = True
    word, word_end = np.flatnonzero(~is_between & follows), np.flatnonzero(~is_between & precedes) + 1

    is_equal = (data == _EQUALS) & ~is_quoted
    equals = np.append(np.flatnonzero(is_equal), len(data))
    equal = equals[np.cumsum(is_equal, dtype=np.int32)[word] - is_equal[word]]
    has_value = equal < word_end
    value = np.minimum(equal + 1, len(data) - 1)
    in_word = quotes_to[word_end - 1] - quotes_to[word] + is_quote[word]
    is_string = has_value & (in_word == 2) & (data[value] == _QUOTE) & (value < word_end - 1) & (data[word_end - 1] == _QUOTE)  # noqa: PLR2004
    mark(word[((in_word > 0) & ~is_string) | (equal == word)])

    words_to = np.searchsorted(word, ends)
    row = np.repeat(np.arange(size), np.diff(words_to))
    kept = np.flatnonzero(has_value & ~unusual[row])
    quoted = is_string[kept].astype(np.int64)
    return _Pairs(word[kept], equal[kept], equal[kept] + 1 + quoted, word_end[kept] - quoted, row[kept], unusual)


def pairs_of(line: str) -> dict[str, str]:
    """Return the pairs of a line."""
    return {name: _unescape(quoted[1:-1]) if quoted else bare for name, quoted, bare in _PAIR.findall(line) if name}


def _unescape(quoted: str) -> str:
    """Undo what Go's `strconv.Quote` writes; a backslash before anything else goes."""
    return _ESCAPED.sub(_escaped, quoted) if "\\" in quoted else quoted


def _escaped(found: re.Match[str]) -> str:
    number = found[1] or found[2] or found[3]
    if number is None:
        return _ESCAPES.get(found[4], found[4])
    code = int(number, 16)
    is_character = code <= sys.maxunicode and not _FIRST_SURROGATE <= code <= _LAST_SURROGATE
    return chr(code) if is_character else "\ufffd"
