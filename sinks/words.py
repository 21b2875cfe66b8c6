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
is a time. `tokens.c` reads the bytes, no Python object a line; the words are stored, so a change of any rule or number is a new layout.
"""

from ctypes import c_bool
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from consumers.native import BYTES, PLACES, SIZE, array_of, c_function, output_of
from sinks.arrow import JoinedTexts, join_texts, string_column
from sinks.block import CodedColumn
from sinks.field_pairs import FieldPairs, Spans, joined_names_and_values

_CACHED_CHARACTERS = 8_000_000
_RECENT_TOKENS = 1 << 12
"""As `tokens.c` says."""

_HASHES, _LONG_PLACES = array_of(np.uint64), array_of(np.int64)
_NEW_HASHES, _NEW_LONG_PLACES, _NEW_WORDS = output_of(np.uint64), output_of(np.int64), output_of(np.int32)
_TEXTS, _TEMPLATES = (BYTES, SIZE, PLACES), (_HASHES, _LONG_PLACES, SIZE)
_c_words_of_texts = c_function(
    __file__, "tokens", "words_of_texts", *_TEXTS, PLACES, SIZE, *_TEMPLATES, _NEW_HASHES, _NEW_WORDS, SIZE, returns=SIZE
)
_c_tokens_of_texts = c_function(__file__, "tokens", "tokens_of_texts", *_TEXTS, SIZE, _NEW_HASHES, _NEW_LONG_PLACES, SIZE, returns=c_bool)
_c_words_of_stretches = c_function(
    __file__, "tokens", "words_of_stretches", BYTES, SIZE, _LONG_PLACES, _LONG_PLACES, SIZE, _NEW_WORDS, returns=c_bool
)
_c_is_one_run = c_function(__file__, "tokens", "is_one_run", BYTES, SIZE, returns=c_bool)


def block_words(texts: JoinedTexts, templates: CodedColumn[str]) -> NDArray[np.int32]:
    """Return the distinct words of n lines, ascending: int32[w], 28 bits, never 0. Raises ValueError for columns of different lengths."""
    size, lines = len(texts.data), len(texts.ends) - 1
    tokens, token_ends = _TEMPLATE_TOKENS.tokens_of(templates.values)
    recent = np.empty(_RECENT_TOKENS, np.uint64)
    words = np.empty((size + 1) // 3, np.int32)
    found = -1
    if len(templates.codes) == lines:
        found = _c_words_of_texts(
            texts.data, size, texts.ends, templates.codes, lines, tokens, token_ends, len(templates.values), recent, words, len(words)
        )
    if found < 0:
        raise ValueError(f"{lines} texts in {size} bytes and {len(templates.codes)} templates do not fit each other")
    return sorted_words(words[:found])


def sorted_words(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return distinct words, ascending; at the tenth of the cost of `np.unique`."""
    ordered = np.sort(words)
    found: NDArray[np.int32] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    return found


def word_keys(text: str) -> tuple[int, ...]:
    """Return the words that every block has in which this text stands whole; () if it has none or is more than one token.

    Of several tokens some may stand in a line's template, so none of their words is sure to be there.
    """
    texts = join_texts(string_column([text]))
    if not _c_is_one_run(texts.data, len(texts.data)):
        return ()
    return tuple(block_words(texts, _NO_TEMPLATE).tolist())


def is_identifier(word: str) -> bool:
    """Whether a word names one thing, so that blocks are found by it; `503`, `s3`, `http2` and times do not."""
    return bool(word_keys(word))


def field_word(name: str, value: str) -> int:
    """Return the word of a kept field's value."""
    return int(field_words([(name, value)])[0])


def field_words(pairs: list[tuple[str, str]]) -> NDArray[np.int32]:
    """Return the words of n names with their values: int32[n]. Letters count as in words: `A` is `a`."""
    texts = join_texts(string_column([f"{name}\0{value}" for name, value in pairs]))
    places = np.arange(len(pairs))
    return _words_of_stretches(texts.data, Spans(texts.ends[:-1] + places, texts.ends[1:] + places))


def pair_words(pairs: FieldPairs) -> NDArray[np.int32]:
    """Return the words of those pairs that are not odd: int32[n], in their order."""
    return _words_of_stretches(*joined_names_and_values(pairs))


class _TemplateTokens:
    """The tokens with words of templates, by text, for as many as are cached; few templates have any.

    Thread: any.
    """

    def __init__(self) -> None:
        self._tokens: dict[str, bytes] = {}
        self._characters = 0

    def tokens_of(self, templates: tuple[str, ...]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the hashes of the tokens of m templates, sorted for each, and int64[m + 1]: where each one's begin and the last end."""
        cached = self._tokens
        new = [template for template in templates if template not in cached]
        if new:
            read = dict(zip(new, _tokens_of_each(new), strict=True))
            self._characters += sum(map(len, new))
            if self._characters > _CACHED_CHARACTERS:
                self._tokens, self._characters = {}, 0
                cached = cached | read
            else:
                cached.update(read)
        found = [cached[template] for template in templates]
        all_tokens = np.frombuffer(b"".join(found), np.uint64)
        ends = np.zeros(len(found) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, found), np.int64, len(found)), out=ends[1:])
        return all_tokens, ends // all_tokens.itemsize


_TEMPLATE_TOKENS = _TemplateTokens()
_NO_TEMPLATE = CodedColumn(np.zeros(1, np.int32), ("",))


def _tokens_of_each(templates: list[str]) -> list[bytes]:
    """Return for each template the sorted hashes of its tokens that may have words, as the bytes of uint64."""
    texts = join_texts(string_column(templates))
    size = len(texts.data)
    hashes, ends = np.empty((size + 1) // 4, np.uint64), np.empty(len(templates) + 1, np.int64)
    if not _c_tokens_of_texts(texts.data, size, texts.ends, len(templates), hashes, ends, len(hashes)):
        raise ValueError("texts and ends do not fit each other")
    return [np.sort(hashes[start:end]).tobytes() for start, end in pairwise(ends.tolist())]


def _words_of_stretches(data: NDArray[np.uint8], spans: Spans) -> NDArray[np.int32]:
    """Return the word of each stretch of bytes: int32[n]."""
    words = np.empty(len(spans.start), np.int32)
    if not _c_words_of_stretches(data, len(data), spans.start, spans.end, len(words), words):
        raise ValueError("a stretch is not within the bytes")
    return words
