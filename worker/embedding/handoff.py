"""One batch ahead: what lies between the thread that forms batches and the thread that computes them.

The embed stage offers, the engine stage takes. At most two batches are out: one in the engine, and exactly one ready behind it, so
that the engine finds work the moment it is free. Until then the ready one may be taken back: a query that has just come must
not wait for a bulk batch that has not begun.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

B = TypeVar("B")
R = TypeVar("R")


class BatchHandoff(Generic[B, R]):
    """Every batch offered is computed once or taken back; results come in the order of the batches.

    Thread: `next` and `done` the engine stage's, `abandon` any, the rest the embed stage's.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        """`ring` wakes the embed stage: a batch was begun, or a result is there. It is called without the lock."""
        self._ring = ring
        self._changed = threading.Condition()
        self._ready: B | None = None
        self._in_work = False
        self._results: list[R] = []
        self._closed = False

    @property
    def wants(self) -> bool:
        """Whether there is room for a ready batch."""
        with self._changed:
            return self._ready is None and not self._closed

    @property
    def has_results(self) -> bool:
        """Whether `results` would return something."""
        with self._changed:
            return bool(self._results)

    @property
    def is_idle(self) -> bool:
        """Whether everything that was offered has come back and was collected."""
        with self._changed:
            return self._ready is None and not self._in_work and not self._results

    def offer(self, batch: B) -> None:
        """Make a batch the ready one; only while it `wants` one. After `abandon` it is forgotten."""
        with self._changed:
            if self._ready is not None:
                raise RuntimeError("a batch stands ready already")
            self._ready = None if self._closed else batch
            self._changed.notify_all()

    def take_back(self) -> B | None:
        """Take the ready batch back, if there is one that the engine has not begun."""
        with self._changed:
            batch, self._ready = self._ready, None
            return batch

    def results(self) -> list[R]:
        """Collect what has been computed since the last call."""
        with self._changed:
            found, self._results = self._results, []
            return found

    def wait(self, *, until_wants: bool) -> None:
        """Wait for a result; with `until_wants` also for room for a ready batch; not when nothing is out, and not once abandoned."""
        with self._changed:
            while not self._results and not self._closed and (self._in_work or self._ready is not None):
                if until_wants and self._ready is None:
                    return
                self._changed.wait()

    def close(self) -> None:
        """Nothing more will be offered; the engine stage ends after the ready batch."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Close, and forget the ready batch: its receipts stay open."""
        with self._changed:
            self._closed = True
            self._ready = None
            self._changed.notify_all()
        self._ring()

    def next(self, *, wait: bool = True) -> B | None:
        """Begin the ready batch; waits for one. None when closed and none is ready, or without `wait` when none is ready."""
        with self._changed:
            while wait and self._ready is None and not self._closed:
                self._changed.wait()
            batch, self._ready = self._ready, None
            self._in_work = batch is not None
            self._changed.notify_all()
        if batch is not None:
            self._ring()
        return batch

    def done(self, result: R) -> None:
        """Hand over the result of the batch that `next` gave."""
        with self._changed:
            self._in_work = False
            self._results.append(result)
            self._changed.notify_all()
        self._ring()
