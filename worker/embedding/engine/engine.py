"""The contract of every engine: lists of token ids in, one float32 array out.

Only `worker.embedding.loaded` knows which engine it is; `worker.embedding.guarded_engine` holds it.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.vectors import TokenIds, Vectors

_MEMORY_WORDS = (
    "out of memory",
    "can't allocate memory",
    "failed to allocate memory",
    "not enough memory",
    "bad_alloc",
    "bad allocation",
    "could not create a memory object",
    "alloc_failed",
)


class TextTooLong(ValueError):
    """A sequence exceeds the model's limit; raised before the native code sees it (which would abort the process)."""


class OutOfMemory(RuntimeError):
    """The batch does not fit into memory; half of it may."""


class EngineDied(RuntimeError):
    """The engine has failed for good; a new one is needed."""


class EngineAway(RuntimeError):
    """An engine in another process cannot be reached or has no time; it is no fault of the text, and may pass."""

    def __init__(self, reason: str, *, retry_s: float = 0.0) -> None:
        """`retry_s`: when it said that it may be asked again; 0: it said nothing."""
        super().__init__(reason)
        self.retry_s = retry_s


class Engine(Protocol):
    """A loaded model; row i of its answer belongs to text i of the batch.

    Thread: one, the engine stage's.
    """

    name: str
    """As shown to the user: `llama.cpp`, say."""
    dim: int
    max_tokens: int
    """Longest sequence in tokens, special tokens included."""
    batch_tokens: int
    """Most tokens per call; the batcher's budget."""
    on_cpu: bool
    """Whether it computes on this machine's processor, which two engines would slow each other down on."""

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """Embed one batch: n sequences of at most `batch_tokens` tokens together. Blocks.

        Returns float32[n, dim]: row i belongs to sequence i and has length 1, or is zero or not finite where the model gives no
        usable vector. Raises TextTooLong, ValueError for a batch that breaks these bounds, OutOfMemory, EngineDied, EngineAway, or
        RuntimeError with the native code's reason.
        """

    def close(self) -> None:
        """Free the model; safe to call twice."""


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether a smaller batch may pass: torch, oneDNN, cuBLAS, ONNX Runtime and C++ each word it differently."""
    return isinstance(error, MemoryError) or any(word in str(error).lower() for word in _MEMORY_WORDS)


def checked_lengths(batch: Sequence[TokenIds], *, max_tokens: int, batch_tokens: int) -> NDArray[np.int64]:
    """Return the tokens of each sequence: int64[n]. Raises TextTooLong or ValueError for a batch that no engine takes.

    On such a batch native code would abort the process or compute wrong vectors.
    """
    lengths = np.fromiter(map(len, batch), dtype=np.int64, count=len(batch))
    if (lengths > max_tokens).any():
        raise TextTooLong(f"a text has {lengths.max()} tokens; the model takes {max_tokens}")
    if (lengths < 1).any():
        raise ValueError(f"text {int(lengths.argmin())} of {len(lengths)} has no tokens")
    if lengths.sum() > batch_tokens:
        raise ValueError(f"a batch has {lengths.sum()} tokens; the engine takes {batch_tokens}")
    return lengths


def normalized(vectors: Vectors) -> Vectors:
    """Scale every row to length 1, in place; a row of zeros or one that is not finite stays zero or not finite.

    One whose length exceeds float32 becomes zeros.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        norms[norms == 0] = 1
        vectors /= norms
    return vectors
