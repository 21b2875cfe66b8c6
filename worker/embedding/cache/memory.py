"""The first level: vectors in this process's memory, bounded in bytes.

W-TinyLFU decides which ones to keep: a key seen once never evicts one that is used often. So a pass over lines that come once (a
replay, a backfill) leaves the busy templates in place, whereas an LRU would evict them all.
The policy is `theine_core` (Rust, typed, BSD-3, wheels for every Python we run on), the layer below theine's own Cache. It takes lists:
one lock and one call for 500 keys, 1.3 µs per hit. theine's Cache locks twice per key (3.7 µs per hit) and starts a thread when
imported. moka-py takes 1.2 µs but has no protected segment: of the 200 busiest of 1,000 keys it kept none through a pass over 20,000,
where this one keeps all.
Vectors stay float32: float16 would hold twice as many, but cost every hit a conversion and a second length check.
"""

import threading
from collections.abc import Iterable, Mapping

from theine_core import TlfuCore

from sinks.row import Vector
from worker.embedding.model.space import CacheKey

ENTRY_BYTES = 640
"""Measured size of an entry without the vector's components: key, array object, two dictionary entries, the policy's own."""
_MOST_ENTRIES = 2**24
"""36 GB at 384 components. The policy allocates 121 bytes for each at once, and ends the process if it cannot."""
_UNSIGNED_64 = 2**64 - 1
_FOR_EVER = 0


class MemoryCache:
    """At most `cap_bytes` of entries, overhead included; rarely used ones are evicted first.

    Thread: any.
    """

    def __init__(self, cap_bytes: int) -> None:
        """With 0 bytes it always misses."""
        self._cap_bytes = cap_bytes
        self._lock = threading.Lock()
        self._policy: TlfuCore | None = None
        self._components = 0
        self._kept: dict[CacheKey, tuple[int, Vector]] = {}
        """The policy's number for a key, and the vector."""
        self._keys: dict[int, CacheKey] = {}
        """By the policy's number."""

    def get_many(self, keys: Iterable[CacheKey]) -> dict[CacheKey, Vector]:
        """Return the vectors that it has."""
        found: dict[CacheKey, Vector] = {}
        asked: list[int] = []
        with self._lock:
            entry_of = self._kept.get
            for key in keys:
                if (entry := entry_of(key)) is not None:
                    number, found[key] = entry
                    asked.append(number)
            if self._policy is not None and asked:
                self._policy.access(asked)
        return found

    def put_many(self, vectors: Mapping[CacheKey, Vector]) -> None:
        """Keep copies of vectors: a row would keep its batch's array alive. Raises ValueError for a second dimension."""
        with self._lock:
            for key, vector in vectors.items():
                if self._policy is None:
                    entries = min(self._cap_bytes // (vector.nbytes + ENTRY_BYTES), _MOST_ENTRIES)
                    if entries == 0:
                        return
                    self._policy, self._components = TlfuCore(entries), len(vector)
                if len(vector) != self._components:
                    raise ValueError(f"a vector of {len(vector)} components among those of {self._components}")
                self._keep(self._policy, key, vector.copy())

    def _keep(self, policy: TlfuCore, key: CacheKey, vector: Vector) -> None:
        number = hash(key) & _UNSIGNED_64
        other = self._keys.get(number, key)
        if other != key:  # two keys with one number: the policy cannot tell them apart
            del self._kept[other]
        self._keys[number] = key
        self._kept[key] = number, vector
        for gone in policy.set([(number, _FOR_EVER)]):
            self._kept.pop(self._keys.pop(gone), None)
