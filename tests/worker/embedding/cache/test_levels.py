"""The levels in order: which ones are asked, and which ones keep what was found.

The cache key of template `x` is `key x`: memory and Redis go by key, the index by template.
"""

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pytest

from worker.embedding.cache.levels import Levels
from worker.embedding.model.vectors import Vector

ONE = np.array([1.0, 0.0], np.float32)
TWO = np.array([0.0, 1.0], np.float32)


class DictCache:
    """An unbounded cache that records what it was asked.

    Thread: the test's.
    """

    def __init__(self, **vectors: Vector) -> None:
        self.vectors: dict[str, Vector] = {key(name): vector for name, vector in vectors.items()}
        self.asked: list[set[str]] = []

    def get_many(self, keys: Iterable[str]) -> dict[str, Vector]:
        self.asked.append(set(keys))
        return {key: self.vectors[key] for key in self.asked[-1] & self.vectors.keys()}

    def put_many(self, vectors: Mapping[str, Vector]) -> None:
        self.vectors.update(vectors)


class Index:
    """The index as the lowest level.

    Thread: the test's.
    """

    def __init__(self, **vectors: Vector) -> None:
        self.vectors = vectors
        self.asked: list[set[str]] = []

    def __call__(self, templates: Collection[str]) -> dict[str, Vector]:
        self.asked.append(set(templates))
        return {template: self.vectors[template] for template in self.asked[-1] & self.vectors.keys()}


def key(template: str) -> str:
    return f"key {template}"


def keys(templates: str) -> dict[str, str]:
    """Return the cache keys of templates whose names are single letters."""
    return {template: key(template) for template in templates}


def sources(levels: Levels, templates: str) -> dict[str, str]:
    return {template: found.source for template, found in levels.find(keys(templates)).items()}


def test_the_upper_level_is_asked_first_and_the_next_only_for_what_is_missing() -> None:
    memory, redis, index = DictCache(a=ONE), DictCache(a=TWO, b=ONE), Index(b=TWO, c=ONE)
    levels = Levels(memory=memory, redis=redis, index=index)
    found = levels.find(keys("abcd"))
    assert {template: one.source for template, one in found.items()} == {"a": "memory", "b": "redis", "c": "index"}
    assert all(one.vector is ONE for one in found.values())
    assert (memory.asked, redis.asked, index.asked) == (
        [set(map(key, "abcd"))],
        [set(map(key, "bcd"))],
        [{"c", "d"}],
    )


def test_what_a_lower_level_had_is_kept_in_the_upper_ones() -> None:
    memory, redis, index = DictCache(), DictCache(b=ONE), Index(c=ONE)
    levels = Levels(memory=memory, redis=redis, index=index)
    sources(levels, "bc")
    assert set(memory.vectors) == {key("b"), key("c")}
    assert set(redis.vectors) == {key("b"), key("c")}
    assert sources(levels, "bc") == {"b": "memory", "c": "memory"}


def test_a_query_is_answered_from_memory_and_redis_and_never_from_the_index() -> None:
    index = Index(c=ONE)
    levels = Levels(memory=DictCache(a=ONE), redis=DictCache(b=ONE), index=index)
    assert set(levels.get_many(map(key, "abc"))) == {key("a"), key("b")}
    assert index.asked == []


@pytest.mark.parametrize("with_redis", [True, False])
def test_without_redis_the_index_is_next(*, with_redis: bool) -> None:
    levels = Levels(memory=DictCache(), redis=DictCache() if with_redis else None, index=Index(a=ONE))
    assert sources(levels, "ab") == {"a": "index"}
    levels.put_many({key("b"): TWO})
    assert sources(levels, "b") == {"b": "memory"}


def test_nobody_is_asked_when_all_is_found() -> None:
    redis, index = DictCache(), Index()
    Levels(memory=DictCache(a=ONE), redis=redis, index=index).find(keys("a"))
    assert (redis.asked, index.asked) == ([], [])


def test_hits_and_misses_are_counted_by_level() -> None:
    levels = Levels(memory=DictCache(a=ONE), redis=DictCache(b=ONE), index=Index(c=ONE))
    levels.find(keys("abcd"))
    levels.get_many([key("a"), key("d")])
    assert {level: (tally.hits, tally.misses) for level, tally in levels.tallies.items()} == {
        "memory": (2, 4),
        "redis": (1, 3),
        "index": (1, 1),
    }


def test_the_fail_point_of_writing_is_not_passed_when_there_is_nothing_to_write() -> None:
    passed: list[str] = []
    levels = Levels(memory=DictCache(), redis=None, index=Index(), fail_point=passed.append)
    levels.find(keys("a"))
    assert passed == ["cache_read"]
    levels.put_many({key("a"): ONE})
    assert passed == ["cache_read", "cache_written"]
