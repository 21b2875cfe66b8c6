"""Turns texts into token ids with llama.cpp's tokenizer, and with the model's own (`tokenizers`) wherever the two may differ.

The prepare stage holds one `Tokenizer` per thread. Ids equal those of the model's own tokenizer on every input. The texts that
`worker.embedding.model.fallback_texts` reports go to the model's own tokenizer (`fallback_texts` counts them); so do all texts if
llama.cpp does not support the vocabulary (`uses_llama` is False). `check_parity` compares both on a sample at every start.

A list is checked as one buffer and encoded in runs of texts, one native call each, joined by the special tokens that end one text
and begin the next: no Python object per token, and few returns to Python, where a busy thread would hold the GIL.
Measured on two AVX2 cores (AMD Zen 3), lines of 56 tokens: 67,000 lines/s on one thread and 97,000 on two, 8.8 times `tokenizer(text)`
line by line and 3.6 times `tokenizers.encode_batch_fast` with equal threads (`python -m benchmarks.tokenize`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.engine.llama_native import free_model, load_model, tokenize_function, vocabulary_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.fallback_texts import FallbackTexts
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.model.split_words import split_words
from worker.embedding.model.wordpiece import WordPiece, read_wordpiece
from worker.embedding.parity_sample import SAMPLE, TokenDifference

_ADD_SPECIAL, _PARSE_SPECIAL = 1, 1
_RUN_TEXTS = 64
"""Texts per native call, the fastest of 1 to 500: the time of llama.cpp's search for special tokens grows with its square."""


