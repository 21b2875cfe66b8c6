"""The model's own tokenizer: the reference that decides which ids are right, and the slow path for unusual texts.

`golden` and `prepared` use it when a model is prepared, `worker.embedding.tokenizer` for the texts on which llama.cpp may differ, which of
some families are all. Padding and truncation are always off: a text's ids depend on nothing but the text.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer, Tokenizer

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import TOKENIZER, VOCABULARY, read_json

_UNKNOWN = "\U00010600"
"""A sign of Linear A, which no vocabulary holds: a tokenizer without a token for the unknown fails here, not in the middle of a stream."""


class ReferenceTokenizer:
    """A tokenizer.json, loaded: of any family that `tokenizers` knows.

    Thread: one at a time.
    """

    def __init__(self, tokenizer_json: str, source: str = TOKENIZER) -> None:
        """Load the text of a tokenizer.json; `source` names it in errors. Raises ModelError, too when it cannot encode every text."""
        with _Named(f"{source} is not a tokenizer"):
            self._tokenizer = Tokenizer.from_str(tokenizer_json)
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._tokenizer.encode(_UNKNOWN)

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text, special tokens included: int32[n] each."""
        return [np.array(encoding.ids, dtype=np.int32) for encoding in self._tokenizer.encode_batch_fast(texts)]

    def ids(self) -> dict[str, int]:
        """Every token of the vocabulary, added ones included, and its id."""
        return self._tokenizer.get_vocab(with_added_tokens=True)

    def normalized(self, text: str) -> str:
        """Return the text as its words are looked up: what some special tokens are searched for in."""
        return text if self._tokenizer.normalizer is None else str(self._tokenizer.normalizer.normalize_str(text))

    def largest_id(self) -> int:
        """Largest id that a text can get, those that frame it included; -1 when there is none."""
        frame = self._tokenizer.encode("").ids
        return max((*self.ids().values(), *frame), default=-1)


def read_tokenizer_json(folder: Path) -> str:
    """Text of the folder's tokenizer.json, or of one that is built from its vocab.txt. Raises ModelError."""
    file = folder / TOKENIZER
    if file.is_file():
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ModelError(f"{file} cannot be read: {error}") from error
    options = read_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").is_file() else {}
    with _Named(f"{folder / VOCABULARY} is not a vocabulary"):
        built = BertWordPieceTokenizer(
            str(folder / VOCABULARY),
            lowercase=bool(options.get("do_lower_case", True)),
            strip_accents=options.get("strip_accents"),
            handle_chinese_chars=bool(options.get("tokenize_chinese_chars", True)),
        )
        return str(built.to_str())


class _Named:
    """Gives the library's errors a name: it raises `Exception` itself, and TypeError where a special token is missing; no other kind.

    Thread: one.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if kind in (Exception, TypeError):
            raise ModelError(f"{self._what}: {error}") from error
