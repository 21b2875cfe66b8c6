"""The contract of a cache level: vectors by cache key, and a miss is always allowed.

A cache only saves embedding, it never suppresses a row. Prepare reads the levels, embed fills them.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from sinks.row import Vector
from worker.embedding.model.space import CacheKey


class VectorCache(Protocol):
    """A vector that it returns was put under the same key.

    Thread: any.
    """

    def get_many(self, keys: Iterable[CacheKey]) -> dict[CacheKey, Vector]:
        """Return the vectors that it has."""

    def put_many(self, vectors: Mapping[CacheKey, Vector]) -> None:
        """Keep vectors if there is room. Copies them: the caller may overwrite its arrays."""
