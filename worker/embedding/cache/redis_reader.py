"""The thread that reads from Redis, so that a caller waits no longer than the read budget, whatever the network does.

Name look-up, TLS and a server that sends a byte at a time cannot be bounded where they happen. So a caller leaves when its budget is used
up, and the connection on which a reply is then still pending is cut: the thread is free again, and a late reply is never read as the
reply to another fetch. A thread that is still connecting gets longer (`_STUCK_S`): otherwise a distant server would never be reached.
"""

import queue
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from worker.embedding.cache.redis_address import RedisFailed
from worker.runtime.stage import Crash, Stage

if TYPE_CHECKING:
    from worker.embedding.cache.redis_client import RedisClient

_STUCK_S: Final = 5.0


class Fetch:
    """One request; `values` is a prefix of what was asked for.

    Thread: the reader writes, the caller reads after `done` is set or after it has abandoned the fetch.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.keys = keys
        self.values: list[bytes | None] = []
        self.failure: RedisFailed | None = None
        self.is_abandoned = False
        """The caller no longer waits."""
        self.is_sent = False
        self.since_s = 0.0
        """When the reader took it."""
        self.done = threading.Event()


class RedisReader:
    """One thread with its own connection, on which at most one fetch is under way; the next ones wait for it.

    Thread: any; it has its own.
    """

    def __init__(self, client: "RedisClient", on_crash: Crash) -> None:
        self._client = client
        self._fetches: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._current: Fetch | None = None
        self._stage = Stage("redis-read", self._run, on_crash)
        self._stage.start()

    def fetch(self, keys: Sequence[bytes], within_s: float) -> Fetch:
        """Read values, waiting at most `within_s`; a fetch that is not done by then is abandoned."""
        fetch = Fetch(keys)
        self._fetches.put(fetch)
        if not fetch.done.wait(within_s):
            fetch.is_abandoned = True
            self._interrupt(fetch)
        return fetch

    def close(self, within_s: float) -> None:
        """End the thread; cuts its connection if it does not end in time."""
        self._fetches.put(None)
        self._stage.join(within_s)
        if self._stage.is_alive():
            self._client.drop()

    def _interrupt(self, fetch: Fetch) -> None:
        """Cut the connection if it waits for values of this fetch, or for anything longer than `_STUCK_S`."""
        with self._lock:
            current = self._current
            if current is None:
                return
            if (current is fetch and current.is_sent) or time.monotonic() - current.since_s > _STUCK_S:
                self._client.drop()

    def _run(self) -> None:
        while (fetch := self._fetches.get()) is not None:
            if not fetch.is_abandoned:
                self._serve(fetch)
        self._client.close()

    def _serve(self, fetch: Fetch) -> None:
        fetch.since_s = time.monotonic()
        with self._lock:
            self._current = fetch
        try:
            self._client.connect()
            with self._lock:
                fetch.is_sent = True
            for values in [] if fetch.is_abandoned else self._client.get(fetch.keys):
                fetch.values.extend(values)
                if fetch.is_abandoned:
                    break
        except RedisFailed as failure:
            fetch.failure = failure
        finally:
            with self._lock:
                self._current = None
            fetch.done.set()
