"""Texts to token ids with llama.cpp's tokenizer, and with the model's own wherever the two may differ.

The prepare stage holds one `Tokenizer` a thread. Ids equal the model's own tokenizer on every input: llama.cpp gets only texts
of printable ASCII, tab and line ends, without a literal special token and without an over-long word, where both follow the same
rules; the rest (`foreign_texts` counts it) goes to `tokenizers`. `check_parity` proves it again at every start.

A list is checked as one buffer and encoded in runs of texts, one native call each, joined by the special tokens that end one text
and begin the next: no Python object a token, and few returns to Python, where a busy thread would hold the GIL.
Seen on an AVX2 core (AMD Zen 3), lines of 62 tokens: 53,000 lines/s a thread, where a bare ctypes loop without any check gave
55,000 and `tokenizers` line by line 11,300.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.engine.llama_native import free_model, load_model, tokenize_function, vocabulary_of
from worker.model.folder import ModelError
from worker.model.own_tokenizer import OwnTokenizer
from worker.model.prepared import PreparedModel
from worker.model.wordpiece import WordPiece, read_wordpiece

_SHOWN_CHARACTERS = 80
_IN_WORD, _BREAK, _FOREIGN = 0, 1, 2
_ADD_SPECIAL, _PARSE_SPECIAL = 1, 1
_RUN_TEXTS = 64
"""Texts in one native call: the fastest of 1 to 500; llama.cpp's search for special tokens grows with its square."""


def _kinds() -> bytes:
    """What each byte is: part of a word, the end of one, or outside the proven set."""
    kinds = bytearray([_FOREIGN]) * 256
    for byte in (*b"\t\n\r", *range(0x20, 0x7F)):
        kinds[byte] = _IN_WORD if chr(byte).isalnum() else _BREAK
    return bytes(kinds)


_KINDS = _kinds()

