"""The first level: vectors in this process's memory, bounded by bytes."""

import threading
from collections.abc import Iterable, Mapping

from cachetools import LRUCache

from worker.cache.vectors import Vector


class MemoryCache:
    """At most `cap_bytes` of vectors; the one unused for longest goes first.

    Thread: any.
    """

    def __init__(self, cap_bytes: int) -> None:
        self._lock = threading.Lock()
        self._vectors: LRUCache[str, Vector] = LRUCache(cap_bytes, getsizeof=lambda vector: vector.nbytes)

    def get_many(self, digests: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors that are there."""
        with self._lock:
            return {digest: self._vectors[digest] for digest in digests if digest in self._vectors}

    def put_many(self, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors; each is copied, so that a batch's array is not kept alive for one row of it."""
        with self._lock:
            for digest, vector in vectors.items():
                if vector.nbytes <= self._vectors.maxsize:
                    self._vectors[digest] = vector.copy()
