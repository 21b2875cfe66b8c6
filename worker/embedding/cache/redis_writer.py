"""The thread that writes to Redis what the embed step hands over; handing over never waits.

What waits is bounded in bytes, and what comes beyond is dropped and counted: a vector that is not shared costs somebody an embedding,
a vector that is waited for costs everybody. While the server does not take writes nothing is queued at all.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from worker.embedding.cache.breaker import Breaker
from worker.embedding.cache.redis_client import RedisClient, RedisFailed
from worker.embedding.cache.tally import Tally
from worker.runtime.stage import Crash, Stage

_BATCH_FRAMES = 256
PATIENCE_S = 10.0
"""A batch under way for longer is cut off by whoever hands over the next vectors."""

Frame = tuple[bytes, bytes]
"""Key and value."""


class WriteEvents(NamedTuple):
    """Who hears what becomes of writes.

    Thread: any.
    """

    refused: Callable[[RedisFailed], None]
    """No write succeeds any more, and why."""
    taken: Callable[[], None]
    """They do again."""
    met: Callable[[tuple[int, str] | None], None]
    """Once, at first contact: the server's bound of memory and its policy."""


class RedisWriter:
    """At most `queue_bytes` wait; every vector that is handed over is written, refused or dropped, and counted as such.

    Thread: any; it has one of its own.
    """

    def __init__(
        self,
        client: RedisClient,
        breaker: Breaker,
        tally: Tally,
        *,
        ttl_s: float,
        queue_bytes: int,
        clock: Callable[[], float],
        news: WriteEvents,
        on_crash: Crash,
    ) -> None:
        """`clock` is the breaker's; `news` is called on the writer's own thread."""
        self._client = client
        self._breaker = breaker
        self._tally = tally
        self._ttl_s = ttl_s
        self._queue_bytes = queue_bytes
        self._clock = clock
        self._news = news
        self._changed = threading.Condition()
        self._waiting: deque[Frame] = deque()
        self._waiting_bytes = 0
        self._busy_since_s: float | None = None
        self._met = False
        self._closing = False
        self._stage = Stage("redis-write", self._run, on_crash)
        self._stage.start()

    def put(self, frames: Sequence[Frame]) -> None:
        """Hand frames over; drops what there is no room for. Does not wait."""
        shut = self._breaker.shut(self._clock())
        taken = 0
        with self._changed:
            if not shut and not self._closing:
                for key, value in frames:
                    if self._waiting_bytes + len(key) + len(value) > self._queue_bytes:
                        break
                    self._waiting.append((key, value))
                    self._waiting_bytes += len(key) + len(value)
                    taken += 1
                self._changed.notify()
            stuck = self._busy_since_s is not None and time.monotonic() - self._busy_since_s > PATIENCE_S
        if stuck:
            self._client.drop()
        self._tally.add(dropped=len(frames) - taken)

    def close(self, within_s: float) -> None:
        """Write what waits, as long as there is time, and end the thread."""
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
        while batch := self._take():
            try:
                self._write(batch)
            finally:
                with self._changed:
                    self._busy_since_s = None
        self._client.close()

    def _take(self) -> list[Frame]:
        """Wait for frames; an empty list is the end."""
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
            self._meet()
            outcomes = self._client.set(batch, self._ttl_s)
        except RedisFailed as failure:
            outcomes = [failure] * len(batch)
            self._tally.failed(failure.kind)
        else:
            for outcome in outcomes:
                if outcome is not None:
                    self._tally.failed(outcome.kind)
        failures = [outcome for outcome in outcomes if outcome is not None]
        self._tally.add(written=len(outcomes) - len(failures), refused=len(failures))
        if len(failures) < len(batch):
            if self._breaker.succeeded(admission):
                self._news.taken()
        elif self._breaker.failed(admission, self._clock()):
            self._news.refused(failures[0])

    def _meet(self) -> None:
        if not self._met:
            bound = self._client.memory()
            self._met = True
            self._news.met(bound)
