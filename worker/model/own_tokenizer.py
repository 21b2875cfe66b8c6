"""The model's own tokenizer: the reference that decides which ids are right, and the slow path for unusual texts.

`golden` and `prepared` use it when a model is prepared, `worker.tokenizer` for the texts on which llama.cpp may differ.
Padding and truncation are always off: a text's ids depend on nothing but the text.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer, Tokenizer

from worker.model.folder import TOKENIZER, VOCABULARY, ModelError, read_json


class OwnTokenizer:
    """A tokenizer.json, loaded.

    Thread: one at a time.
    """

    def __init__(self, tokenizer_json: str) -> None:
        """Load the text of a tokenizer.json that `worker.model.wordpiece` has accepted."""
        self._tokenizer = Tokenizer.from_str(tokenizer_json)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Token ids of each text, special tokens included: int32[n] each."""
        return [np.array(encoding.ids, dtype=np.int32) for encoding in self._tokenizer.encode_batch_fast(texts)]


def read_tokenizer_json(folder: Path) -> str:
    """Text of the folder's tokenizer.json, or of one that is built from its vocab.txt. Raises ModelError."""
    file = folder / TOKENIZER
    try:
        if file.is_file():
            return file.read_text(encoding="utf-8")
        options = read_json(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").is_file() else {}
        built = BertWordPieceTokenizer(
            str(folder / VOCABULARY),
            lowercase=bool(options.get("do_lower_case", True)),
            strip_accents=options.get("strip_accents"),
            handle_chinese_chars=bool(options.get("tokenize_chinese_chars", True)),
        )
        return str(built.to_str())
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from error
