"""The threads that read from Redis, so that whoever asks waits no longer than the budget, whatever the network does.

Name look-up, TLS and a server that sends a byte at a time cannot be bounded where they happen. So a question is handed to one of a few
threads, each with a connection of its own, and whoever asked leaves when the time is over. The connection on which the answer is then
still owed is cut: its thread is free again, and no late answer is ever read as another question's. While a thread still connects it is
left alone for longer (`PATIENCE_S`): a server that is far away would otherwise never be reached.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from worker.embedding.cache.redis_client import RedisClient, RedisFailed
from worker.runtime.stage import Crash, Stage

READERS = 3
PATIENCE_S = 5.0


class Fetch:
    """One question; what came in time is in `values`, a prefix of what was asked for.

    Thread: its reader writes, the one who asked reads after `wait`.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.keys = keys
        self.values: list[bytes | None] = []
        self.failure: RedisFailed | None = None
        self.left = False
        """Nobody waits any more."""
        self.done = threading.Event()


class ReadWorker:
    """One thread and its connection.

    Thread: `run` its own; `cut` any.
    """

    def __init__(self, client: RedisClient, questions: "queue.SimpleQueue[Fetch | None]") -> None:
        self._client = client
        self._questions = questions
        self._lock = threading.Lock()
        self._fetch: Fetch | None = None
        self._asked = False
        self._since_s = 0.0

    @property
    def is_free(self) -> bool:
        """Does it take the next question soon? Not while it waits for an answer that nobody waits for any more."""
        fetch = self._fetch
        return fetch is None or not fetch.left

    def run(self) -> None:
        """Answer until there is a None in the queue."""
        while (fetch := self._questions.get()) is not None:
            if not fetch.left:
                self._answer(fetch)
        self._client.close()

    def cut(self, fetch: Fetch, now: float) -> None:
        """Free the thread if it works on this fetch, or on anything for far too long; where answers come it stops by itself."""
        with self._lock:
            if self._fetch is None:
                return
            if (self._fetch is fetch and self._asked and not fetch.values) or now - self._since_s > PATIENCE_S:
                self._client.drop()

    def _answer(self, fetch: Fetch) -> None:
        with self._lock:
            self._fetch, self._asked, self._since_s = fetch, False, time.monotonic()
        try:
            self._client.connect()
            with self._lock:
                self._asked = True
            for values in [] if fetch.left else self._client.get(fetch.keys):
                fetch.values.extend(values)
                if fetch.left:
                    break
        except RedisFailed as failure:
            fetch.failure = failure
        finally:
            with self._lock:
                self._fetch = None
            fetch.done.set()


class ReadPool:
    """At most `READERS` threads, begun when they are needed.

    Thread: any.
    """

    def __init__(self, new_client: Callable[[], RedisClient], on_crash: Crash) -> None:
        self._new_client = new_client
        self._on_crash = on_crash
        self._questions: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._asking = 0
        self._readers: list[ReadWorker] = []
        self._stages: list[Stage] = []

    def fetch(self, keys: Sequence[bytes], within_s: float) -> Fetch:
        """Ask, and wait no longer than that. A fetch that is not done by then was left."""
        fetch = Fetch(keys)
        with self._lock:
            self._asking += 1
            if self._asking > sum(reader.is_free for reader in self._readers) and len(self._readers) < READERS:
                self._begin_one()
        self._questions.put(fetch)
        try:
            if not fetch.done.wait(within_s):
                self._leave(fetch)
        finally:
            with self._lock:
                self._asking -= 1
        return fetch

    def close(self, within_s: float) -> None:
        """End the threads; one that does not end in time is cut off and left to itself."""
        with self._lock:
            readers, stages = list(self._readers), list(self._stages)
        for _ in stages:
            self._questions.put(None)
        until_s = time.monotonic() + within_s
        for stage in stages:
            stage.join(max(until_s - time.monotonic(), 0.0))
        for reader in readers:
            reader.cut(Fetch(()), float("inf"))

    def _begin_one(self) -> None:
        reader = ReadWorker(self._new_client(), self._questions)
        stage = Stage(f"redis-read-{len(self._readers)}", reader.run, self._on_crash)
        self._readers.append(reader)
        self._stages.append(stage)
        stage.start()

    def _leave(self, fetch: Fetch) -> None:
        fetch.left = True
        now = time.monotonic()
        for reader in self._readers:
            reader.cut(fetch, now)
