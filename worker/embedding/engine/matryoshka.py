"""Cuts vectors to their first components, for models trained for it (Matryoshka representation learning).

`worker.embedding.loaded` wraps an engine in it when `model.dims` is set; everything downstream sees only the smaller dimension.
"""

from collections.abc import Sequence

from worker.embedding.engine.engine import Engine, EngineDied, normalized
from worker.embedding.model.vectors import TokenIds, Vectors


def truncated(vectors: Vectors, dims: int) -> Vectors:
    """Return the first `dims` components of every row, scaled to length 1 again (Kusupati et al. 2022)."""
    return normalized(vectors[:, :dims].copy())


class TruncatingEngine:
    """Implements `Engine`: the wrapped engine, with vectors of `dims` components.

    Thread: one, the engine stage's.
    """

    def __init__(self, engine: Engine, dims: int) -> None:
        """`dims` must be below the engine's own dimension."""
        self._engine = engine
        self.name = engine.name
        self.dim = dims
        self.max_tokens = engine.max_tokens
        self.batch_tokens = engine.batch_tokens
        self.on_cpu = engine.on_cpu

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        """See `Engine`. Raises EngineDied if the wrapped engine's vectors have the wrong dimension: cutting them would hide it."""
        vectors = self._engine.embed(batch)
        if vectors.shape[1:] != (self._engine.dim,):
            raise EngineDied(f"the engine gave {vectors.shape} numbers for {len(batch)} texts of {self._engine.dim} dimensions")
        return truncated(vectors, self.dim)

    def close(self) -> None:
        """Close the wrapped engine."""
        self._engine.close()
