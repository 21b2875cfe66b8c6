"""The cache in memory: bounded, copied, and safe between threads."""

import threading

import numpy as np

from worker.cache.memory import MemoryCache
from worker.cache.vectors import Vector

DIM = 4
VECTOR_BYTES = 4 * DIM


def vector(number: int) -> Vector:
    return np.full(DIM, number, dtype=np.float32)


def test_what_was_put_is_returned_and_the_rest_is_missing() -> None:
    cache = MemoryCache(10 * VECTOR_BYTES)
    cache.put_many({"a": vector(1), "b": vector(2)})
    found = cache.get_many(["b", "c", "a"])
    assert {digest: one[0] for digest, one in found.items()} == {"a": 1, "b": 2}


def test_the_one_unused_for_longest_goes_first() -> None:
    cache = MemoryCache(3 * VECTOR_BYTES)
    cache.put_many({"a": vector(1), "b": vector(2), "c": vector(3)})
    cache.get_many(["a"])
    cache.put_many({"d": vector(4)})
    assert set(cache.get_many("abcd")) == {"a", "c", "d"}


def test_it_never_holds_more_bytes_than_allowed() -> None:
    cache = MemoryCache(3 * VECTOR_BYTES + VECTOR_BYTES - 1)
    for number in range(50):
        cache.put_many({str(number): vector(number), str(-number): vector(-number)})
        assert len(cache.get_many(map(str, range(-50, 50)))) <= 3


def test_a_cache_of_no_bytes_is_a_cache_that_always_misses() -> None:
    cache = MemoryCache(0)
    cache.put_many({"a": vector(1)})
    assert cache.get_many(["a"]) == {}


def test_a_vector_is_copied_out_of_its_batch() -> None:
    cache = MemoryCache(1000)
    batch = np.zeros((1000, DIM), dtype=np.float32)
    cache.put_many({"a": batch[3]})
    batch[:] = 9
    kept = cache.get_many(["a"])["a"]
    assert kept.base is None
    assert kept.tolist() == [0, 0, 0, 0]


def test_threads_may_read_and_write_together() -> None:
    cache = MemoryCache(20 * VECTOR_BYTES)
    wrong: list[str] = []

    def work(seed: int) -> None:
        for number in range(seed, seed + 1_000):
            cache.put_many({str(number % 40): vector(number % 40)})
            wrong.extend(digest for digest, one in cache.get_many(map(str, range(40))).items() if one[0] != int(digest))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
