"""What every engine promises: lists of token ids in, one float32 array out.

The embed stage holds an `Engine` and never knows which one.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

TokenIds = NDArray[np.int32]
"""int32[n]: one text's token ids, special tokens included."""
Vectors = NDArray[np.float32]
"""float32[n, dim]: one row a text, in the order of the texts, of length 1."""


class TextTooLong(ValueError):
    """A sequence exceeds the model's limit; raised before the native code sees it (which would abort the process)."""


class Engine(Protocol):
    """A model that is loaded and ready.

    Thread: one; the embed stage's own.
    """

    name: str
    """What the user sees: `llama.cpp` or `vllm`."""
    dim: int
    max_tokens: int
    """Longest sequence in tokens, special tokens included."""
    batch_tokens: int
    """Most tokens that one call takes; the batcher's budget."""

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """Embed one batch: n sequences, together at most `batch_tokens` tokens. Blocks.

        Returns float32[n, dim], normalised to length 1. Raises TextTooLong, or RuntimeError with the native code's reason.
        """

    def close(self) -> None:
        """Free the model; safe to call twice."""
