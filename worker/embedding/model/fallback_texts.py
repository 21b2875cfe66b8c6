"""Finds the texts on which llama.cpp's tokenizer may differ from the model's own; `worker.embedding.tokenizer` asks for every list.

Both tokenizers follow the same rules on printable ASCII, tabs and line ends, in words within the length limit, outside special tokens:
split at spaces and at each punctuation mark, then take the longest match first. Any other text is a fallback text: it goes to the
model's own tokenizer.

This holds only for vocabularies in which llama.cpp cannot mistake one token for another; `supports_llama_tokenizer` checks for that.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.wordpiece import CONTINUES, WordPiece

_IN_WORD, _BREAK, _UNSAFE = 0, 1, 2
_BRACKETED = re.compile(r"\[(?!PAD\d)[^\[\]<>]+\]|<[^\[\]<>]+>")


def _byte_classes() -> bytes:
    """Class of each byte: part of a word, the end of one, or a byte on which the tokenizers may differ."""
    classes = bytearray([_UNSAFE]) * 256
    for byte in (*b"\t\n\r", *range(0x20, 0x7F)):
        classes[byte] = _IN_WORD if chr(byte).isalnum() else _BREAK
    return bytes(classes)


_BYTE_CLASSES = _byte_classes()


def supports_llama_tokenizer(rules: WordPiece, ids: Mapping[str, int]) -> bool:
    """Whether llama.cpp can agree with the model's own tokenizer at all; `ids` is the vocabulary of the latter.

    - Every id is one token: of two tokens with one id, the GGUF holds only the last.
    - [CLS], [SEP] and the unknown token are three tokens: otherwise the start of a text looks like an unknown word.
    - Special tokens stand in brackets: so none is part of a word, equals a continuation (llama.cpp aborts the process when two tokens
      are equal) or overlaps the frame between two texts. `[PAD7]` is how the GGUF writes an unused id.
    - No continuation looks like a special token: llama.cpp makes some names special that this vocabulary does not (`</s>`, `[EOS]`).
    """
    tokens = rules.tokens
    return (
        all(token_id < len(tokens) and tokens[token_id] == token for token, token_id in ids.items())
        and len({rules.cls, rules.sep, rules.unk}) == 3  # noqa: PLR2004 - the three
        and all(_BRACKETED.fullmatch(text) for text in rules.special)
        and not any(token.startswith(CONTINUES) and len(token) > len(CONTINUES) + 1 and ("<" in token or "[" in token) for token in tokens)
    )


class FallbackTexts:
    """Any text that it does not report gets the same ids from llama.cpp as from the model's own tokenizer.

    Thread: any; nothing changes after construction.
    """

    def __init__(self, special: Iterable[str], longest_word_bytes: int) -> None:
        """`special` holds every special token as it is written and as it is normalised."""
        self._longest_word_bytes = longest_word_bytes
        # In any case and with any space: some are searched for in the normalised text.
        patterns = sorted({re.sub(rb"(?:\\?[ \t\r\n])", rb"[ \\t\\r\\n]", re.escape(text.lower().encode())) for text in special if text})
        self._special = re.compile(b"|".join(patterns) or b"(?!)")

    def indices(self, joined: bytes, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Indices of the fallback texts, ascending: int64[m].

        `joined` holds n texts of `lengths` bytes, a line feed before each, so that no word or special token spans two texts.
        """
        positions = self._unsafe_positions(joined)
        if not len(positions):
            return positions
        starts = np.cumsum(lengths + 1) - lengths
        return np.unique(np.searchsorted(starts, positions, side="right") - 1)

    def _unsafe_positions(self, joined: bytes) -> NDArray[np.int64]:
        """Find at least one byte of every fallback text: int64[positions], in no order."""
        classes = np.frombuffer(joined.translate(_BYTE_CLASSES), dtype=np.uint8)
        word_ends = np.flatnonzero(classes)
        word_bytes = np.diff(word_ends, append=len(classes)) - 1
        long_words = word_ends[word_bytes > self._longest_word_bytes] + 1
        special = [found.start() for found in self._special.finditer(joined.lower())]
        return np.concatenate((np.flatnonzero(classes == _UNSAFE), long_words, np.array(special, dtype=np.int64)))
