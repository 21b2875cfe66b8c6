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

    Vectors of several models share the room. The policy counts entries, so one that is larger than those of the first model counts as
    several, and they go together.

    Thread: any.
    """

    def __init__(self, cap_bytes: int) -> None:
        """With 0 bytes it always misses."""
        self._cap_bytes = cap_bytes
        self._lock = threading.Lock()
        self._policy: TlfuCore | None = None
        self._entries = 0
        """Most entries of `_unit_bytes`."""
        self._unit_bytes = 0
        self._kept: dict[CacheKey, tuple[int, Vector]] = {}
        """The policy's number for a key, and the vector."""
        self._more: dict[CacheKey, list[int]] = {}
        """The policy's further numbers for the key of a larger entry."""
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
            if self._more:
                asked.extend(number for key in found for number in self._more.get(key, ()))
            if self._policy is not None and asked:
                self._policy.access(asked)
        return found

    def put_many(self, vectors: Mapping[CacheKey, Vector]) -> None:
        """Keep copies of vectors: a row would keep its batch's array alive."""
        with self._lock:
            for key, vector in vectors.items():
                if self._policy is None:
                    self._unit_bytes = vector.nbytes + ENTRY_BYTES
                    self._entries = min(self._cap_bytes // self._unit_bytes, _MOST_ENTRIES)
                    if self._entries == 0:
                        continue
                    self._policy = TlfuCore(self._entries)
                self._keep(self._policy, key, vector.copy())

    def _keep(self, policy: TlfuCore, key: CacheKey, vector: Vector) -> None:
        number = hash(key) & _UNSIGNED_64
        units = -(-(vector.nbytes + ENTRY_BYTES) // self._unit_bytes)
        more = [hash((number, place)) & _UNSIGNED_64 for place in range(1, units)]
        if self._more.get(key, []) != more:
            self._drop(policy, key)  # a vector of another length was kept under the key
        if units > self._entries:
            return
        numbers = [number, *more]
        for one in numbers:
            if (other := self._keys.get(one, key)) != key:  # two keys with one number: the policy cannot tell them apart
                self._drop(policy, other)
            self._keys[one] = key
        self._kept[key] = number, vector
        if more:
            self._more[key] = more
        for gone in policy.set([(one, _FOR_EVER) for one in numbers]):
            if (owner := self._keys.pop(gone, None)) is not None:
                self._drop(policy, owner)

    def _drop(self, policy: TlfuCore, key: CacheKey) -> None:
        """Forget an entry under all of its numbers."""
        if (kept := self._kept.pop(key, None)) is None:
            return
        for one in (kept[0], *self._more.pop(key, ())):
            if self._keys.pop(one, None) is not None:
                policy.remove(one)
