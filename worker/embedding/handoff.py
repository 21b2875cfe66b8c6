"""Hands batches from the thread that forms them to the thread that computes them, with one batch ready in advance.

The embed stage offers, the engine stage computes. At most two batches are in flight: one in the engine and one ready behind it, so that a
free engine finds work at once. The embed stage may withdraw the ready batch until the engine begins it: a new query must not wait
for a bulk batch that has not begun.
"""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

B = TypeVar("B")
R = TypeVar("R")


class BatchHandoff(Generic[B, R]):
    """An offered batch is computed once, withdrawn, or dropped by `abandon`; results come in the order of the batches.

    Thread: `begin_batch` and `finish_batch` the engine stage's, `abandon` any, the rest the embed stage's.
    """

    def __init__(self, wake_embed: Callable[[], None]) -> None:
        """`wake_embed` is called, without the lock, when a batch has begun, a result is there, or the handoff is abandoned."""
        self._wake_embed = wake_embed
        self._condition = threading.Condition()
        self._ready: B | None = None
        self._computing = False
        self._results: list[R] = []
        self._closed = False

    @property
    def has_room(self) -> bool:
        """Whether a batch may be offered."""
        with self._condition:
            return self._ready is None and not self._closed

    @property
    def has_results(self) -> bool:
        """Whether `take_results` would return something."""
        with self._condition:
            return bool(self._results)

    @property
    def is_idle(self) -> bool:
        """Whether every batch that was offered has been computed and its result taken, or was withdrawn."""
        with self._condition:
            return self._ready is None and not self._computing and not self._results

    def offer_batch(self, batch: B) -> None:
        """Make a batch the ready one. Raises RuntimeError if one is ready already; drops the batch once closed or abandoned."""
        with self._condition:
            if self._ready is not None:
                raise RuntimeError("a batch is already ready")
            self._ready = None if self._closed else batch
            self._condition.notify_all()

    def withdraw_batch(self) -> B | None:
        """Take the ready batch back; None if there is none or the engine has begun it."""
        with self._condition:
            batch, self._ready = self._ready, None
            return batch

    def take_results(self) -> list[R]:
        """Return what has been computed since the last call."""
        with self._condition:
            found, self._results = self._results, []
            return found

    def wait_for_result(self, *, or_room: bool) -> None:
        """Wait for a result, or, with `or_room`, for a free slot; returns at once if no batch is in flight, or when closed or abandoned."""
        with self._condition:
            while not self._results and not self._closed and (self._computing or self._ready is not None):
                if or_room and self._ready is None:
                    return
                self._condition.wait()

    def close(self) -> None:
        """Nothing more will be offered; the engine stage ends after the ready batch. Called by the embed stage, so it wakes nothing."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def abandon(self) -> None:
        """Close, and drop the ready batch: its records stay open, so they will be read again."""
        with self._condition:
            self._closed = True
            self._ready = None
            self._condition.notify_all()
        self._wake_embed()

    def begin_batch(self, *, wait: bool = True) -> B | None:
        """Take the ready batch to compute it; None if there is none: at once without `wait`, else only when closed."""
        with self._condition:
            while wait and self._ready is None and not self._closed:
                self._condition.wait()
            batch, self._ready = self._ready, None
            self._computing = batch is not None
            self._condition.notify_all()
        if batch is not None:
            self._wake_embed()
        return batch

    def finish_batch(self, result: R) -> None:
        """Hand over the result of the batch that `begin_batch` returned."""
        with self._condition:
            self._computing = False
            self._results.append(result)
            self._condition.notify_all()
        self._wake_embed()
