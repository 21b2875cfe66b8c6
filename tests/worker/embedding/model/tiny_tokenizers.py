"""Tokenizers of small models (tests/golden/tokenizers): a WordPiece that pads and truncates, as many do, and a Unigram like XLM-R's."""

import json
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parents[3] / "golden" / "tokenizers"
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def tokenizer_json(*, lowercase: bool = True) -> dict[str, Any]:
    """Return the WordPiece, whose ids are in the order of its tokens."""
    parsed = _read("tiny_wordpiece")
    parsed["normalizer"]["lowercase"] = lowercase
    return parsed


def unigram_json() -> dict[str, Any]:
    """Return the Unigram: pieces with likelihoods, and `<s>` and `</s>` around a text."""
    return _read("tiny_unigram")


def _read(name: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return parsed


VOCABULARY: Final[tuple[str, ...]] = tuple(tokenizer_json()["model"]["vocab"])