PARITY_SAMPLE = (
    "",
    " ",
    "\t \r\n",
    "".join(map(chr, range(0x20, 0x7F))),
    "Failed password for invalid user admin from 203.0.113.86 port 38926 ssh2",
    "2026-01-31 23:59:59,978 INFO [main] com.example.orders.OrderService$Retry: order 00042 accepted in 12.5ms (attempt=1/3)",
    '{"level":"WARN","msg":"retry=3 after 250ms","path":"/api/v1/users?id=42&x=%20","ok":false}',
    "blk_-1234567890123456789 src: /10.1.2.3:54106 dest: /10.1.2.4:50010",
    "a_b-c.d~e^f`g|h\\i$j<k>l=m+n@o#p!q?r;s:t,u'v\"w{x}y[z]",
    "text with [SEP] and [CLS] and [MASK] and [PAD] and [UNK] and [unused1] in it",
    "[sep] [cls] ##ing ## \u2581word",
    "w" * 100,
    "w" * 101,
    "short " + "0123456789abcdef" * 20 + " short",
    "=" * 255,
    "Überlauf café naïve ÅNGSTRÖM İstanbul ﬁn",
    "中文日志 エラー 오류 ошибка σφάλμα",
    "disk full \U0001f4a5 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
    "nul \x00 bell \x07 escape \x1b[31m delete \x7f vertical \x0b form \x0c next \x85 soft\u00adhyphen",
    "no\u00a0break em\u2003space zero\u200bwidth bom\ufeff \u2028 replaced \ufffd private \ue000",
)
"""Texts on which tokenizers are known to disagree, and ordinary log lines."""


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
    """A vocabulary, loaded twice: in llama.cpp and in `tokenizers`.

    Thread: one; every thread makes its own.
    """

    def __init__(self, model: PreparedModel) -> None:
        """Load the vocabulary (tens of milliseconds, no weights). Raises ModelError."""
        try:
            tokenizer_json = model.tokenizer_json.read_text(encoding="utf-8")
        except OSError as error:
            raise ModelError(f"{model.tokenizer_json} cannot be read: {error}") from error
        rules = read_wordpiece(tokenizer_json, str(model.tokenizer_json))
        self.foreign_texts = 0
        """Texts so far that went to the model's own tokenizer."""
        self._own = OwnTokenizer(tokenizer_json)
        self._longest_word_bytes = rules.longest_word_characters
        self._special = _pattern_of_special(rules)
        self._cls = rules.cls
        self._between = (rules.tokens[rules.sep] + rules.tokens[rules.cls]).encode()
        """What stands between two texts of a run: the end of one and the beginning of the next."""
        self._model: int | None = load_model(model, vocabulary_only=True)
        self._vocabulary = vocabulary_of(self._model)
        self._tokenize = tokenize_function()
        self._room = np.empty(0, dtype=np.int32)

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Encode a list of texts. Lone surrogates, which are no text, count as `?`."""
        offsets = self._encode(texts)
        return Encoded(self._room[: offsets[-1]].copy(), offsets)

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Tokens of each text, special tokens included: int64[n]."""
        return np.diff(self._encode(texts))

    def check_parity(self, sample: Sequence[str] = PARITY_SAMPLE) -> None:
        """Compare with the model's own tokenizer. Raises ModelError with the first text that differs."""
        encoded = self.encode(sample)
        for index, wanted in enumerate(self._own.encode([_clean(text) for text in sample])):
            if not np.array_equal(encoded.text(index), wanted):
                shown = repr(sample[index][:_SHOWN_CHARACTERS])
                raise ModelError(f"llama.cpp and the model's own tokenizer disagree on {shown}")

    def close(self) -> None:
        """Free the vocabulary; safe to call twice."""
        if self._model is not None:
            free_model(self._model)
            self._model = None

    def _encode(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Leave the ids of all texts in `_room`; returns their offsets, int64[n + 1]."""
        if self._model is None:
            raise RuntimeError("the tokenizer is closed")
        encoded = [text.encode("utf-8", "replace") for text in texts]
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))
        # One break before every text, so that no word and no special token is seen across two of them.
        joined = b"\n" + b"\n".join(encoded)
        own = self._encode_foreign(joined, lengths)
        # A token is made of at least one byte; two more frame each text.
        room = len(joined) + 2 * len(texts) + sum(map(len, own.values()))
        if len(self._room) < room:
            self._room = np.empty(2 * room, dtype=np.int32)
        return self._fill_room(encoded, own)

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
        return room[:count]

    def _encode_foreign(self, joined: bytes, lengths: NDArray[np.int64]) -> dict[int, NDArray[np.int32]]:
        """Find the texts on which llama.cpp may differ, and encode them with the model's own tokenizer; in the order of the texts."""
        places = self._foreign_places(joined)
        if not len(places):
            return {}
        starts = np.cumsum(lengths + 1) - lengths
        indices = np.unique(np.searchsorted(starts, places, side="right") - 1)
        ends = starts + lengths
        texts = [joined[starts[index] : ends[index]].decode() for index in indices]
        self.foreign_texts += len(texts)
        return dict(zip(indices.tolist(), self._own.encode(texts), strict=True))

    def _foreign_places(self, joined: bytes) -> NDArray[np.int64]:
        """Find one byte or more of every foreign text: int64[places], in no order."""
        kinds = np.frombuffer(joined.translate(_KINDS), dtype=np.uint8)
        ends_of_words = np.flatnonzero(kinds)
        words = np.diff(ends_of_words, append=len(kinds)) - 1
        long = ends_of_words[words > self._longest_word_bytes] + 1
        special = [found.start() for found in self._special.finditer(joined)]
        return np.concatenate((np.flatnonzero(kinds == _FOREIGN), long, np.array(special, dtype=np.int64)))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _pattern_of_special(rules: WordPiece) -> re.Pattern[bytes]:
    """Find what the model's own tokenizer may take for a special token before it looks at words."""
    alternatives = b"|".join(re.escape(text.encode()) for text in rules.special)
    return re.compile(alternatives, re.IGNORECASE if rules.special_in_any_case else 0)
