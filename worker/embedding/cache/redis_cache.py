"""The second level: vectors that workers share through Redis or Valkey, under `vectail:{space}:{digest}`.

Prepare reads it, embed fills it, as any level; and it may be away, slow, full, read-only or wrong without anything but speed being lost.
A read takes at most the budget, a write no time at all; whatever goes wrong is a miss or a drop, and is counted. Two circuit breakers
keep a server that has failed from being asked by every batch. Reads and writes fail apart: a full server still answers.
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping

from worker.embedding.cache.breaker import MOST_S, Breaker
from worker.embedding.cache.frame import FrameCodec
from worker.embedding.cache.redis_address import address_of
from worker.embedding.cache.redis_client import RedisClient, RedisFailed
from worker.embedding.cache.redis_readers import Fetch, ReadPool
from worker.embedding.cache.redis_writer import RedisWriter, WriteEvents
from worker.embedding.cache.tally import Tally
from worker.embedding.model.space import EmbeddingSpace
from worker.embedding.model.vectors import Vector
from worker.runtime.stage import Crash
from worker.settings.tables import RedisTable

_NAME = "vectail"
_DRAW = random.SystemRandom().random
_WRITE_TIMEOUT_S = 2.0
_READ_TIMEOUT_S = 1.0
"""Beyond its budget, for a reader whose question was left and whose connection nobody cut."""


class RedisCache:
    """A vector that it returns is one that was put under the same digest in the same space.

    Thread: any; it has up to four of its own.
    """

    def __init__(
        self,
        table: RedisTable,
        space: EmbeddingSpace,
        *,
        say: Callable[[str], None],
        on_crash: Crash,
        clock: Callable[[], float] = time.monotonic,
        draw: Callable[[], float] = _DRAW,
    ) -> None:
        """Connects at first use. Raises RedisMisconfigured, which names the setting.

        `say` gets one line, on any thread, when somebody should know; `draw` a number from 0 to 1 (see Breaker).
        """
        self._address = address_of(table)
        self._budget_s = table.read_budget_s
        self._key_of = f"vectail:{space.id}:".encode("ascii")
        self._codec = FrameCodec(space.dim, normalized=space.normalize)
        self._say = say
        self._clock = clock
        self._closed = False
        self._said_refused = False
        self.tally = Tally()
        self._reads = Breaker(draw)
        self._writes = Breaker(draw)
        reading_s = table.read_budget_s + _READ_TIMEOUT_S
        self._readers = ReadPool(lambda: RedisClient(self._address, name=_NAME, timeout_s=reading_s), on_crash)
        self._pinger = RedisClient(self._address, name=_NAME, timeout_s=_READ_TIMEOUT_S)
        self._writer = RedisWriter(
            RedisClient(self._address, name=_NAME, timeout_s=_WRITE_TIMEOUT_S),
            self._writes,
            self.tally,
            ttl_s=table.ttl_s,
            queue_bytes=table.queue_bytes,
            clock=clock,
            news=WriteEvents(refused=self._writes_are_refused, taken=self._writes_are_taken, met=self._judge_memory),
            on_crash=on_crash,
        )

    def get_many(self, digests: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors that came within the budget; rows of one array, so copy what is kept for long."""
        wanted = list(dict.fromkeys(digests))
        if not wanted or self._closed:
            return {}
        admission = self._reads.admit(self._clock())
        if admission is None:
            self.tally.add(misses=len(wanted), skipped=len(wanted))
            return {}
        prefix = self._key_of
        keys = [prefix + digest.encode() for digest in wanted]
        fetch = self._readers.fetch(keys, self._budget_s)
        values = list(fetch.values)
        self._judge_read(fetch, admission, missing=len(keys) - len(values))
        decoded = self._codec.decode(keys[: len(values)], values)
        found = {digest: vector for digest, vector in zip(wanted, decoded.vectors, strict=False) if vector is not None}
        self.tally.add(hits=len(found), misses=len(wanted) - len(found), corrupt=decoded.corrupt)
        return found

    def put_many(self, vectors: Mapping[str, Vector]) -> None:
        """Hand vectors over to be written, copied; never waits. Raises ValueError for vectors of another dimension than the space's."""
        if not vectors:
            return
        if self._closed or self._writes.shut(self._clock()):
            self.tally.add(dropped=len(vectors))
            return
        keys = [self._key_of + digest.encode() for digest in vectors]
        frames = self._codec.encode(keys, list(vectors.values()))
        fit = [(key, frame) for key, frame in zip(keys, frames, strict=True) if frame is not None]
        self.tally.add(unfit=len(keys) - len(fit))
        self._writer.put(fit)

    def ping(self) -> None:
        """Return when it answers; one thread may call this. Raises RedisFailed."""
        for _ in self._pinger.get([self._key_of + b"ping"]):
            pass

    def close(self, within_s: float) -> None:
        """Write what waits, as long as there is time, and end the threads. From now on it only misses."""
        self._closed = True
        until_s = time.monotonic() + within_s
        self._writer.close(within_s)
        self._readers.close(max(until_s - time.monotonic(), 0.0))
        self._pinger.drop()

    def _judge_read(self, fetch: Fetch, admission: int, *, missing: int) -> None:
        if not missing or fetch.values:  # it answers, though perhaps not all that was asked for in time
            self.tally.add(late=missing)
            if self._reads.succeeded(admission):
                self._say(f"Redis ({self._address}) answers again: vectors are fetched and shared")
            return
        why = "no answer"
        if fetch.failure is not None and not fetch.left:
            self.tally.failed(fetch.failure.kind)
            why = str(fetch.failure)
        else:
            self.tally.add(late=missing)
            why = f"no answer within {self._budget_s * 1000:g} ms"
        if self._reads.failed(admission, self._clock()):
            self._say(f"Redis ({self._address}) is away: {why}; its vectors are computed anew; tried again within {MOST_S:g} s")

    def _writes_are_refused(self, failure: RedisFailed) -> None:
        # That it is away is said once, by those who read.
        if failure.refused:
            self._said_refused = True
            self._say(f"Redis ({self._address}) takes no vectors: {failure}; new ones are not shared; tried again within {MOST_S:g} s")

    def _writes_are_taken(self) -> None:
        if self._said_refused:
            self._said_refused = False
            self._say(f"Redis ({self._address}) takes vectors again")

    def _judge_memory(self, bound: tuple[int, str] | None) -> None:
        if bound is None:
            return
        maxmemory_bytes, policy = bound
        if maxmemory_bytes == 0:
            self._say(f"Redis ({self._address}) has no maxmemory: it may grow until the machine is full; set it, with allkeys-lfu")
        elif policy == "noeviction":
            self._say(
                f"Redis ({self._address}) has maxmemory-policy noeviction: it takes no vectors once it is full; allkeys-lfu makes room"
            )
