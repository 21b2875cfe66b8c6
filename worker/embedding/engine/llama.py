"""llama.cpp in process: the engine that needs only a CPU.

One call embeds one packed batch: sequences follow each other without padding, and each attends only to itself. The attention mask
still costs tokens², so larger batches are not always faster.

Measured on two AVX2 cores (AMD Zen 3), float16, lines of 30 to 60 tokens: 101 lines/s in batches of 512 tokens, 100 at 384, 91 at
128, 89 at 1,024, 61 at 2,048; half of that with one thread. Flash attention skips what the mask hides: 89 lines/s, 56 without it. The
number of sequences per call (8 to 256) made no difference above noise.
"""

from collections.abc import Sequence

import numpy as np

from worker.embedding.engine.engine import checked_lengths, normalized
from worker.embedding.engine.llama_native import Context, dim_of, free_model, load_model
from worker.embedding.model.errors import ModelError
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.vectors import TokenIds, Vectors

BATCH_TOKENS = 512
"""Default budget: the fastest measured, and short enough (0.1 s) that a query does not wait long for a bulk batch."""
_SEQUENCES = 64
"""Sequences per native call; a batch of more is split."""


class LlamaEngine:
    """Implements `Engine`: a loaded model with one context.

    Thread: one, the engine stage's.
    """

    name = "llama.cpp"
    on_cpu = True

    def __init__(self, model: PreparedModel, *, threads: int, batch_tokens: int | None = None) -> None:
        """Load the weights (tens of milliseconds: the file is mapped). Raises ModelError."""
        self.max_tokens = model.max_tokens
        self.batch_tokens = max(batch_tokens or BATCH_TOKENS, model.max_tokens)
        self._context: Context | None = None
        self._model: int | None = load_model(model, vocabulary_only=False)
        self.dim = dim_of(self._model)
        if self.dim != model.dim:
            self.close()
            raise ModelError(f"{model.gguf} gives vectors of {self.dim} components; {model.dim} were prepared")
        self._sequences = min(_SEQUENCES, self.batch_tokens)
        try:
            self._context = Context(
                self._model, batch_tokens=self.batch_tokens, sequences=self._sequences, threads=threads, flash_attention=True
            )
        except ModelError:
            self.close()
            raise

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`. An empty sequence, or more than `batch_tokens` together, is a ValueError."""
        lengths = checked_lengths(batch, max_tokens=self.max_tokens, batch_tokens=self.batch_tokens)
        if self._context is None:
            raise RuntimeError("the engine is closed")
        vectors = np.empty((len(batch), self.dim), dtype=np.float32)
        for first in range(0, len(batch), self._sequences):
            part = slice(first, first + self._sequences)
            np.concatenate(batch[part], out=self._context.tokens[: int(lengths[part].sum())])
            self._context.encode(lengths[part], vectors[part])
        return normalized(vectors)

    def close(self) -> None:
        """Free the context and the model; safe to call twice."""
        if self._context is not None:
            self._context.close()
            self._context = None
        if self._model is not None:
            free_model(self._model)
            self._model = None
