"""The steps before the engine: a hit in memory, vectors from Redis against a loop of `GET`, masking of lines.

    python -m benchmarks.cache [FILES…] [--quick] [--json] [--redis URL]

Caveats first. Redis runs on the same machine and shares its processors with the client. Over a network add its latency: once a list for
ours, once a key for the loop. A `redis-server` is started on loopback unless `--redis` names one, which then keeps the vectors for 100
seconds. Both sides get the same keys and return float32 vectors: ours through the worker's own class (threads, budget, breaker, checksums,
lengths), the loop with redis-py's `get` and numpy, without checks. Figures are medians over the rounds, with the worst round beside them;
a ratio is taken within a round. The first level and the masks run on one thread and are measured in its processor time, Redis and the
loop in elapsed time. Masks are the worker's defaults; lines are synthetic and seeded, unless you name files.
"""

import os
import random
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from statistics import median
from typing import Any, TypeVar

import numpy as np
import redis

from benchmarks.own_servers import own_or_given_redis
from benchmarks.program import FILES, Figures, option, program
from benchmarks.race import Missing, Wrong, race, ratios, seconds_of, spread
from benchmarks.tokenize import lines_of
from consumers.text.mask import Masker
from sinks.row import Vector
from worker.embedding.cache.memory import ENTRY_BYTES, MemoryCache
from worker.embedding.cache.redis_address import RedisMisconfigured
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.model.space import CacheKey, EmbeddingSpace
from worker.runtime.surroundings import Surroundings
from worker.settings.tables import RedisTable

DIM = 384
"""float16[384] is 768 bytes."""
KEYS, QUICK_KEYS = 20_000, 2_000
LOOP_KEYS, QUICK_LOOP_KEYS = 2_000, 500
LINES, QUICK_LINES = 50_000, 2_000
ROUNDS, QUICK_ROUNDS = 9, 5
LIST = 500
"""Digests at a time: about what one poll returns."""
MASKED_LIST = 2_000
"""Lines at a time: the most that a prepare thread takes at once, as it does under load."""
_TTL_S = 100.0
_HEADER_BYTES = 8
_SEED = 7
_Text = TypeVar("_Text", bound=str)

Rates = list[float]


def vectors_of(count: int) -> dict[CacheKey, Vector]:
    """Return vectors of length 1 by digest; seeded."""
    draw, names = np.random.default_rng(_SEED), random.Random(_SEED)
    rows = draw.standard_normal((count, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {CacheKey(f"{names.getrandbits(128):032x}"): row for row in rows}


def lists_of(sequence: Sequence[_Text], most: int = LIST) -> list[Sequence[_Text]]:
    """Return lists of digests as a poll would bring them."""
    return [sequence[start : start + most] for start in range(0, len(sequence), most)]


def measure_memory(vectors: dict[CacheKey, Vector], rounds: int) -> Rates:
    """Return the first level's hits per second of processor time, by round."""
    cache = MemoryCache(2 * len(vectors) * (4 * DIM + ENTRY_BYTES))
    cache.put_many(vectors)
    lists = lists_of(random.Random(_SEED).sample(list(vectors), len(vectors)))

    def hit() -> None:
        for digests in lists:
            if len(cache.get_many(digests)) != len(digests):
                raise Wrong("the first level lost a vector: the figure would be worth nothing")

    hit()
    return [len(vectors) / seconds_of(hit, time.thread_time) for _ in range(rounds)]


def measure_redis(url: str, vectors: dict[CacheKey, Vector], loop_keys: int, rounds: int) -> tuple[Rates, Rates]:
    """Return keys per second of the second level and of a loop of `GET`, by round; they take turns."""
    space = EmbeddingSpace(
        weights_sha256="benchmark",
        architecture="",
        tokenizer_sha256="",
        pooling="mean",
        dim=DIM,
        document_prefix="",
        query_prefix="",
    )
    table = RedisTable(url=url, ttl_s=_TTL_S, read_budget_s=5.0)
    cache = RedisCache(table, space, Surroundings(say=lambda line: print(line, file=sys.stderr)), on_crash=_crash, queue_bytes=1024**3)
    digests = list(vectors)
    lists = lists_of(digests)
    keys = [f"vectail:{space.id}:{digest}" for digest in digests[:loop_keys]]
    client: Any = redis.Redis.from_url(url)

    def ours() -> None:
        for some in lists:
            if len(cache.get_many(some)) != len(some):
                raise Wrong(f"Redis lost a vector, so the figure would be worth nothing: {cache.tally}")

    def loop() -> list[Vector]:
        return [np.frombuffer(client.get(key), "<f2", DIM, _HEADER_BYTES).astype(np.float32) for key in keys]

    try:
        _fill(cache, vectors)
        seconds = race({"ours": lambda: seconds_of(ours), "loop": lambda: seconds_of(loop)}, rounds, warm_ups=1)
    finally:
        cache.close(5.0)
        client.close()
    return [len(digests) / one for one in seconds["ours"]], [len(keys) / one for one in seconds["loop"]]


def _fill(cache: RedisCache, vectors: dict[CacheKey, Vector]) -> None:
    for some in lists_of(list(vectors)):
        cache.put_many({digest: vectors[digest] for digest in some})
    until_s = time.monotonic() + 60
    while cache.tally.written < len(vectors):
        if cache.tally.errors or time.monotonic() > until_s:
            raise Wrong(f"Redis did not take the vectors: {cache.tally}")
        time.sleep(0.01)


def _crash(name: str, error: Exception) -> None:
    print(f"{name}: {error!r}", file=sys.stderr)
    os._exit(1)


def measure_masks(lines: list[str], rounds: int) -> Rates:
    """Return lines masked per second of processor time, by round."""
    masker, lists = Masker(), lists_of(lines, MASKED_LIST)

    def mask() -> None:
        for some in lists:
            masker.mask(some)

    mask()
    return [len(lines) / seconds_of(mask, time.thread_time) for _ in range(rounds)]


def measure(chosen: Namespace) -> Figures:
    """Measure the three. Raises Missing, Wrong."""
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    lines = lines_of(chosen.files, QUICK_LINES if chosen.quick else LINES)
    vectors = vectors_of(QUICK_KEYS if chosen.quick else KEYS)
    with own_or_given_redis(chosen.redis) as started:
        if not started.address:
            raise Missing(f"{started.reason}, and --redis names none")
        try:
            ours, loop = measure_redis(started.address, vectors, QUICK_LOOP_KEYS if chosen.quick else LOOP_KEYS, rounds)
        except RedisMisconfigured as refused:
            raise Missing(str(refused)) from None
    figures = spread(
        {
            "l1_us_per_record": [1e6 / rate for rate in measure_memory(vectors, rounds)],
            "redis_keys_per_s": ours,
            "vs_get_loop": ratios(ours, loop),
            "mask_lines_per_s": measure_masks(lines, rounds),
        },
        costs=["l1_us_per_record"],
    )
    return figures | {"get_loop_keys_per_s": median(loop)}


REDIS = option("--redis", metavar="URL", help="a running server, instead of one started for this")
main = program(__doc__, measure, FILES, REDIS, quick=f"fewer keys and lines, {QUICK_ROUNDS} rounds instead of {ROUNDS}")

if __name__ == "__main__":
    main()
