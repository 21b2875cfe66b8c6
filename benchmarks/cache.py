"""The steps before the engine: a hit in memory, vectors from Redis against a loop of `GET`, masking of lines.

    python -m benchmarks.cache [FILES…] [--quick] [--json] [--redis URL]

Caveats first. Redis runs on the same machine and shares its processors with the client. Over a network add its latency: once a list for
ours, once a key for the loop. A `redis-server` is started on loopback unless `--redis` names one, which then keeps the vectors for 100
seconds. Both sides get the same keys and return float32 vectors: ours through the worker's own class (threads, budget, breaker, checksums,
lengths), the loop with redis-py's `get` and numpy, without checks. Figures are medians over the rounds, with the worst round beside them;
a ratio is taken within a round. The first level and the masks run on one thread and are measured in its processor time, Redis and the
loop in elapsed time. Masks are the worker's defaults; lines are synthetic and seeded, unless you name files.
"""

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
import redis

from benchmarks.tokenize import lines_of
from consumers.text.mask import Masker
from sinks.row import Vector
from worker.embedding.cache.memory import ENTRY_BYTES, MemoryCache
from worker.embedding.cache.redis_address import RedisMisconfigured
from worker.embedding.cache.redis_cache import RedisCache
from worker.embedding.model.space import EmbeddingSpace
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
_START_S = 10.0
_TTL_S = 100.0
_HEADER_BYTES = 8
_SEED = 7

Rates = list[float]


