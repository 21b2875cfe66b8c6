"""Vectors cut to their first components, for models that were trained for it (Matryoshka representation learning).

`worker.embedding.loaded` puts it round an engine when `model.dims` is set; everything downstream sees the smaller dimension only.
"""

from collections.abc import Sequence

from worker.embedding.engine.engine import Engine, EngineDied, normalized
from worker.embedding.model.vectors import TokenIds, Vectors


def truncated(vectors: Vectors, dims: int) -> Vectors:
    """Return the first `dims` components of every row, scaled to length 1 again (Kusupati et al. 2022)."""
    return normalized(vectors[:, :dims].copy())


class TruncatingEngine:
    """The engine inside, with vectors of `dims` components; implements `Engine`.

    Thread: one; the engine stage's own.
    """

    def __init__(self, engine: Engine, dims: int) -> None:
        """`dims` is below the engine's own dimension."""
        self._engine = engine
        self.name = engine.name
        self.dim = dims
        self.max_tokens = engine.max_tokens
        self.batch_tokens = engine.batch_tokens

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`. Vectors of another dimension than the engine inside promised are EngineDied, for cutting would hide it."""
        vectors = self._engine.embed(batch)
        if vectors.shape[1:] != (self._engine.dim,):
            raise EngineDied(f"the engine gave {vectors.shape} numbers for {len(batch)} texts of {self._engine.dim} dimensions")
        return truncated(vectors, self.dim)

    def close(self) -> None:
        """Close the engine inside."""
        self._engine.close()
