"""The steps around a model that takes padded batches: tokenise, sort by length, pad, average, normalise, restore the order.

That is what sentence-transformers does for this model, done in the same way for those that bring no such thing.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from benchmarks.rivals.own_process import EmbedTexts, Vectors

BATCH_TEXTS = 32

Hidden = Callable[[Any, Any], Any]
"""int64[n, tokens] ids and mask to float32[n, tokens, dim]."""


def open_padded(folder: Path, hidden: Hidden, *, max_tokens: int = 256) -> EmbedTexts:
    """Return a function from texts to vectors around `hidden`, in batches of 32 texts of about the same length."""
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(max_tokens)
    tokenizer.enable_padding()

    def embed(texts: list[str]) -> Vectors:
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        parts = []
        for start in range(0, len(order), BATCH_TEXTS):
            encoded = tokenizer.encode_batch_fast([texts[row] for row in order[start : start + BATCH_TEXTS]])
            ids = np.array([one.ids for one in encoded], dtype=np.int64)
            mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
            means = (hidden(ids, mask) * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            parts.append(means / np.linalg.norm(means, axis=1, keepdims=True))
        vectors = np.empty((len(texts), parts[0].shape[1]), dtype=np.float32)
        vectors[order] = np.concatenate(parts)
        return vectors

    return embed
