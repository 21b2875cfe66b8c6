"""The cache in memory with vectors of several models: within its bytes, and never another vector than the one that was put last."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sinks.row import Vector
from worker.embedding.cache.memory import ENTRY_BYTES, MemoryCache
from worker.embedding.model.space import CacheKey

DIMS = (4, 16, 200, 500)
KEYS = [CacheKey(str(number)) for number in range(12)]
puts = st.dictionaries(st.sampled_from(KEYS), st.tuples(st.sampled_from(DIMS), st.integers(0, 99)), max_size=4)
reads = st.lists(st.sampled_from(KEYS), max_size=4)


def vector_of(dim: int, number: int) -> Vector:
    return np.full(dim, number, dtype=np.float32)


@settings(max_examples=400)
@given(st.integers(0, 8_000), st.lists(st.one_of(puts, reads), max_size=40))
def test_what_it_returns_was_put_last_under_the_key_and_all_of_it_fits(
    cap_bytes: int, steps: list[dict[CacheKey, tuple[int, int]] | list[CacheKey]]
) -> None:
    cache = MemoryCache(cap_bytes)
    last: dict[CacheKey, tuple[int, int]] = {}
    for step in steps:
        if isinstance(step, dict):
            cache.put_many({key: vector_of(*made) for key, made in step.items()})
            last |= step
        else:
            assert cache.get_many(step).keys() <= set(step)
        found = cache.get_many(KEYS)
        assert sum(vector.nbytes + ENTRY_BYTES for vector in found.values()) <= cap_bytes
        for key, vector in found.items():
            assert vector.tolist() == vector_of(*last[key]).tolist()
