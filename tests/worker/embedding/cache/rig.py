"""A `RedisCache` on a real Redis, with a clock that the test moves, and the lines that it said."""

import hashlib
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from sinks.row import Vector
from tests.worker.running import wait_until
from worker.embedding.cache.breaker import LONGEST_WAIT_S
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.cache.redis_writer import QUEUE_BYTES
from worker.embedding.model.space import CacheKey, EmbeddingSpace
from worker.runtime.surroundings import Surroundings
from worker.settings.tables import RedisTable

DIM = 384
PATIENT_S = 5.0
"""A read budget that is enough on a busy machine."""


def space_of(*, dim: int = DIM, weights: str = "0") -> EmbeddingSpace:
    return EmbeddingSpace(
        weights_sha256=weights,
        architecture="",
        tokenizer_sha256="0",
        pooling="mean",
        dim=dim,
        document_prefix="",
        query_prefix="",
    )


def digest_of(number: int) -> CacheKey:
    return CacheKey(hashlib.blake2b(str(number).encode(), digest_size=16).hexdigest())


def vector_of(number: int, dim: int = DIM) -> Vector:
    """Return a vector of length 1, far from that of any other number."""
    vector = np.random.default_rng(number).standard_normal(dim)
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def vectors_of(numbers: Iterable[int]) -> dict[CacheKey, Vector]:
    return {digest_of(number): vector_of(number) for number in numbers}


class Rig:
    """One worker's cache."""

    def __init__(self, url: str, *, space: EmbeddingSpace | None = None, queue_bytes: int = QUEUE_BYTES, **settings: Any) -> None:  # noqa: ANN401 - RedisTable's
        self.now_s = 0.0
        self._handed_over = 0
        self.said: list[str] = []
        self.crashes: list[Exception] = []
        table = RedisTable(url=url, **{"read_budget_s": PATIENT_S, **settings})
        self.cache = RedisCache(
            table,
            space or space_of(),
            Surroundings(say=self.said.append, clock=lambda: self.now_s),
            on_crash=lambda _, error: self.crashes.append(error),
            draw=lambda: 1.0,
            queue_bytes=queue_bytes,
        )
        self.tally = self.cache.tally

    def put(self, numbers: Iterable[int]) -> None:
        """Put vectors and wait until each is written, refused, dropped or unfit."""
        self.hand_over(vectors_of(numbers))
        tally = self.tally
        wait_until(lambda: tally.written + tally.refused + tally.dropped + tally.unfit == self._handed_over, "writes")

    def hand_over(self, vectors: dict[CacheKey, Vector]) -> None:
        """Put vectors without waiting."""
        self._handed_over += len(vectors)
        self.cache.put_many(vectors)

    def found(self, numbers: Iterable[int]) -> set[int]:
        """Read; return the numbers whose vectors were found, after checking that each is the right one."""
        asked = list(numbers)
        vectors = self.cache.get_many([digest_of(number) for number in asked])
        for number in asked:
            if (vector := vectors.get(digest_of(number))) is not None:
                assert float(vector @ vector_of(number)) >= 0.99999
        return {number for number in asked if digest_of(number) in vectors}

    def time_passes(self) -> None:
        """Move the clock until a failed server is asked again."""
        self.now_s += LONGEST_WAIT_S

    def said_like(self, *parts: str) -> list[str]:
        return [line for line in self.said if all(part in line for part in parts)]

    def close(self) -> None:
        self.cache.close(PATIENT_S)
        assert self.crashes == []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
