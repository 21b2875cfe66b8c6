"""The second level: vectors that workers share through Redis or Valkey, under `vectail:{space}:{key}`.

Prepare reads it, embed fills it. The server may be away, slow, full, read-only or wrong: that costs only speed. A read takes at most the
budget, a write never waits; any failure is a miss or a drop, and is counted. Two circuit breakers keep batches from asking a failed
server. Reads and writes fail separately: a full server still answers. Embedding spaces share all of this; each has its own keys
(`worker.embedding.cache.redis_space`).
"""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from sinks.row import Vector
from worker.embedding.cache.breaker import LONGEST_WAIT_S, Breaker
from worker.embedding.cache.cache_tally import CacheTally
from worker.embedding.cache.redis_address import RedisFailed, address_of
from worker.embedding.cache.redis_reader import Fetch, RedisReader
from worker.embedding.cache.redis_space import RedisSpace
from worker.embedding.cache.redis_writer import QUEUE_BYTES, RedisWriter
from worker.embedding.model.space import CacheKey, EmbeddingSpace
from worker.runtime.stage import Crash
from worker.runtime.surroundings import Surroundings
from worker.settings.tables import RedisTable

_DRAW = random.SystemRandom().random
_WRITE_TIMEOUT_S = 2.0
_READ_TIMEOUT_S = 1.0
"""Added to the budget: the time limit of an abandoned read whose connection was not cut."""


class RedisCache:
    """A vector that it returns was put under the same key in the same space: its own, or that of a view that `for_space` returned.

    Thread: any; it has two of its own.
    """

    def __init__(
        self,
        table: RedisTable,
        space: EmbeddingSpace,
        surroundings: Surroundings,
        *,
        on_crash: Crash,
        draw: Callable[[], float] = _DRAW,
        queue_bytes: int = QUEUE_BYTES,
    ) -> None:
        """Connects at first use. Raises RedisMisconfigured, which names the setting.

        A change of the server's state is one line in the log; `draw` returns a number from 0 to 1 (see Breaker).
        """
        from worker.embedding.cache.redis_client import RedisClient  # noqa: PLC0415 - 0.15 s that a start without Redis need not take

        self._address = address_of(table)
        self._budget_s = table.read_budget_s
        self._secret = table.secret.get_secret_value()
        self._say = surroundings.say
        self._clock = surroundings.clock
        self._closed = False
        self._has_said_refused = False
        self.tally = CacheTally()
        self._reads = Breaker(draw)
        self._writes = Breaker(draw)
        self._reader = RedisReader(RedisClient(self._address, timeout_s=table.read_budget_s + _READ_TIMEOUT_S), on_crash)
        self._pinger = RedisClient(self._address, timeout_s=_READ_TIMEOUT_S)
        self._writer = RedisWriter(
            RedisClient(self._address, timeout_s=_WRITE_TIMEOUT_S),
            self._writes,
            self.tally,
            ttl_s=table.ttl_s,
            queue_bytes=queue_bytes,
            clock=surroundings.clock,
            on_change=self._note_writes,
            on_crash=on_crash,
        )
        self._own = self.for_space(space)

    def for_space(self, space: EmbeddingSpace) -> RedisSpace:
        """Return the vectors of another space: over the same connections, and counted in the same tally."""
        return RedisSpace(space, self._secret, fetch=self._fetch, is_taking=self._is_taking, write=self._writer.put, tally=self.tally)

    def get_many(self, keys: Iterable[CacheKey]) -> dict[CacheKey, Vector]:
        """See `RedisSpace`."""
        return self._own.get_many(keys)

    def put_many(self, vectors: Mapping[CacheKey, Vector]) -> None:
        """See `RedisSpace`."""
        self._own.put_many(vectors)

    def ping(self) -> None:
        """Return once the server answers; for one thread only. Raises RedisFailed."""
        for _ in self._pinger.get([b"vectail:ping"]):
            pass

    def close(self, within_s: float) -> None:
        """Write the queue within the time given and end the threads; afterwards every read misses."""
        self._closed = True
        until_s = time.monotonic() + within_s
        self._writer.close(within_s)
        self._reader.close(max(until_s - time.monotonic(), 0.0))
        self._pinger.drop()

    def _fetch(self, keys: Sequence[bytes]) -> Sequence[bytes | None] | None:
        """Return the values received within the budget, the first ones of those asked for; None: nothing is asked now."""
        if self._closed:
            return None
        admission = self._reads.admit(self._clock())
        if admission is None:
            self.tally.add(misses=len(keys), skipped=len(keys))
            return None
        fetch = self._reader.fetch(keys, self._budget_s)
        values = list(fetch.values)
        self._note_read(fetch, admission, missing=len(keys) - len(values))
        return values

    def _is_taking(self) -> bool:
        return not (self._closed or self._writes.would_reject(self._clock()))

    def _note_read(self, fetch: Fetch, admission: int, *, missing: int) -> None:
        if not missing or fetch.values:  # it answers, though perhaps not everything in time
            self.tally.add(late=missing)
            if self._reads.on_success(admission):
                self._say(f"Redis ({self._address}) answers again: vectors are fetched and shared")
            return
        if fetch.failure is not None and not fetch.is_abandoned:
            self.tally.add_error(fetch.failure.name)
            why = str(fetch.failure)
        else:
            self.tally.add(late=missing)
            why = f"no answer within {self._budget_s * 1000:g} ms"
        if self._reads.on_failure(admission, self._clock()):
            self._say(f"Redis ({self._address}) is away: {why}; its vectors are computed again; tried again within {LONGEST_WAIT_S:g} s")

    def _note_writes(self, failure: RedisFailed | None) -> None:
        if failure is None and self._has_said_refused:
            self._has_said_refused = False
            self._say(f"Redis ({self._address}) takes vectors again")
        elif failure is not None and failure.is_refusal:  # else it is away, which the reads say
            self._has_said_refused = True
            self._say(
                f"Redis ({self._address}) takes no vectors: {failure}; new ones are not shared; tried again within {LONGEST_WAIT_S:g} s"
            )
