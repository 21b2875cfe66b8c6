"""The cache in memory: bounded, copied, thread-safe, and not emptied by a pass over keys that come once."""

import random
import threading

import numpy as np
import pytest
from cachetools import LRUCache

from sinks.row import Vector
from worker.embedding.cache.memory import ENTRY_BYTES, MemoryCache
from worker.embedding.model.space import CacheKey

DIM = 4
ONE_BYTES = 4 * DIM + ENTRY_BYTES
ENTRIES = 1000
BUSY = [CacheKey(f"busy {number}") for number in range(20_000)]
BUSY_WEIGHTS = [1 / (1 + number) for number in range(len(BUSY))]
LIST = 500

A = CacheKey("a")


def key(number: int) -> CacheKey:
    return CacheKey(str(number))


def vector(number: int) -> Vector:
    return np.full(DIM, number, dtype=np.float32)


def test_it_never_holds_more_bytes_than_allowed() -> None:
    cache = MemoryCache(4 * ONE_BYTES - 1)
    for number in range(50):
        cache.put_many({key(number): vector(number), key(-number): vector(-number)})
        assert len(cache.get_many(map(key, range(-50, 50)))) <= 3
    assert len(cache.get_many(map(key, range(-50, 50)))) == 3


@pytest.mark.parametrize("cap_bytes", [0, ONE_BYTES - 1])
def test_a_cache_without_room_for_one_always_misses(cap_bytes: int) -> None:
    cache = MemoryCache(cap_bytes)
    cache.put_many({A: vector(1)})
    assert cache.get_many([A]) == {}


def test_a_vector_is_copied_out_of_its_batch() -> None:
    cache = MemoryCache(10 * ONE_BYTES)
    batch = np.zeros((1000, DIM), dtype=np.float32)
    cache.put_many({A: batch[3]})
    batch[:] = 9
    kept = cache.get_many([A])[A]
    assert kept.base is None
    assert kept.tolist() == [0, 0, 0, 0]


def test_models_of_several_dimensions_share_the_room() -> None:
    """A large vector takes the room of three, and they come and go together."""
    cache = MemoryCache(9 * ONE_BYTES)
    large = np.ones((2 * ENTRY_BYTES) // 4 + DIM, dtype=np.float32)
    found: dict[CacheKey, Vector] = {}
    for number in range(4):
        cache.put_many({key(number): large, key(-1 - number): vector(number)})
        found = cache.get_many(map(key, range(-4, 4)))
        assert sum(one.nbytes + ENTRY_BYTES for one in found.values()) <= 9 * ONE_BYTES
    assert {len(one) for one in found.values()} == {DIM, len(large)}
    cache.put_many({A: vector(1)})
    cache.put_many({A: large})
    assert cache.get_many([A])[A].shape == large.shape


def test_threads_may_read_and_write_together() -> None:
    cache = MemoryCache(20 * ONE_BYTES)
    wrong: list[str] = []

    def work(first: int) -> None:
        for number in range(first, first + 300):
            digests = [key(one % 40) for one in range(number, number + 5)]
            cache.put_many({digest: vector(int(digest)) for digest in digests})
            wrong.extend(digest for digest, one in cache.get_many(digests).items() if one[0] != int(digest))

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache.get_many(map(key, range(40)))) == 20


def ask(cache: MemoryCache | LRUCache[CacheKey, Vector], digests: list[CacheKey]) -> float:
    """Read as prepare does and put the misses, as embed does; returns the hit ratio. A plain LRU is asked the same."""
    found = cache.get_many(digests) if isinstance(cache, MemoryCache) else {one: cache[one] for one in digests if one in cache}
    missing = {digest: vector(0) for digest in digests if digest not in found}
    if isinstance(cache, MemoryCache):
        cache.put_many(missing)
    else:
        cache.update(missing)
    return sum(digest in found for digest in digests) / len(digests)


def busy_lists(draw: random.Random, lists: int) -> list[list[CacheKey]]:
    return [draw.choices(BUSY, BUSY_WEIGHTS, k=LIST) for _ in range(lists)]


def test_a_pass_over_what_comes_once_leaves_the_busiest_where_they_are() -> None:
    """Busy lines, on which it hits at least as often as an LRU, then a pass over 20 times the capacity, which empties the LRU."""
    caches = MemoryCache(ENTRIES * ONE_BYTES), LRUCache[CacheKey, Vector](ENTRIES)
    draw = random.Random(5)
    busy, after = busy_lists(draw, 60), busy_lists(draw, 4)
    ours, lru = (sum(ask(cache, digests) for digests in busy) for cache in caches)
    assert ours >= lru
    for first in range(0, 20 * ENTRIES, LIST):
        for cache in caches:
            ask(cache, [CacheKey(f"once {number}") for number in range(first, first + LIST)])
    assert len(caches[0].get_many(BUSY[:200])) >= 180
    assert not any(digest in caches[1] for digest in BUSY[:200])
    ours, lru = (sum(ask(cache, digests) for digests in after) for cache in caches)
    assert ours >= lru + 4 * 0.15


def test_new_lines_that_come_often_find_room() -> None:
    """After a deployment all templates are new: the old ones must be evicted."""
    cache, draw = MemoryCache(ENTRIES * ONE_BYTES), random.Random(8)
    for digests in busy_lists(draw, 30):
        ask(cache, digests)
    ratios = [ask(cache, [CacheKey(f"new {digest}") for digest in digests]) for digests in busy_lists(draw, 60)]
    assert ratios[-1] >= 0.5
