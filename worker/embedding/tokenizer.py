"""Texts to token ids with llama.cpp's tokenizer, and with the model's own wherever the two may differ.

The prepare stage holds one `Tokenizer` a thread. Ids equal the model's own tokenizer on every input: llama.cpp gets only the texts
that `worker.embedding.model.tokenizer_parity` names; the rest (`foreign_texts` counts it) goes to `tokenizers`, and so does everything
where the model's vocabulary is not of a proven kind (`native` is False). `check_parity` proves it again at every start.

A list is checked as one buffer and encoded in runs of texts, one native call each, joined by the special tokens that end one text
and begin the next: no Python object a token, and few returns to Python, where a busy thread would hold the GIL.
Seen on two AVX2 cores (AMD Zen 3), lines of 56 tokens: 67,000 lines/s on one thread and 97,000 on two, 8.8 times `tokenizer(text)` line by
line and 3.6 times `tokenizers.encode_batch_fast` at equal threads (`python -m benchmarks.tokenize`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.engine.llama_native import free_model, load_model, tokenize_function, vocabulary_of
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.reference_tokenizer import ReferenceTokenizer
from worker.embedding.model.tokenizer_parity import ParityTexts
from worker.embedding.model.wordpiece import WordPiece, read_wordpiece
from worker.embedding.parity import SAMPLE, Difference

_ADD_SPECIAL, _PARSE_SPECIAL = 1, 1
_RUN_TEXTS = 64
"""Texts in one native call: the fastest of 1 to 500; llama.cpp's search for special tokens grows with its square."""


class Encoded(NamedTuple):
    """Token ids of a list of texts, special tokens included, one text behind the other.

    Thread: any.
    """

    ids: NDArray[np.int32]
    """int32[total]."""
    offsets: NDArray[np.int64]
    """int64[n + 1]: text i is `ids[offsets[i]:offsets[i + 1]]`."""

    def text(self, index: int) -> NDArray[np.int32]:
        """Ids of one text: a view, int32[tokens]."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    def counts(self) -> NDArray[np.int64]:
        """Tokens of each text: int64[n]."""
        return np.diff(self.offsets)


class Tokenizer:
    """A vocabulary, loaded twice where llama.cpp is proven to agree: there and in `tokenizers`; else there only.

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
        """Texts so far."""
        self.foreign_texts = 0
        """Those of them that went to the model's own tokenizer."""
        self._own = ReferenceTokenizer(tokenizer_json, source)
        self._room = np.empty(0, dtype=np.int32)
        self._lowercase = False
        self._closed = False
        self._model: int | None = None
        self._proven: ParityTexts | None = None
        if model.tokenizer_family == "wordpiece":
            self._load_native(model, read_wordpiece(tokenizer_json, source))

    @property
    def native(self) -> bool:
        """Whether llama.cpp gets any text; if not, the model's own tokenizer gets all of them."""
        return self._proven is not None

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Encode a list of texts. Lone surrogates, which are no text, count as `?`."""
        offsets = self._encode(texts)
        return Encoded(self._room[: offsets[-1]].copy(), offsets)

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Tokens of each text, special tokens included: int64[n]."""
        return np.diff(self._encode(texts))

    def first_difference(self, texts: Sequence[str]) -> Difference | None:
        """Compare with the model's own tokenizer; returns the first text that differs."""
        encoded = self.encode(texts)
        for index, wanted in enumerate(self._own.encode([_clean(text) for text in texts])):
            if not np.array_equal(encoded.text(index), wanted):
                return Difference(texts[index], encoded.text(index), wanted)
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
        self._proven = ParityTexts(special, rules.longest_word_characters)
        self._lowercase = rules.lowercase
        """Texts are given in lower case, so that llama.cpp need not look up every character."""
        self._cls = rules.cls
        self._between = (rules.tokens[rules.sep] + rules.tokens[rules.cls]).encode()
        """What stands between two texts of a run: the end of one and the beginning of the next."""
        self._model = load_model(model, vocabulary_only=True)
        self._vocabulary = vocabulary_of(self._model)
        self._tokenize = tokenize_function()

    def _encode(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Leave the ids of all texts in `_room`; returns their offsets, int64[n + 1]."""
        if self._closed:
            raise RuntimeError("the tokenizer is closed")
        encoded = [text.encode("utf-8", "replace") for text in texts]
        if self._lowercase:
            encoded = [text.lower() for text in encoded]
        foreign = self._foreign(encoded)
        own = dict(zip(foreign, self._own.encode([_clean(texts[index]) for index in foreign]), strict=True)) if foreign else {}
        self.texts += len(texts)
        self.foreign_texts += len(own)
        # A token of llama.cpp's is made of at least one byte; two more frame each text.
        room = sum(map(len, encoded)) + 2 * len(texts) + sum(map(len, own.values()))
        if len(self._room) < room:
            self._room = np.empty(2 * room, dtype=np.int32)
        return self._fill_room(encoded, own)

    def _foreign(self, encoded: list[bytes]) -> list[int]:
        """Indices of the texts that are the model's own tokenizer's, ascending."""
        if self._proven is None:
            return list(range(len(encoded)))
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        found: list[int] = self._proven.foreign(b"\n" + b"\n".join(encoded), lengths).tolist()
        return found

    def _fill_room(self, encoded: list[bytes], own: dict[int, NDArray[np.int32]]) -> NDArray[np.int64]:
        offsets = np.empty(len(encoded) + 1, dtype=np.int64)
        first = total = 0
        for foreign in (*own, len(encoded)):
            for start in range(first, foreign, _RUN_TEXTS):
                end = min(start + _RUN_TEXTS, foreign)
                ids = self._encode_run(encoded[start:end], total)
                begins = np.flatnonzero(ids == self._cls)
                if len(begins) != end - start:
                    raise RuntimeError(f"llama.cpp's tokenizer gave {len(begins)} texts for {end - start}")
                offsets[start:end] = begins + total
                total += len(ids)
            if foreign in own:
                offsets[foreign] = total
                self._room[total : total + len(own[foreign])] = own[foreign]
                total += len(own[foreign])
            first = foreign + 1
        offsets[-1] = total
        return offsets

    def _encode_run(self, texts: list[bytes], total: int) -> NDArray[np.int32]:
        """Encode proven texts into `_room` behind its first `total` ids; returns the view, in which each text begins with [CLS]."""
        run = self._between.join(texts)
        room = self._room[total:]
        address = np.frombuffer(run, dtype=np.uint8).ctypes.data if run else room.ctypes.data
        count = self._tokenize(self._vocabulary, address, len(run), room.ctypes.data, len(room), _ADD_SPECIAL, _PARSE_SPECIAL)
        return room[: max(count, 0)]


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
