"""How many rows the index has: asked now and then while somebody looks, because counting them takes the index some work."""

import threading
from collections.abc import Callable
from typing import Final

from sinks.sink import Sink, SinkBroken, SinkBusy, SinkCounts

_EVERY_S: Final = 10.0


class IndexCounts:
    """The last count that the index gave.

    Thread: `body` its own; the rest from any.
    """

    def __init__(self, sink: Sink, *, clock: Callable[[], float], every_s: float = _EVERY_S) -> None:
        self._sink = sink
        self._clock = clock
        self._every_s = every_s
        self._wish = threading.Event()
        self._is_stopped = False
        self._counts: SinkCounts | None = None
        self._asked_s: float | None = None

    def last(self) -> SinkCounts | None:
        """Return the last count, None if there is none yet, and have a new one made if it is old. Never waits."""
        if self._asked_s is None or self._clock() - self._asked_s >= self._every_s:
            self._wish.set()
        return self._counts

    def body(self) -> None:
        """Count on demand until `stop`."""
        while self._wish.wait() and not self._is_stopped:
            self._wish.clear()
            self.count()

    def count(self) -> None:
        """Count now; an index that does not answer leaves the last count as it is."""
        self._asked_s = self._clock()
        try:
            self._counts = self._sink.counts()
        except (SinkBusy, SinkBroken):
            return

    def stop(self) -> None:
        """Count no more."""
        self._is_stopped = True
        self._wish.set()
