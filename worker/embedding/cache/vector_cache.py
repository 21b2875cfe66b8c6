"""What every level of the cache promises: vectors by digest, and a miss is always right.

A cache may only save embedding, never suppress a row. Prepare reads the levels, embed fills them.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from worker.embedding.model.vectors import Vector


class VectorCache(Protocol):
    """Vectors by digest.

    Thread: any.
    """

    def get_many(self, digests: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors that are there."""

    def put_many(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, as long as there is room; they belong to the caller, who may write over their array."""
