"""The levels in order: which ones are asked, which ones keep what was found, and when the index is left alone.

The cache key of template `x` is `key x`: memory and Redis go by key, the index by template.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Generic, TypeVar

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sinks.row import TemplateId, Vector
from sinks.sink import SinkBusy
from worker.embedding.cache.breaker import FAILURES, LONGEST_WAIT_S
from worker.embedding.cache.index_level import IndexLevel
from worker.embedding.cache.vector_levels import Levels
from worker.embedding.model.space import CacheKey

NAMES = st.sets(st.sampled_from([TemplateId(name) for name in "abcde"]))
Name = TypeVar("Name", TemplateId, CacheKey)


def key(template: str) -> CacheKey:
    return CacheKey(f"key {template}")


class DictCache(Generic[Name]):
    """An unbounded cache that records what it was asked."""

    def __init__(self, names: Iterable[Name], component: float) -> None:
        self.vectors: dict[Name, Vector] = {name: np.full(1, component, np.float32) for name in names}
        self.asked: list[set[Name]] = []

    def get_many(self, keys: Iterable[Name]) -> dict[Name, Vector]:
        self.asked.append(set(keys))
        return {key: self.vectors[key] for key in self.asked[-1] & self.vectors.keys()}

    def put_many(self, vectors: Mapping[Name, Vector]) -> None:
        self.vectors.update(vectors)


@given(NAMES, NAMES | st.none(), NAMES, NAMES)
def test_each_template_is_found_in_the_first_level_that_has_it_and_kept_in_those_above(
    in_memory: set[TemplateId], in_redis: set[TemplateId] | None, in_index: set[TemplateId], asked: set[TemplateId]
) -> None:
    """A level is asked only for what those above it lack; a query never asks the index."""
    memory, index = DictCache(map(key, in_memory), 1.0), DictCache(in_index, 3.0)
    redis = None if in_redis is None else DictCache(map(key, in_redis), 2.0)
    levels = Levels(memory=memory, redis=redis, index=index.get_many)
    from_memory = in_memory & asked
    from_redis = (in_redis or set()) & asked - from_memory
    from_index = in_index & asked - from_memory - from_redis
    left = [asked, asked - from_memory, asked - from_memory - from_redis]
    assert set(levels.get_many(map(key, asked))) == {*map(key, from_memory | from_redis)}
    assert index.asked == []
    memory.vectors = {key(name): np.ones(1, np.float32) for name in in_memory}
    found = levels.find({TemplateId(name): key(name) for name in asked})
    wanted = (
        dict.fromkeys(from_memory, ("memory", 1.0)) | dict.fromkeys(from_redis, ("redis", 2.0)) | dict.fromkeys(from_index, ("index", 3.0))
    )
    assert {name: (one.source, float(one.vector[0])) for name, one in found.items()} == wanted
    assert memory.asked[-1] == {*map(key, left[0])}
    assert (redis is None or not left[1]) or redis.asked[-1] == {*map(key, left[1])}
    assert index.asked == ([left[2]] if left[2] else [])
    assert {*map(key, wanted)} <= memory.vectors.keys()
    assert redis is None or {*map(key, from_redis | from_index)} <= redis.vectors.keys()


def test_hits_and_misses_are_counted_by_level() -> None:
    levels = Levels(memory=DictCache([key("a")], 1.0), redis=DictCache([key("b")], 1.0), index=DictCache([TemplateId("c")], 1.0).get_many)
    levels.find({TemplateId(name): key(name) for name in "abcd"})
    levels.get_many([key("a"), key("d")])
    counted = {level: (tally.hits, tally.misses) for level, tally in levels.tallies.items()}
    assert counted == {"memory": (2, 4), "redis": (1, 3), "index": (1, 1)}


def test_fail_points_are_passed_only_when_there_is_something_to_write() -> None:
    passed: list[str] = []
    levels = Levels(
        memory=DictCache[CacheKey]([], 1.0), redis=None, index=DictCache[TemplateId]([], 1.0).get_many, fail_point=passed.append
    )
    levels.find({TemplateId("a"): key("a")})
    assert passed == ["cache_read"]
    levels.put_many({key("a"): np.ones(1, np.float32)})
    assert passed == ["cache_read", "cache_written"]


def test_an_index_that_failed_again_and_again_is_left_alone_until_its_time_has_come() -> None:
    asked, said, now_s = list[Collection[TemplateId]](), list[str](), [0.0]

    def read(templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        asked.append(templates)
        if len(asked) <= FAILURES:
            raise SinkBusy("away")
        return {TemplateId("a"): np.ones(2, np.float32)}

    level = IndexLevel(read, say=said.append, clock=lambda: now_s[0], draw=lambda: 1.0)
    assert [level.find([TemplateId("a")]) for _ in range(FAILURES + 5)] == [{}] * (FAILURES + 5)
    assert len(asked) == FAILURES
    assert len(said) == 1
    assert "away" in said[0]
    now_s[0] += LONGEST_WAIT_S
    assert list(level.find([TemplateId("a"), TemplateId("b")])) == ["a"]
    assert said[1:] == ["templates can be looked up in the index again"]