def vectors_of(count: int) -> dict[str, Vector]:
    """Return vectors of length 1 by digest; seeded."""
    draw, names = np.random.default_rng(_SEED), random.Random(_SEED)
    rows = draw.standard_normal((count, DIM)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return {f"{names.getrandbits(128):032x}": row for row in rows}


def lists_of(sequence: Sequence[str], most: int = LIST) -> list[Sequence[str]]:
    """Return lists of digests as a poll would bring them."""
    return [sequence[start : start + most] for start in range(0, len(sequence), most)]


def rate_of(count: int, work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Run it once; return the rate per second."""
    began = clock()
    work()
    return count / (clock() - began)


def measure_memory(vectors: dict[str, Vector], rounds: int) -> Rates:
    """Return the first level's hits per second of processor time, by round."""
    cache = MemoryCache(2 * len(vectors) * (4 * DIM + ENTRY_BYTES))
    cache.put_many(vectors)
    lists = lists_of(random.Random(_SEED).sample(list(vectors), len(vectors)))

    def hit() -> None:
        for digests in lists:
            if len(cache.get_many(digests)) != len(digests):
                raise SystemExit("the first level lost a vector: the figure would be worth nothing")

    hit()
    return [rate_of(len(vectors), hit, time.thread_time) for _ in range(rounds)]


def measure_redis(url: str, vectors: dict[str, Vector], loop_keys: int, rounds: int) -> tuple[Rates, Rates]:
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
    table = RedisTable(url=url, ttl_s=_TTL_S, read_budget_s=5.0, queue_bytes=1024**3)
    cache = RedisCache(table, space, say=lambda line: print(line, file=sys.stderr), on_crash=_crash)
    digests = list(vectors)
    lists = lists_of(digests)
    keys = [f"vectail:{space.id}:{digest}" for digest in digests[:loop_keys]]
    client: Any = redis.Redis.from_url(url)

    def ours() -> None:
        for some in lists:
            if len(cache.get_many(some)) != len(some):
                raise SystemExit(f"Redis lost a vector, so the figure would be worth nothing: {cache.tally}")

    def loop() -> list[Vector]:
        return [np.frombuffer(client.get(key), "<f2", DIM, _HEADER_BYTES).astype(np.float32) for key in keys]

    try:
        _fill(cache, vectors)
        ours()
        loop()
        pairs = []
        for turn in range(rounds):
            sides = [(len(digests), ours), (len(keys), loop)]
            rates = [rate_of(*side) for side in (sides if turn % 2 else reversed(sides))]
            pairs.append(tuple(rates if turn % 2 else reversed(rates)))
    finally:
        cache.close(5.0)
        client.close()
    return [one for one, _ in pairs], [other for _, other in pairs]


def _fill(cache: RedisCache, vectors: dict[str, Vector]) -> None:
    for some in lists_of(list(vectors)):
        cache.put_many({digest: vectors[digest] for digest in some})
    until_s = time.monotonic() + 60
    while cache.tally.written < len(vectors):
        if cache.tally.errors or time.monotonic() > until_s:
            raise SystemExit(f"Redis did not take the vectors: {cache.tally}")
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
    return [rate_of(len(lines), mask, time.thread_time) for _ in range(rounds)]


@contextmanager
def own_redis() -> Iterator[str]:
    """Start a server on loopback and yield its URL; it ends with the benchmark."""
    binary = shutil.which("redis-server")
    if binary is None:
        raise SystemExit("redis-server is not installed, and --redis names none")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    where = ["--bind", "127.0.0.1", "--port", str(port), "--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu"]
    server = subprocess.Popen([binary, *where, "--save", "", "--appendonly", "no"], stdout=subprocess.DEVNULL)  # noqa: S603 - ours
    try:
        until_s = time.monotonic() + _START_S
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if server.poll() is not None or time.monotonic() > until_s:
                raise SystemExit("redis-server did not start")
            time.sleep(0.02)
        yield f"redis://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def figures_of(hits: Rates, ours: Rates, loop: Rates, masks: Rates) -> dict[str, Any]:
    """Return what `--json` prints."""
    times = [one / other for one, other in zip(ours, loop, strict=True)]
    return {
        "l1_us_per_record": round(1e6 / median(hits), 3),
        "redis_keys_per_s": round(median(ours)),
        "vs_get_loop": round(median(times), 1),
        "mask_lines_per_s": round(median(masks)),
        "worst": {
            "l1_us_per_record": round(1e6 / min(hits), 3),
            "redis_keys_per_s": round(min(ours)),
            "vs_get_loop": round(min(times), 1),
            "mask_lines_per_s": round(min(masks)),
        },
        "get_loop_keys_per_s": round(median(loop)),
    }


def show_table(figures: dict[str, Any], show: Callable[[str], None]) -> None:
    """Show the figures as a person reads them."""
    show(f"{'':<34} {'median':>10} {'worst':>10}")
    for name, words in {
        "l1_us_per_record": "a hit in memory, µs a record",
        "redis_keys_per_s": "vectors from Redis, keys/s",
        "vs_get_loop": "times a loop of GET",
        "mask_lines_per_s": "lines masked, lines/s on one core",
    }.items():
        show(f"{words:<34} {figures[name]:>10,} {figures['worst'][name]:>10,}")


def main(show: Callable[[str], None] = print) -> None:
    """Measure the three and show them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--quick", action="store_true", help=f"fewer keys and lines, {QUICK_ROUNDS} rounds instead of {ROUNDS}")
    parser.add_argument("--json", action="store_true", help="print one object of figures and nothing else")
    parser.add_argument("--redis", metavar="URL", help="a running server, instead of one started for this")
    chosen = parser.parse_args()
    rounds = QUICK_ROUNDS if chosen.quick else ROUNDS
    lines = lines_of(chosen.files, QUICK_LINES if chosen.quick else LINES)
    if not lines:
        parser.error("the files hold no line")
    vectors = vectors_of(QUICK_KEYS if chosen.quick else KEYS)
    loop_keys = QUICK_LOOP_KEYS if chosen.quick else LOOP_KEYS
    try:
        if chosen.redis:
            ours, loop = measure_redis(chosen.redis, vectors, loop_keys, rounds)
        else:
            with own_redis() as url:
                ours, loop = measure_redis(url, vectors, loop_keys, rounds)
    except RedisMisconfigured as refused:
        parser.error(str(refused))
    figures = figures_of(measure_memory(vectors, rounds), ours, loop, measure_masks(lines, rounds))
    show(json.dumps(figures)) if chosen.json else show_table(figures, show)


if __name__ == "__main__":
    main()
