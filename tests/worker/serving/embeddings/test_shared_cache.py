"""What services share through Redis: the vectors of each embedding space, and no other's."""

from collections import defaultdict
from typing import cast

import numpy as np

from tests.worker.serving.embeddings.conftest import NewServer
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.loaded import space_of
from worker.embedding.model.space import EmbeddingSpace


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
