"""Watches a group's committed offsets: a position that goes back was moved by a member that does not own it."""

import threading
import time
from typing import Self

from tests.faults.topics import Committed, Topics

_PAUSE_S = 0.05


class CommitWatch:
    """Records each change of the committed offsets until the block ends; none may have gone back.

    Thread: one of its own; the test reads.
    """

    def __init__(self, topics: Topics) -> None:
        self.moved_back: list[tuple[Committed, Committed]] = []
        """Committed offsets before and after each step back."""
        self.longest_rest_s = 0.0
        """The longest time without a commit."""
        self._topics = topics
        self._over = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_more: object) -> None:
        self._over.set()
        self._thread.join()
        if kind is None:
            assert self._failed is None, self._failed
            assert self.moved_back == [], "a position went back"

    def _look(self) -> None:
        last, changed_s = self._topics.committed(), time.monotonic()
        while not self._over.wait(_PAUSE_S):
            try:
                committed = self._topics.committed()
            except AssertionError as failure:
                self._failed = failure
                return
            now_s = time.monotonic()
            self.longest_rest_s = max(self.longest_rest_s, now_s - changed_s)
            if any(committed[partition] < offset for partition, offset in last.items()):
                self.moved_back.append((last, committed))
            if committed != last:
                last, changed_s = committed, now_s
