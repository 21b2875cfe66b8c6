"""Texts to token ids with llama.cpp's tokenizer, and with the model's own wherever the two may differ.

The prepare stage holds one `Tokenizer` a thread. Ids equal the model's own tokenizer on every input: llama.cpp gets only texts
of printable ASCII, tab and line ends, without a literal special token and without an over-long word, where both follow the same
rules; the rest (`foreign_texts` counts it) goes to `tokenizers`. `check_parity` proves it again at every start.

A list is checked and encoded as one buffer: no Python object a token, and no copy of a text beyond its UTF-8.
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
_ADD_SPECIAL, _PLAIN_TEXT = 1, 0


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
    "Failed password for invalid user admin from 173.234.31.186 port 38926 ssh2",
    "2015-10-18 18:01:47,978 INFO [main] org.apache.hadoop.mapreduce.v2.app.MRAppMaster: Created MRAppMaster",
    '{"level":"WARN","msg":"retry=3 after 250ms","path":"/api/v1/users?id=42&x=%20","ok":false}',
    "blk_-1608999687919862906 src: /10.250.19.102:54106 dest: /10.250.19.102:50010",
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
        self._added = _pattern_of_added(rules)
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
        starts = np.cumsum(lengths + 1) - lengths
        # One break before every text, so that no word and no special token is seen across two of them.
        joined = b"\n" + b"\n".join(encoded)
        own = self._encode_foreign(joined, starts, lengths)
        # A token is made of at least one byte; two more frame each text.
        room = len(joined) + 2 * len(texts) + sum(map(len, own.values()))
        if len(self._room) < room:
            self._room = np.empty(2 * room, dtype=np.int32)
        return self._fill_room(joined, starts.tolist(), lengths.tolist(), own)

    def _fill_room(self, joined: bytes, starts: list[int], lengths: list[int], own: dict[int, NDArray[np.int32]]) -> NDArray[np.int64]:
        tokenize, vocabulary = self._tokenize, self._vocabulary
        text = np.frombuffer(joined, dtype=np.uint8).ctypes.data
        ids, room = self._room.ctypes.data, len(self._room)
        offsets = [0]
        total = 0
        for index, (start, length) in enumerate(zip(starts, lengths, strict=True)):
            if index in own:
                foreign = own[index]
                self._room[total : total + len(foreign)] = foreign
                total += len(foreign)
            else:
                total += tokenize(vocabulary, text + start, length, ids + 4 * total, room - total, _ADD_SPECIAL, _PLAIN_TEXT)
            offsets.append(total)
        return np.array(offsets, dtype=np.int64)

    def _encode_foreign(self, joined: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> dict[int, NDArray[np.int32]]:
        """Find the texts on which llama.cpp may differ, and encode them with the model's own tokenizer."""
        places = self._foreign_places(joined)
        if not len(places):
            return {}
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
        special = [found.start() for found in self._added.finditer(joined)]
        return np.concatenate((np.flatnonzero(kinds == _FOREIGN), long, np.array(special, dtype=np.int64)))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _pattern_of_added(rules: WordPiece) -> re.Pattern[bytes]:
    """Find the texts that the model's own tokenizer takes for special tokens before it looks at words."""
    alternatives = b"|".join(re.escape(text.encode()) for text in rules.added) or rb"(?!)"
    return re.compile(alternatives, re.IGNORECASE if rules.added_in_any_case else 0)
