"""Lanes: queues between two stages, urgent entries first.

An entry may be a batch; then it has a size, and the lane counts by sizes. Usual entries of several topics may share the lane by weight
(`worker.runtime.fair_share`). `put` never blocks: every entry belongs to open records, and the ledger caps those. One stage empties a
lane, on one thread or several. A lane ends in one of two ways: closed (what is inside is still taken) or abandoned (it is dropped).
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from worker.runtime.fair_share import FairQueue
from worker.runtime.histogram import Histogram

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Outlet(Protocol[T_contra]):
    """The end of a lane that a stage puts into."""

    def put(self, entries: Sequence[T_contra], *, urgent: bool = False) -> None:
        """Add entries; never blocks."""


class Inlet(Protocol):
    """The end of a lane that the service closes."""

    def close(self) -> None:
        """Nothing more will be put."""


class Lane(Generic[T]):
    """Every entry is taken once; urgent entries keep their order, and usual ones do, or each topic's do where topics share the lane.

    Thread: any.
    """

    def __init__(
        self,
        name: str,
        *,
        size: Callable[[T], int] = lambda _entry: 1,
        shared: FairQueue[T] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`size` says how much an entry counts for: how many records or lines it holds, 1 or more. `shared` becomes the lane's own."""
        self.name = name
        self.waits = Histogram()
        """Seconds that the first usual entry of each list taken had waited."""
        self._clock = clock
        self._size = size
        self._ready = threading.Condition()
        self._urgent: deque[T] = deque()
        self._shared = shared
        self._usual: deque[T] | FairQueue[T] = deque() if shared is None else shared
        self._waiting = 0
        """Sizes of all entries."""
        self._ages = QueueAges()
        """Of the usual entries."""
        self._woken = False
        self._closed = False
        self._abandoned = False

    def put(self, entries: Sequence[T], *, urgent: bool = False) -> None:
        """Add entries; never blocks. Raises RuntimeError once closed; drops them once abandoned."""
        if not entries:
            return
        size = sum(map(self._size, entries))
        with self._ready:
            if self._abandoned:
                return
            if self._closed:
                message = f"the {self.name} lane is closed; a stage before it is still running"
                raise RuntimeError(message)
            (self._urgent if urgent else self._usual).extend(entries)
            self._waiting += size
            if not urgent:
                self._note_arrived(entries, size)
            self._ready.notify()

    def take(self, most: int, *, wait: bool = True, timeout_s: float | None = None) -> list[T] | None:
        """Return the first entries, urgent ones before usual ones, until their sizes reach `most`; None when closed and empty.

        An entry is never divided, so the last one may exceed `most`. [] only without `wait`, after `wake`, or when nothing has come for
        `timeout_s`.
        """
        with self._ready:
            if wait:
                self._ready.wait_for(lambda: self._urgent or self._usual or self._closed or self._woken, timeout_s)
            self._woken = False
            taken: list[T] = []
            urgent = self._move(self._urgent, taken, most)
            urgent_entries = len(taken)
            usual = self._move(self._usual, taken, most - urgent)
            self._waiting -= urgent + usual
            if usual:
                self.waits.add(self._clock() - self._note_left(taken[urgent_entries:], usual))
            return taken if taken or not self._closed else None

    def wake(self) -> None:
        """End the current wait in `take`, or else the next one: the stage has something else to do."""
        with self._ready:
            self._woken = True
            self._ready.notify()

    def close(self) -> None:
        """Nothing more will be put; `take` returns the rest, then None."""
        with self._ready:
            self._closed = True
            self._ready.notify_all()

    def abandon(self) -> None:
        """Close and drop what is inside: its receipts stay open, so nothing of it is committed."""
        with self._ready:
            self._closed = self._abandoned = True
            self._urgent.clear()
            self._usual.clear()
            self._waiting = 0
            self._ages.clear()
            self._ready.notify_all()

    @property
    def is_abandoned(self) -> bool:
        """Whether the entries were dropped; then the stage may drop what it holds, too."""
        return self._abandoned

    def __len__(self) -> int:
        """Return the sizes of all entries."""
        return self._waiting

    def _note_arrived(self, entries: Sequence[T], size: int) -> None:
        if self._shared is None:
            self._ages.arrived(size, self._clock())
            return
        now_s = self._clock()
        for entry in entries:
            self._ages.arrived(self._size(entry), now_s, self._shared.topic_of(entry))

    def _note_left(self, taken: Sequence[T], size: int) -> float:
        """Return when the first of these entries arrived."""
        if self._shared is None:
            return self._ages.left(size)
        arrived_s = [self._ages.left(self._size(entry), self._shared.topic_of(entry)) for entry in taken]
        return arrived_s[0]

    def _move(self, queue: deque[T] | FairQueue[T], taken: list[T], most: int) -> int:
        """Move entries until their sizes reach `most`; return the sum of the sizes."""
        size = 0
        while queue and size < most:
            taken.append(queue.popleft())
            size += self._size(taken[-1])
        return size


class QueueAges:
    """When the first entry of each topic in a queue arrived, kept per list and not per entry. Entries count by their sizes.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(self) -> None:
        self._arrived: dict[str, deque[tuple[int, float]]] = {}
        """By topic and list: how many of its entries are left, and when they arrived."""

    def arrived(self, entries: int, now_s: float, topic: str = "") -> None:
        """Add entries at the end of the topic's queue."""
        if entries:
            self._arrived.setdefault(topic, deque()).append((entries, now_s))

    def left(self, entries: int, topic: str = "") -> float:
        """Remove the topic's first `entries`, at least one; return when the first of them arrived."""
        arrived = self._arrived[topic]
        first_s = arrived[0][1]
        while entries:
            remaining, since_s = arrived.popleft()
            if remaining > entries:
                arrived.appendleft((remaining - entries, since_s))
            entries -= min(remaining, entries)
        return first_s

    def clear(self) -> None:
        """Remove all entries."""
        self._arrived.clear()
