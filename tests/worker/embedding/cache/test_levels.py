"""The levels in order: which ones are asked, and which ones keep what was found."""

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
        self.vectors: dict[str, Vector] = dict(vectors)
        self.asked: list[set[str]] = []

    def get_many(self, digests: Iterable[str]) -> dict[str, Vector]:
        self.asked.append(set(digests))
        return {digest: self.vectors[digest] for digest in self.asked[-1] & self.vectors.keys()}

    def put_many(self, vectors: Mapping[str, Vector]) -> None:
        self.vectors.update(vectors)


class Index(DictCache):
    """The index as the lowest level.

    Thread: the test's.
    """

    def __call__(self, digests: Collection[str]) -> dict[str, Vector]:
        return self.get_many(digests)


def sources(levels: Levels, *digests: str) -> dict[str, str]:
    return {digest: found.source for digest, found in levels.find(digests).items()}


def test_the_upper_level_is_asked_first_and_the_next_only_for_what_is_missing() -> None:
    memory, redis, index = DictCache(a=ONE), DictCache(a=TWO, b=ONE), Index(b=TWO, c=ONE)
    levels = Levels(memory=memory, redis=redis, index=index)
    found = levels.find(["a", "b", "c", "d", "a"])
    assert {digest: one.source for digest, one in found.items()} == {"a": "memory", "b": "redis", "c": "index"}
    assert all(one.vector is ONE for one in found.values())
    assert (memory.asked, redis.asked, index.asked) == ([{"a", "b", "c", "d"}], [{"b", "c", "d"}], [{"c", "d"}])


def test_what_a_lower_level_had_is_kept_in_the_upper_ones() -> None:
    memory, redis, index = DictCache(), DictCache(b=ONE), Index(c=ONE)
    levels = Levels(memory=memory, redis=redis, index=index)
    sources(levels, "b", "c")
    assert set(memory.vectors) == {"b", "c"}
    assert set(redis.vectors) == {"b", "c"}
    assert sources(levels, "b", "c") == {"b": "memory", "c": "memory"}


def test_a_query_is_answered_from_memory_and_redis_and_never_from_the_index() -> None:
    index = Index(c=ONE)
    levels = Levels(memory=DictCache(a=ONE), redis=DictCache(b=ONE), index=index)
    assert set(levels.get_many(["a", "b", "c"])) == {"a", "b"}
    assert index.asked == []


@pytest.mark.parametrize("with_redis", [True, False])
def test_without_redis_the_index_is_next(*, with_redis: bool) -> None:
    levels = Levels(memory=DictCache(), redis=DictCache() if with_redis else None, index=Index(a=ONE))
    assert sources(levels, "a", "b") == {"a": "index"}
    levels.put_many({"b": TWO})
    assert sources(levels, "b") == {"b": "memory"}


def test_nobody_is_asked_when_all_is_found() -> None:
    redis, index = DictCache(), Index()
    Levels(memory=DictCache(a=ONE), redis=redis, index=index).find(["a"])
    assert (redis.asked, index.asked) == ([], [])


def test_hits_and_misses_are_counted_by_level() -> None:
    levels = Levels(memory=DictCache(a=ONE), redis=DictCache(b=ONE), index=Index(c=ONE))
    levels.find(["a", "b", "c", "d"])
    levels.get_many(["a", "d"])
    assert {level: (tally.hits, tally.misses) for level, tally in levels.tallies.items()} == {
        "memory": (2, 4),
        "redis": (1, 3),
        "index": (1, 1),
    }


def test_the_fail_point_of_writing_is_not_passed_when_there_is_nothing_to_write() -> None:
    passed: list[str] = []
    levels = Levels(memory=DictCache(), redis=None, index=Index(), fail_point=passed.append)
    levels.find(["a"])
    assert passed == ["cache_read"]
    levels.put_many({"a": ONE})
    assert passed == ["cache_read", "cache_written"]
