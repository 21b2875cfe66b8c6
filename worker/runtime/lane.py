"""Lanes: where lists wait between two stages, urgent ones first.

`put` never blocks: everything inside carries an open receipt, and the ledger caps those. A lane is emptied by one stage
(prepare: by several threads of it). It ends in one of two ways: closed (what is inside is still taken) or abandoned.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from worker.runtime.histogram import Histogram

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Outlet(Protocol[T_contra]):
    """The end of a lane that a stage puts into."""

    def put(self, entries: Sequence[T_contra], *, urgent: bool = False) -> None:
        """Add a list; never blocks."""


class Inlet(Protocol):
    """The end of a lane that the service closes."""

    def close(self) -> None:
        """Nothing more will be put."""


class Lane(Generic[T]):
    """What was put in is taken out once, in order within its urgency.

    Thread: any.
    """

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = name
        self.waits = Histogram()
        """Seconds: how long the first usual entry of each list that was taken had been inside."""
        self._clock = clock
        self._ready = threading.Condition()
        self._urgent: deque[T] = deque()
        self._usual: deque[T] = deque()
        self._ages = QueueAges()
        """Of the usual entries."""
        self._rung = False
        self._closed = False
        self._abandoned = False

    def put(self, entries: Sequence[T], *, urgent: bool = False) -> None:
        """Add a list; never blocks. After `close` that is an error; after `abandon` it is forgotten."""
        if not entries:
            return
        with self._ready:
            if self._abandoned:
                return
            if self._closed:
                message = f"the {self.name} lane is closed; a stage before it is still running"
                raise RuntimeError(message)
            (self._urgent if urgent else self._usual).extend(entries)
            if not urgent:
                self._ages.came(len(entries), self._clock())
            self._ready.notify()

    def take(self, most: int, *, wait: bool = True) -> list[T] | None:
        """Return up to `most` entries, urgent ones first; [] only without `wait` or when rung for; None when closed and empty."""
        with self._ready:
            while wait and not (self._urgent or self._usual or self._closed or self._rung):
                self._ready.wait()
            self._rung = False
            taken = [self._urgent.popleft() for _ in range(min(most, len(self._urgent)))]
            usual = min(most - len(taken), len(self._usual))
            taken += [self._usual.popleft() for _ in range(usual)]
            if usual:
                self.waits.add(self._clock() - self._ages.gone(usual))
            return taken if taken or not self._closed else None

    def ring(self) -> None:
        """Let the stage that takes from here return from its wait, or not begin the next: it has something else to do."""
        with self._ready:
            self._rung = True
            self._ready.notify()

    def close(self) -> None:
        """Nothing more will be put; whoever takes gets the rest, then None."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()

    def abandon(self) -> None:
        """Close and forget what is inside: its receipts stay open, so nothing of it is committed."""
        with self._ready:
            self._closed = self._abandoned = True
            self._urgent.clear()
            self._usual.clear()
            self._ages.clear()
            self._ready.notify_all()

    @property
    def is_abandoned(self) -> bool:
        """Whether what was inside is forgotten: the stage may forget what it holds, too."""
        return self._abandoned

    def __len__(self) -> int:
        return len(self._urgent) + len(self._usual)


class QueueAges:
    """Entries leave in the order in which they came.

    Thread: one at a time; its owner's lock.
    """

    def __init__(self) -> None:
        self._came: deque[tuple[int, float]] = deque()
        """How many are left of each list, and since when."""

    def came(self, entries: int, now_s: float) -> None:
        """A list has come."""
        if entries:
            self._came.append((entries, now_s))

    def gone(self, entries: int) -> float:
        """Let so many go, at least one; return since when the first of them was there."""
        first_s = self._came[0][1]
        while entries:
            left, since_s = self._came.popleft()
            if left > entries:
                self._came.appendleft((left - entries, since_s))
            entries -= min(left, entries)
        return first_s

    def clear(self) -> None:
        """Nothing is there any more."""
        self._came.clear()
