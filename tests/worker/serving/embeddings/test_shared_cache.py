"""What services share through Redis: the vectors of each embedding space, and no other's."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np
import pytest

from tests.services.redis import LocalRedis, local_redis
from tests.worker.serving.embeddings.conftest import NewServer
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.embedding.model.space import EmbeddingSpace
from worker.runtime.surroundings import Surroundings
from worker.settings.tables import RedisTable


class Shared:
    """Stands for Redis: a cache for each space."""

    def __init__(self) -> None:
        self.spaces: defaultdict[str, MemoryCache] = defaultdict(lambda: MemoryCache(1 << 20))

    def for_space(self, space: EmbeddingSpace) -> MemoryCache:
        return self.spaces[space.id]


def test_a_service_finds_what_another_has_computed_in_the_same_space(new_server: NewServer) -> None:
    shared = Shared()
    first, second = (new_server(redis=cast("RedisCache", shared)) for _ in range(2))
    vectors = first.embed(["disk full", "connection refused"]).vectors
    assert np.array_equal(second.embed(["disk full", "connection refused"]).vectors, vectors)
    assert (first.engine_texts, second.engine_texts) == (2, 0)
    assert list(shared.spaces) == [space_of(first.model).id]


@pytest.fixture
def redis_server() -> Iterator[LocalRedis]:
    """One of the test's own."""
    server = local_redis()
    yield server
    server.close()


@pytest.fixture
def redis(redis_server: LocalRedis, plain_model: PreparedModel) -> Iterator[RedisCache]:
    """As the service makes it."""
    crashes: list[Exception] = []
    table = RedisTable(url=redis_server.url, read_budget_s=0.05)
    redis = RedisCache(table, space_of(plain_model), Surroundings(), on_crash=lambda _stage, error: crashes.append(error))
    yield redis
    redis.close(1.0)
    assert crashes == []


@pytest.mark.process
def test_every_request_is_answered_right_while_redis_is_stopped_killed_and_started_again(
    new_server: NewServer, redis_server: LocalRedis, redis: RedisCache
) -> None:
    server, alone = new_server(redis=redis), new_server()
    asked = 0
    changes: list[Callable[[], None]] = [redis_server.pause, redis_server.resume, redis_server.kill, redis_server.start]
    for change in (lambda: None, *changes):
        change()
        for _ in range(5):
            texts = [f"text {asked + number // 2}" for number in range(20)]  # half of them are known from the time before
            asked += 5
            answer = server.embed(texts)
            assert np.array_equal(answer.vectors, alone.embed(texts).vectors)
    assert redis.tally.late + redis.tally.errors.total() > 0
