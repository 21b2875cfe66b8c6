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

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import JoinedTexts, join_texts, string_column
from sinks.block import Coded
from sinks.field_pairs import FieldPairs, joined_names_and_values
from sinks.tokens import MIX, HashSet, TextBytes, Tokens, bytes_of, distinct, hashes, is_one_token, tokens_in, words_in

_WORD_BITS = 28
_CACHED_CHARACTERS = 8_000_000


def block_words(texts: JoinedTexts, templates: Coded) -> NDArray[np.int32]:
    """Return the distinct words of n lines, ascending: int32[w], 28 bits, never 0."""
    data = bytes_of(texts)
    tokens = tokens_in(data)
    hashed = hashes(data, tokens.spans)
    known = _TEMPLATE_TOKENS.tokens_of(templates.values)
    if known:
        of_template = np.array([token for own in known.values() for token in own], np.uint64)
        likely = HashSet(of_template).has(hashed).nonzero()[0]
        template = templates.codes[np.searchsorted(data.starts, tokens.spans.start[likely], "right") - 1]
        pairs = HashSet(_pairs(np.repeat(list(known), [len(own) for own in known.values()]), of_template))
        rest = np.ones(len(hashed), np.bool_)
        rest[likely] = ~pairs.has(_pairs(template, hashed[likely]))
        tokens, hashed = tokens.at(rest), hashed[rest]
    return _words(data, tokens, hashed)


def sorted_words(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return distinct words, ascending; at the tenth of the cost of `np.unique`."""
    ordered = np.sort(words)
    found: NDArray[np.int32] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def word_keys(text: str) -> tuple[int, ...]:
    """Return the words that every block has in which this text stands whole; () if it has none or is more than one token.

    Of several tokens some may stand in a line's template, so none of their words is sure to be there.
    """
    data = bytes_of(join_texts(string_column([text])))
    if not is_one_token(data):
        return ()
    tokens = tokens_in(data)
    return tuple(_words(data, tokens, hashes(data, tokens.spans)).tolist())


def is_identifier(word: str) -> bool:
    """Whether a word names one thing, so that blocks are found by it; `503`, `s3`, `http2` and times do not."""
    return bool(word_keys(word))


def field_word(name: str, value: str) -> int:
    """Return the word of a kept field's value."""
    return int(field_words([(name, value)])[0])


def field_words(pairs: list[tuple[str, str]]) -> NDArray[np.int32]:
    """Return the words of n names with their values: int32[n]. Letters count as in words: `A` is `a`."""
    data = bytes_of(join_texts(string_column([f"{name}\0{value}" for name, value in pairs])))
    return _short(hashes(data, data.whole))


def pair_words(pairs: FieldPairs) -> NDArray[np.int32]:
    """Return the words of those pairs that are not odd: int32[n], in their order."""
    return _short(hashes(*joined_names_and_values(pairs)))


class _TemplateTokens:
    """The tokens with words of templates, by text, for as many as are cached; few templates have any.

    Thread: any.
    """

    def __init__(self) -> None:
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._characters = 0

    def tokens_of(self, templates: tuple[str, ...]) -> dict[int, tuple[int, ...]]:
        """Return the hashes of the tokens of those templates that have any, by their place."""
        cached = self._tokens
        found = list(map(cached.get, templates))
        if None in found:
            missing = [place for place, tokens in enumerate(found) if tokens is None]
            new = [templates[place] for place in missing]
            read = _tokens_of_each(new)
            for place, tokens in zip(missing, read, strict=True):
                found[place] = tokens
            self._characters += sum(map(len, new))
            if self._characters > _CACHED_CHARACTERS:
                self._tokens, self._characters = {}, 0
            else:
                cached.update(zip(new, read, strict=True))
        return {place: tokens for place, tokens in enumerate(found) if tokens}


_TEMPLATE_TOKENS = _TemplateTokens()


def _tokens_of_each(texts: list[str]) -> list[tuple[int, ...]]:
    """Return for each text the hashes of its tokens that may have words."""
    data = bytes_of(join_texts(string_column(texts)))
    tokens = tokens_in(data).spans
    ends = np.searchsorted(tokens.start, data.starts).tolist()
    found = hashes(data, tokens).tolist()
    return [tuple(found[start:end]) for start, end in pairwise((*ends, len(found)))]


def _words(data: TextBytes, tokens: Tokens, hashed: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return the distinct words of tokens with these hashes, ascending."""
    # Of lines one after the other, two of three tokens stand in several.
    rows = distinct(hashed)
    whole, parts = words_in(data, tokens.at(rows))
    return sorted_words(_short(np.append(hashed[rows[whole]], hashes(data, parts))))


def _pairs(template: NDArray[np.int64] | NDArray[np.int32], token: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each template's place and token."""
    return token ^ template.astype(np.uint64) * MIX


def _short(full: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return 28 bits of each hash, never 0."""
    bits: NDArray[np.uint64] = np.maximum(full * MIX >> np.uint64(64 - _WORD_BITS), np.uint64(1))
    return bits.astype(np.int32)
