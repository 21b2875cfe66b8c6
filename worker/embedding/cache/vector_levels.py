"""The cache levels in order: this process's memory, then Redis, then the index.

Prepare asks all levels for templates that are new to this process (`find`); queries ask memory and Redis only (`get_many`). A vector
found in a lower level is copied to the upper ones. After a restart the index alone is enough: nothing is embedded twice.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from sinks.row import TemplateId, Vector
from worker.embedding.cache.cache_tally import CacheTally
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.model.space import CacheKey

VectorSource = Literal["engine", "memory", "redis", "index"]
"""Where the vector of a new template came from: computed, or found in a cache level or in the index."""
SOURCES: tuple[VectorSource, ...] = ("engine", "memory", "redis", "index")
"""Every `VectorSource`; the order in which tables and logs show them."""


class CachedVector(NamedTuple):
    """A vector and the level that had it."""

    vector: Vector
    source: VectorSource


class Levels:
    """A vector that it returns was put under the same cache key or stored with the same template; it may miss, but never be wrong.

    Memory and Redis go by cache key, because they may hold vectors of several models; the index goes by template, because its templates
    are those of one model.

    Thread: any.
    """

    def __init__(
        self,
        *,
        memory: VectorCache,
        redis: VectorCache | None,
        index: Callable[[Collection[TemplateId]], dict[TemplateId, Vector]],
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """`index` returns the vectors of stored templates, or nothing if it cannot answer."""
        self.memory = memory
        """The fastest of them."""
        self._redis = redis
        self._index = index
        self._fail_point = fail_point
        self.tallies = {level: CacheTally() for level in ("memory", "redis", "index")}
        """Hits and misses, by level."""

    def find(self, keys: Mapping[TemplateId, CacheKey]) -> dict[TemplateId, CachedVector]:
        """Return by template the vectors that any level has; `keys` holds the cache key of each template."""
        cached = self.cached(set(keys.values()))
        found = {template: cached[key] for template, key in keys.items() if key in cached}
        missing = keys.keys() - found.keys()
        if missing:
            stored = self._index(missing)
            self.tallies["index"].add(hits=len(stored), misses=len(missing) - len(stored))
            self.put_many({keys[template]: stored[template] for template in missing if template in stored})
            found.update((template, CachedVector(stored[template], "index")) for template in missing if template in stored)
        self._fail_point("cache_read")
        return found

    def get_many(self, keys: Iterable[CacheKey]) -> dict[CacheKey, Vector]:
        """Return by cache key the vectors that memory or Redis has."""
        return {key: found.vector for key, found in self.cached(set(keys)).items()}

    def put_many(self, vectors: Mapping[CacheKey, Vector]) -> None:
        """Put vectors into memory and Redis, by cache key."""
        if not vectors:
            return
        self.memory.put_many(vectors)
        if self._redis is not None:
            self._redis.put_many(vectors)
        self._fail_point("cache_written")

    def cached(self, wanted: set[CacheKey]) -> dict[CacheKey, CachedVector]:
        """Return by cache key the vectors that memory or Redis has, and which of them had each."""
        found = {key: CachedVector(vector, "memory") for key, vector in self.memory.get_many(wanted).items()}
        missing = wanted - found.keys()
        self.tallies["memory"].add(hits=len(found), misses=len(missing))
        if missing and self._redis is not None:
            fetched = self._redis.get_many(missing)
            self.tallies["redis"].add(hits=len(fetched), misses=len(missing) - len(fetched))
            self.memory.put_many(fetched)
            found.update((key, CachedVector(vector, "redis")) for key, vector in fetched.items())
        return found
