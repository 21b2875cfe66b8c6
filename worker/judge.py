"""Whose fault is it when a batch fails: the text's, or the engine's.

The embed step gives the judge token ids and gets back, for each text, a vector or the reason why it has none. A text is
blamed only if it fails *alone* while the golden texts pass on the same engine right after it; anything else is ours.
"""

from collections.abc import Sequence

import numpy as np

from worker.cache import Vector
from worker.engine.engine import Engine, TextTooLong, TokenIds
from worker.model.golden import WORST_ALLOWED_COSINE, Golden, worst_cosine


class EngineFailed(Exception):
    """Ours: the engine is broken. The service stops, commits nothing more and exits 1."""


class Judge:
    """A vector that it returns is finite, has the right dimension and is not zero.

    Thread: one, the engine's.
    """

    def __init__(self, engine: Engine, golden: Golden) -> None:
        self._engine = engine
        self._golden = golden

    def check_engine(self) -> None:
        """Embed the golden texts. Raises EngineFailed unless every vector is the right one."""
        try:
            worst = worst_cosine(self._engine, self._golden)
        except (RuntimeError, ValueError) as error:
            raise EngineFailed(f"the engine fails on the golden texts: {error}") from error
        if worst < WORST_ALLOWED_COSINE:
            raise EngineFailed(f"the engine's vectors of the golden texts are wrong (cosine {worst:.4f}, at least {WORST_ALLOWED_COSINE})")

    def embed(self, texts: Sequence[TokenIds]) -> list[Vector | str]:
        """Embed one batch; a text that fails alone has its reason instead of a vector. Raises EngineFailed."""
        try:
            vectors = self._engine.embed(texts)
        except (RuntimeError, ValueError) as error:
            return self._apart(texts, _reason(error))
        if vectors.shape != (len(texts), self._engine.dim):
            raise EngineFailed(f"the engine gave {vectors.shape} numbers for {len(texts)} texts of {self._engine.dim} dimensions")
        lengths = np.linalg.norm(vectors, axis=1)
        if np.isfinite(lengths).all() and lengths.all():
            return list(vectors)
        return self._apart(texts, "the engine gives no finite vector for this text")

    def _apart(self, texts: Sequence[TokenIds], reason: str) -> list[Vector | str]:
        if len(texts) > 1:
            middle = len(texts) // 2
            return self.embed(texts[:middle]) + self.embed(texts[middle:])
        self.check_engine()
        return [reason]


def _reason(error: Exception) -> str:
    return "longer than the model's limit" if isinstance(error, TextTooLong) else f"the engine fails on this text: {error}"
