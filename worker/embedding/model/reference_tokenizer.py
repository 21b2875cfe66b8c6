"""The model's own tokenizer: the reference for ids, and the slow path for unusual texts.

`golden` and `prepared` use it when a model is prepared; `worker.embedding.tokenizer` uses it for the texts on which llama.cpp may differ,
which are all texts for some families. Padding and truncation are always off: a text's ids depend only on the text.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer, Tokenizer

from worker.embedding.model.errors import ModelError
from worker.embedding.model.folder import TOKENIZER, VOCABULARY, read_json

_UNKNOWN = "\U00010600"
"""A Linear A sign, in no vocabulary: a tokenizer without an unknown token fails at the start and not in the middle of a stream."""


class ReferenceTokenizer:
    """A loaded tokenizer.json, of any family that `tokenizers` supports; it encodes every text.

    Thread: one at a time.
    """

    def __init__(self, tokenizer_json: str, source: str = TOKENIZER) -> None:
        """Load the text of a tokenizer.json; `source` names it in errors. Raises ModelError, also if it cannot encode every text."""
        with _LibraryErrors(f"{source} is not a tokenizer"):
            self._tokenizer = Tokenizer.from_str(tokenizer_json)
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
            self._tokenizer.encode(_UNKNOWN)

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the token ids of each text, special tokens included: int32[n] each."""
        return [np.array(encoding.ids, dtype=np.int32) for encoding in self._tokenizer.encode_batch_fast(texts)]

    def ids(self) -> dict[str, int]:
        """Return every token of the vocabulary, added ones included, with its id."""
        return self._tokenizer.get_vocab(with_added_tokens=True)

    def normalized(self, text: str) -> str:
        """Return the normalised text, in which words are looked up and some special tokens are searched for."""
        return text if self._tokenizer.normalizer is None else str(self._tokenizer.normalizer.normalize_str(text))

    def largest_id(self) -> int:
        """Return the largest id that a text can get, including its frame; -1 if there is none."""
        frame = self._tokenizer.encode("").ids
        return max((*self.ids().values(), *frame), default=-1)


def read_tokenizer_json(folder: Path) -> str:
    """Return the text of the folder's tokenizer.json, or of one built from its vocab.txt. Raises ModelError."""
    file = folder / TOKENIZER
    if file.is_file():
        try:
            return file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ModelError(f"{file} cannot be read: {error}") from error
    options = read_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").is_file() else {}
    with _LibraryErrors(f"{folder / VOCABULARY} is not a vocabulary"):
        built = BertWordPieceTokenizer(
            str(folder / VOCABULARY),
            lowercase=bool(options.get("do_lower_case", True)),
            strip_accents=options.get("strip_accents"),
            handle_chinese_chars=bool(options.get("tokenize_chinese_chars", True)),
        )
        return str(built.to_str())


class _LibraryErrors:
    """Turns the library's errors into ModelError: it raises plain `Exception`, or TypeError if a special token is missing."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if error_type in (Exception, TypeError):
            raise ModelError(f"{self._what}: {error}") from error
