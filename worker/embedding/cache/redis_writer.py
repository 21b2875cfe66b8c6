"""The thread that writes vectors to Redis; handing them over never waits.

The queue is bounded in bytes; vectors beyond the bound are dropped and counted. A dropped vector costs another worker one embedding;
waiting would slow down every batch. While the breaker is open nothing is queued.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from worker.embedding.cache.breaker import Breaker
from worker.embedding.cache.redis_client import RedisClient, RedisFailed
from worker.embedding.cache.tally import CacheTally
from worker.runtime.stage import Crash, Stage

_BATCH_FRAMES = 256
STUCK_S = 10.0
"""The next `put` cuts the connection of a batch that has been under way for longer."""

Frame = tuple[bytes, bytes]
"""Key and value."""


class WriteEvents(NamedTuple):
    """Callbacks of the writer, on its own thread."""

    on_refused: Callable[[RedisFailed], None]
    """Writes fail from now on, for this reason."""
    on_accepted: Callable[[], None]
    """Writes succeed again."""
    on_first_contact: Callable[[tuple[int, str] | None], None]
    """Called once, with the server's `maxmemory` in bytes and its policy, or None if it does not tell."""


class RedisWriter:
    """At most `queue_bytes` wait; every vector is written, refused or dropped, and counted as such.

    Thread: any; it has its own.
    """

    def __init__(
        self,
        client: RedisClient,
        breaker: Breaker,
        tally: CacheTally,
        *,
        ttl_s: float,
        queue_bytes: int,
        clock: Callable[[], float],
        events: WriteEvents,
        on_crash: Crash,
    ) -> None:
        """`clock` is the breaker's."""
        self._client = client
        self._breaker = breaker
        self._tally = tally
        self._ttl_s = ttl_s
        self._queue_bytes = queue_bytes
        self._clock = clock
        self._events = events
        self._changed = threading.Condition()
        self._waiting: deque[Frame] = deque()
        self._waiting_bytes = 0
        self._busy_since_s: float | None = None
        self._has_contact = False
        self._closing = False
        self._stage = Stage("redis-write", self._run, on_crash)
        self._stage.start()

    def put(self, frames: Sequence[Frame]) -> None:
        """Queue frames; drops those that do not fit. Never waits."""
        rejected = self._breaker.would_reject(self._clock())
        queued = 0
        with self._changed:
            if not rejected and not self._closing:
                for key, value in frames:
                    if self._waiting_bytes + len(key) + len(value) > self._queue_bytes:
                        break
                    self._waiting.append((key, value))
                    self._waiting_bytes += len(key) + len(value)
                    queued += 1
                self._changed.notify()
            stuck = self._busy_since_s is not None and time.monotonic() - self._busy_since_s > STUCK_S
        if stuck:
            self._client.drop()
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
            try:
                self._write(batch)
            finally:
                with self._changed:
                    self._busy_since_s = None
        self._client.close()

    def _next_batch(self) -> list[Frame]:
        """Wait for frames; empty when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), _BATCH_FRAMES))]
            self._waiting_bytes -= sum(len(key) + len(value) for key, value in batch)
            self._busy_since_s = time.monotonic()
        return batch

    def _write(self, batch: list[Frame]) -> None:
        admission = self._breaker.admit(self._clock())
        if admission is None:
            self._tally.add(dropped=len(batch))
            return
        try:
            self._read_memory_limit()
            outcomes = self._client.set(batch, self._ttl_s)
        except RedisFailed as failure:
            outcomes = [failure] * len(batch)
            self._tally.add_error(failure.name)
        else:
            for outcome in outcomes:
                if outcome is not None:
                    self._tally.add_error(outcome.name)
        failures = [outcome for outcome in outcomes if outcome is not None]
        self._tally.add(written=len(outcomes) - len(failures), refused=len(failures))
        if len(failures) < len(batch):
            if self._breaker.on_success(admission):
                self._events.on_accepted()
        elif self._breaker.on_failure(admission, self._clock()):
            self._events.on_refused(failures[0])

    def _read_memory_limit(self) -> None:
        if not self._has_contact:
            limit = self._client.memory_limit()
            self._has_contact = True
            self._events.on_first_contact(limit)
