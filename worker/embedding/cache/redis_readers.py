"""The threads that read from Redis, so that a caller waits no longer than the read budget, whatever the network does.

Name look-up, TLS and a server that sends a byte at a time cannot be bounded where they happen. So a fetch goes to one of a few threads,
each with its own connection, and the caller leaves when its budget is used up. The connection on which a reply is then still pending
is cut: its thread is free again, and a late reply is never read as the reply to another fetch. A thread that is still connecting gets
longer (`STUCK_S`): otherwise a distant server would never be reached.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from worker.embedding.cache.redis_client import RedisClient, RedisFailed
from worker.runtime.stage import Crash, Stage

READ_WORKERS = 3
STUCK_S = 5.0


class Fetch:
    """One request; `values` is a prefix of what was asked for.

    Thread: its read worker writes, the caller reads after `done` is set or after it has abandoned the fetch.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.keys = keys
        self.values: list[bytes | None] = []
        self.failure: RedisFailed | None = None
        self.is_abandoned = False
        """The caller no longer waits."""
        self.done = threading.Event()


class ReadWorker:
    """One thread with its own connection, on which at most one fetch is under way.

    Thread: `run` its own; the rest any.
    """

    def __init__(self, client: RedisClient, fetches: "queue.SimpleQueue[Fetch | None]") -> None:
        self._client = client
        self._fetches = fetches
        self._lock = threading.Lock()
        self._fetch: Fetch | None = None
        self._is_sent = False
        self._since_s = 0.0

    @property
    def is_free(self) -> bool:
        """Whether it takes another fetch soon: it is idle, or the caller of its fetch still waits."""
        fetch = self._fetch
        return fetch is None or not fetch.is_abandoned

    def run(self) -> None:
        """Serve fetches until a None comes from the queue."""
        while (fetch := self._fetches.get()) is not None:
            if not fetch.is_abandoned:
                self._serve(fetch)
        self._client.close()

    def interrupt(self, fetch: Fetch, now: float) -> None:
        """Cut the connection if it waits for the first values of this fetch, or for anything longer than `STUCK_S`.

        Once values arrive the thread stops by itself.
        """
        with self._lock:
            if self._fetch is None:
                return
            if (self._fetch is fetch and self._is_sent and not fetch.values) or now - self._since_s > STUCK_S:
                self._client.drop()

    def _serve(self, fetch: Fetch) -> None:
        with self._lock:
            self._fetch, self._is_sent, self._since_s = fetch, False, time.monotonic()
        try:
            self._client.connect()
            with self._lock:
                self._is_sent = True
            for values in [] if fetch.is_abandoned else self._client.get(fetch.keys):
                fetch.values.extend(values)
                if fetch.is_abandoned:
                    break
        except RedisFailed as failure:
            fetch.failure = failure
        finally:
            with self._lock:
                self._fetch = None
            fetch.done.set()


class ReadPool:
    """At most `READ_WORKERS` threads, started when needed.

    Thread: any.
    """

    def __init__(self, new_client: Callable[[], RedisClient], on_crash: Crash) -> None:
        self._new_client = new_client
        self._on_crash = on_crash
        self._fetches: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open_fetches = 0
        self._workers: list[ReadWorker] = []
        self._stages: list[Stage] = []

    def fetch(self, keys: Sequence[bytes], within_s: float) -> Fetch:
        """Read values, waiting at most `within_s`; a fetch that is not done by then is abandoned."""
        fetch = Fetch(keys)
        with self._lock:
            self._open_fetches += 1
            if self._open_fetches > sum(worker.is_free for worker in self._workers) and len(self._workers) < READ_WORKERS:
                self._start_worker()
        self._fetches.put(fetch)
        try:
            if not fetch.done.wait(within_s):
                self._abandon(fetch)
        finally:
            with self._lock:
                self._open_fetches -= 1
        return fetch

    def close(self, within_s: float) -> None:
        """End the threads; cut the connection of one that does not end in time."""
        with self._lock:
            workers, stages = list(self._workers), list(self._stages)
        for _ in stages:
            self._fetches.put(None)
        until_s = time.monotonic() + within_s
        for stage in stages:
            stage.join(max(until_s - time.monotonic(), 0.0))
        for worker in workers:
            worker.interrupt(Fetch(()), float("inf"))

    def _start_worker(self) -> None:
        worker = ReadWorker(self._new_client(), self._fetches)
        stage = Stage(f"redis-read-{len(self._workers)}", worker.run, self._on_crash)
        self._workers.append(worker)
        self._stages.append(stage)
        stage.start()

    def _abandon(self, fetch: Fetch) -> None:
        fetch.is_abandoned = True
        now = time.monotonic()
        for worker in self._workers:
            worker.interrupt(fetch, now)
