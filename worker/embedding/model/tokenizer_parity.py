"""Says on which texts llama.cpp's tokenizer is proven to agree with the model's own; `worker.embedding.tokenizer` asks it for every list.

Both follow the same rules on printable ASCII, tab and line ends, in words that are not over-long, where no special token is meant:
they split at spaces and at each punctuation mark, then take the longest match first. All else is foreign.

That holds for vocabularies in which llama.cpp cannot mistake one token for another; `is_provable` is the list of ways it could.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.wordpiece import CONTINUES, WordPiece

_IN_WORD, _BREAK, _FOREIGN = 0, 1, 2
_BRACKETED = re.compile(r"\[(?!PAD\d)[^\[\]<>]+\]|<[^\[\]<>]+>")


def _kinds() -> bytes:
    """What each byte is: part of a word, the end of one, or outside the proven set."""
    kinds = bytearray([_FOREIGN]) * 256
    for byte in (*b"\t\n\r", *range(0x20, 0x7F)):
        kinds[byte] = _IN_WORD if chr(byte).isalnum() else _BREAK
    return bytes(kinds)


_KINDS = _kinds()


def is_provable(rules: WordPiece, ids: Mapping[str, int]) -> bool:
    """Whether llama.cpp can agree at all; `ids` is the vocabulary as the model's own tokenizer has it.

    - Every id is one token: of two tokens with one id the GGUF holds only the last.
    - Frame and unknown token are three tokens: else the beginning of a text could not be told from an unknown word.
    - Special tokens stand in brackets: so none is part of a word, equals a continuation (llama.cpp aborts the process when two tokens
      are equal), or overlaps the frames between two texts. `[PAD7]` is how an unused id is written in the GGUF.
    - No continuation of a word looks like one: llama.cpp makes some names special that this vocabulary does not (`</s>`, `[EOS]`).
    """
    tokens = rules.tokens
    return (
        all(token_id < len(tokens) and tokens[token_id] == token for token, token_id in ids.items())
        and len({rules.cls, rules.sep, rules.unk}) == 3  # noqa: PLR2004 - the three
        and all(_BRACKETED.fullmatch(text) for text in rules.special)
        and not any(token.startswith(CONTINUES) and len(token) > len(CONTINUES) + 1 and ("<" in token or "[" in token) for token in tokens)
    )


class ParityTexts:
    """The texts that llama.cpp may encode, for one vocabulary; the others are foreign.

    Thread: any.
    """

    def __init__(self, special: Iterable[str], longest_word_bytes: int) -> None:
        """`special` holds every special token as it is written and as it is normalised."""
        self._longest_word_bytes = longest_word_bytes
        # In any case and with any space: some are searched for in the normalised text.
        patterns = sorted({re.sub(rb"(?:\\?[ \t\r\n])", rb"[ \\t\\r\\n]", re.escape(text.lower().encode())) for text in special if text})
        self._special = re.compile(b"|".join(patterns) or b"(?!)")

    def foreign(self, joined: bytes, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of the foreign texts, ascending: int64[m].

        `joined` holds n texts of `lengths` bytes, each behind one line feed: so no word and no special token is seen across two.
        """
        places = self._places(joined)
        if not len(places):
            return places
        starts = np.cumsum(lengths + 1) - lengths
        return np.unique(np.searchsorted(starts, places, side="right") - 1)

    def _places(self, joined: bytes) -> NDArray[np.int64]:
        """Find one byte or more of every foreign text: int64[places], in no order."""
        kinds = np.frombuffer(joined.translate(_KINDS), dtype=np.uint8)
        ends_of_words = np.flatnonzero(kinds)
        words = np.diff(ends_of_words, append=len(kinds)) - 1
        long = ends_of_words[words > self._longest_word_bytes] + 1
        special = [found.start() for found in self._special.finditer(joined.lower())]
        return np.concatenate((np.flatnonzero(kinds == _FOREIGN), long, np.array(special, dtype=np.int64)))