class Encoded(NamedTuple):
    """Token ids of a list of texts, special tokens included, one text after the other."""

    ids: NDArray[np.int32]
    """int32[total]."""
    offsets: NDArray[np.int64]
    """int64[n + 1]: text i is `ids[offsets[i]:offsets[i + 1]]`."""

    def text(self, index: int) -> NDArray[np.int32]:
        """Return the ids of one text: a view, int32[tokens]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def counts(self) -> NDArray[np.int64]:
        """Return the tokens of each text: int64[n]."""
        return np.diff(self.offsets)


class Tokenizer:
    """Ids equal those of the model's own tokenizer, after `split_words` if the model takes split texts.

    Holds the vocabulary in `tokenizers` and, if `uses_llama`, also in llama.cpp.
    Thread: one; every thread makes its own.
    """

    def __init__(self, model: PreparedModel) -> None:
        """Load the vocabulary (a tenth of a second, no weights). Raises ModelError."""
        source = str(model.tokenizer_json)
        try:
            tokenizer_json = model.tokenizer_json.read_text(encoding="utf-8")
        except OSError as error:
            raise ModelError(f"{source} cannot be read: {error}") from error
        self.texts = 0
        """Texts encoded or counted so far."""
        self.fallback_texts = 0
        """How many of them went to the model's own tokenizer."""
        self._own = ReferenceTokenizer(tokenizer_json, source)
        self._splits_words = model.splits_words
        self._room = np.empty(0, dtype=np.int32)
        self._lowercase = False
        self._closed = False
        self._model: int | None = None
        self._fallback: FallbackTexts | None = None
        if model.tokenizer_family == "wordpiece":
            self._load_native(model, read_wordpiece(tokenizer_json, source))

    @property
    def uses_llama(self) -> bool:
        """Whether llama.cpp supports the vocabulary; if not, all texts go to the model's own tokenizer."""
        return self._fallback is not None

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Encode a list of texts; a lone surrogate becomes `?`."""
        offsets = self._encode(texts)
        return Encoded(self._room[: offsets[-1]].copy(), offsets)

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Count the tokens of each text, special tokens included: int64[n]."""
        return np.diff(self._encode(texts))

    def first_difference(self, texts: Sequence[str]) -> TokenDifference | None:
        """Compare with the model's own tokenizer; returns the first text that differs."""
        encoded = self.encode(texts)
        for index, wanted in enumerate(self._own.encode([_clean(text) for text in self._split(texts)])):
            if not np.array_equal(encoded.text(index), wanted):
                return TokenDifference(texts[index], encoded.text(index), wanted)
        return None

    def check_parity(self, sample: Sequence[str] = SAMPLE) -> None:
        """Compare with the model's own tokenizer. Raises ModelError with the first text that differs."""
        if (difference := self.first_difference(sample)) is not None:
            raise ModelError(f"llama.cpp and the model's own tokenizer disagree on {difference}")

    def close(self) -> None:
        """Free the vocabulary; safe to call twice."""
        self._closed = True
        if self._model is not None:
            free_model(self._model)
            self._model = None

    def _load_native(self, model: PreparedModel, rules: WordPiece) -> None:
        special = (*rules.special, *map(self._own.normalized, rules.special))
        self._fallback = FallbackTexts(special, rules.longest_word_characters)
        self._lowercase = rules.lowercase
        """Whether texts are lowered here, so that llama.cpp need not look up every character."""
        self._cls = rules.cls
        self._between = (rules.tokens[rules.sep] + rules.tokens[rules.cls]).encode()
        """Separates two texts of a run: the end of one and the start of the next."""
        self._model = load_model(model, vocabulary_only=True)
        self._vocabulary = vocabulary_of(self._model)
        self._tokenize = tokenize_function()

    def _encode(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Write the ids of all texts to `_room`; return their offsets, int64[n + 1]."""
        if self._closed:
            raise RuntimeError("the tokenizer is closed")
        texts = self._split(texts)
        encoded = [text.encode("utf-8", "replace") for text in texts]
        if self._lowercase:
            encoded = [text.lower() for text in encoded]
        fallback = self._fallback_indices(encoded)
        own = dict(zip(fallback, self._own.encode([_clean(texts[index]) for index in fallback]), strict=True)) if fallback else {}
        self.texts += len(texts)
        self.fallback_texts += len(own)
        # A token of llama.cpp covers at least one byte; two more frame each text.
        room = sum(map(len, encoded)) + 2 * len(texts) + sum(map(len, own.values()))
        if len(self._room) < room:
            self._room = np.empty(2 * room, dtype=np.int32)
        return self._fill_room(encoded, own)

    def _split(self, texts: Sequence[str]) -> Sequence[str]:
        return [split_words(text) for text in texts] if self._splits_words else texts

    def _fallback_indices(self, encoded: list[bytes]) -> list[int]:
        """Indices of the texts that go to the model's own tokenizer, ascending."""
        if self._fallback is None:
            return list(range(len(encoded)))
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        found: list[int] = self._fallback.indices(b"\n" + b"\n".join(encoded), lengths).tolist()
        return found

    def _fill_room(self, encoded: list[bytes], own: dict[int, NDArray[np.int32]]) -> NDArray[np.int64]:
        offsets = np.empty(len(encoded) + 1, dtype=np.int64)
        first = total = 0
        for fallback in (*own, len(encoded)):
            for start in range(first, fallback, _RUN_TEXTS):
                end = min(start + _RUN_TEXTS, fallback)
                ids = self._encode_run(encoded[start:end], total)
                starts = np.flatnonzero(ids == self._cls)
                if len(starts) != end - start:
                    raise RuntimeError(f"llama.cpp's tokenizer gave {len(starts)} texts for {end - start}")
                offsets[start:end] = starts + total
                total += len(ids)
            if fallback in own:
                offsets[fallback] = total
                self._room[total : total + len(own[fallback])] = own[fallback]
                total += len(own[fallback])
            first = fallback + 1
        offsets[-1] = total
        return offsets

    def _encode_run(self, texts: list[bytes], total: int) -> NDArray[np.int32]:
        """Encode texts with llama.cpp into `_room` after its first `total` ids; return the view, in which each text begins with [CLS]."""
        run = self._between.join(texts)
        room = self._room[total:]
        address = np.frombuffer(run, dtype=np.uint8).ctypes.data if run else room.ctypes.data
        count = self._tokenize(self._vocabulary, address, len(run), room.ctypes.data, len(room), _ADD_SPECIAL, _PARSE_SPECIAL)
        return room[: max(count, 0)]


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
