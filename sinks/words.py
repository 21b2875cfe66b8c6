"""The words of lines: hashes by which the blocks are found that hold an identifier (a block, an address, a request) or a field's value.

The one tokenizer of blocks and questions, so both agree by construction. Letters are lower-cased, ASCII only:
1. A *token* is a run of letters, digits, `_ . - : / @` and non-ASCII characters (but typographic punctuation separates, like every other
   character), without punctuation at both ends. `/ @` cut it into *segments*, `:` cuts these into *parts*; both are trimmed alike.
2. An *identifier* has an ASCII digit, and six bytes or punctuation inside.
3. The words of a token are those of its parts that are identifiers; of a segment without such a part, the segment if it is one; of a token
   without any of both, the token if it is one; and of each of these what is left without an extension of up to five letters. What has the
   shape of a time or a date is no word, and a token of that shape has none.
4. A token that stands in the template of its line as well has no words: the template's text finds it.

So if a text holds X as a token, a segment or a part, its words hold all of `word_keys(X)`, unless the token around X is in its template or
is a time. All of it is numpy, no Python object a line; the words are stored, so a change of any rule or number is a new layout.
"""

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import string_column
from sinks.block import Coded, Column
from sinks.tokens import MIX, HashSet, bytes_of, hashes, is_one_token, words_in

_WORD_BITS = 28
_CACHED_CHARACTERS = 8_000_000


def block_words(texts: Column, templates: Coded) -> NDArray[np.int32]:
    """Return the distinct words of n lines, ascending: int32[w], 28 bits, never 0."""
    return np.unique(line_words(texts, templates)[1])


def line_words(texts: Column, templates: Coded) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the words of each of n lines: int64[m] rows and int32[m] words, in no order; a line may have one twice."""
    data = bytes_of(texts)
    words, tokens = words_in(data)
    row = np.searchsorted(data.starts, words.start, "right") - 1
    known = _TEMPLATE_TOKENS.tokens_of(templates.values)
    if known:
        is_likely = np.zeros(len(templates.values), np.bool_)
        is_likely[list(known)] = True
        code = templates.codes[row]
        likely = np.flatnonzero(is_likely[code])
        pairs = HashSet(np.concatenate([_pairs(np.array([one]), own) for one, own in known.items()]))
        kept = np.ones(len(row), np.bool_)
        kept[likely] = ~pairs.has(_pairs(code[likely], hashes(data, tokens.at(likely))))
        row, words = row[kept], words.at(kept)
    return row, _short(hashes(data, words))


def word_keys(text: str) -> tuple[int, ...]:
    """Return the words that every block has in which this text stands whole; () if it has none or is more than one token.

    Of several tokens some may stand in a line's template, so none of their words is sure to be there.
    """
    data = bytes_of(string_column([text]))
    return tuple(np.unique(_short(hashes(data, words_in(data)[0]))).tolist()) if is_one_token(data) else ()


def is_identifier(word: str) -> bool:
    """Whether a word names one thing, so that blocks are found by it; `503`, `s3`, `http2` and times do not."""
    return bool(word_keys(word))


def field_word(name: str, value: str) -> int:
    """Return the word of a kept field's value."""
    return int(field_words([(name, value)])[0])


def field_words(pairs: list[tuple[str, str]]) -> NDArray[np.int32]:
    """Return the words of n names with their values: int32[n]. Letters count as in words: `A` is `a`."""
    data = bytes_of(string_column([f"{name}\0{value}" for name, value in pairs]))
    return _short(hashes(data, data.whole))


class _TemplateTokens:
    """The tokens with words of templates, by text, for as many as are cached; few templates have any.

    Thread: any.
    """

    def __init__(self) -> None:
        self._tokens: dict[str, NDArray[np.uint64]] = {}
        self._characters = 0

    def tokens_of(self, templates: tuple[str, ...]) -> dict[int, NDArray[np.uint64]]:
        """Return the hashes of the tokens of those templates that have any, by their place."""
        cached = self._tokens
        found = [cached.get(text) for text in templates]
        missing = [place for place, tokens in enumerate(found) if tokens is None]
        if missing:
            new = [templates[place] for place in missing]
            read = _tokens_with_words(new)
            for place, tokens in zip(missing, read, strict=True):
                found[place] = tokens
            self._characters += sum(map(len, new))
            if self._characters > _CACHED_CHARACTERS:
                self._tokens, self._characters = {}, 0
            else:
                cached.update(zip(new, read, strict=True))
        return {place: tokens for place, tokens in enumerate(found) if tokens is not None and len(tokens)}


_TEMPLATE_TOKENS = _TemplateTokens()


def _tokens_with_words(texts: list[str]) -> list[NDArray[np.uint64]]:
    """Return for each text the hashes of its tokens that have words."""
    data = bytes_of(string_column(texts))
    _, tokens = words_in(data)
    row = np.searchsorted(data.starts, tokens.start, "right") - 1
    order = np.argsort(row, kind="stable")
    ends = np.searchsorted(row[order], np.arange(1, len(texts)))
    return [own.copy() for own in np.split(hashes(data, tokens)[order], ends)]


def _pairs(template: NDArray[np.int64] | NDArray[np.int32], token: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each template's place and token."""
    return token ^ template.astype(np.uint64) * MIX


def _short(full: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return 28 bits of each hash, never 0."""
    bits: NDArray[np.uint64] = np.maximum(full * MIX >> np.uint64(64 - _WORD_BITS), np.uint64(1))
    return bits.astype(np.int32)
