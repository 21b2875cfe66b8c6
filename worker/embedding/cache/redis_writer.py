"""The thread that writes vectors to Redis; handing them over never waits.

The queue is bounded in bytes; vectors beyond the bound are dropped and counted. A dropped vector costs another worker one embedding;
waiting would slow down every batch. While the breaker is open nothing is written.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from worker.embedding.cache.breaker import Breaker
from worker.embedding.cache.cache_tally import CacheTally
from worker.embedding.cache.redis_address import RedisFailed
from worker.runtime.stage import Crash, Stage

if TYPE_CHECKING:
    from worker.embedding.cache.redis_client import RedisClient

QUEUE_BYTES: Final = 16 * 1024 * 1024
_BATCH_FRAMES: Final = 256

Frame = tuple[bytes, bytes]
"""Key and value."""


class RedisWriter:
    """At most `queue_bytes` wait; every vector is written, refused or dropped, and counted as such.

    Thread: any; it has its own, on which `on_change` is called.
    """

    def __init__(
        self,
        client: "RedisClient",
        breaker: Breaker,
        tally: CacheTally,
        *,
        ttl_s: float,
        queue_bytes: int,
        clock: Callable[[], float],
        on_change: Callable[[RedisFailed | None], None],
        on_crash: Crash,
    ) -> None:
        """`clock` is the breaker's; `on_change` gets the failure when writes begin to fail, and None when they succeed again."""
        self._client = client
        self._breaker = breaker
        self._tally = tally
        self._ttl_s = ttl_s
        self._queue_bytes = queue_bytes
        self._clock = clock
        self._on_change = on_change
        self._changed = threading.Condition()
        self._waiting: deque[Frame] = deque()
        self._waiting_bytes = 0
        self._closing = False
        self._stage = Stage("redis-write", self._run, on_crash)
        self._stage.start()

    def put(self, frames: Sequence[Frame]) -> None:
        """Queue frames; drops those that do not fit. Never waits."""
        queued = 0
        with self._changed:
            for key, value in () if self._closing else frames:
                if self._waiting_bytes + len(key) + len(value) > self._queue_bytes:
                    break
                self._waiting.append((key, value))
                self._waiting_bytes += len(key) + len(value)
                queued += 1
            self._changed.notify()
        self._tally.add(dropped=len(frames) - queued)

    def close(self, within_s: float) -> None:
        """Write the queue within the time given, drop the rest and end the thread."""
        until_s = time.monotonic() + within_s
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._stage.join(max(until_s - time.monotonic(), 0.0))
        with self._changed:
            left = len(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
        self._tally.add(dropped=left)
        if self._stage.is_alive():
            self._client.drop()

    def _run(self) -> None:
        while batch := self._next_batch():
            self._write(batch)
        self._client.close()

    def _next_batch(self) -> list[Frame]:
        """Wait for frames; empty when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH_FRAMES))]
            self._waiting_bytes -= sum(len(key) + len(value) for key, value in batch)
        return batch

    def _write(self, batch: list[Frame]) -> None:
        admission = self._breaker.admit(self._clock())
        if admission is None:
            self._tally.add(dropped=len(batch))
            return
        try:
            failures = [outcome for outcome in self._client.set(batch, self._ttl_s) if outcome is not None]
            for failure in failures:
                self._tally.add_error(failure.name)
        except RedisFailed as failure:
            failures = [failure] * len(batch)
            self._tally.add_error(failure.name)
        self._tally.add(written=len(batch) - len(failures), refused=len(failures))
        if len(failures) < len(batch):
            if self._breaker.on_success(admission):
                self._on_change(None)
        elif self._breaker.on_failure(admission, self._clock()):
            self._on_change(failures[0])
