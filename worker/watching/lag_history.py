"""How far behind each partition was in the last minutes: what a page draws.

The watch of the worker's own partitions adds to it in its rhythm, and each look at the whole group adds too, so that a page which has just
been opened has some past to show.
"""

import threading
from collections import deque
from typing import Final

from consumers.record import Partition

MOST_POINTS: Final = 120
_LEAST_APART_MS: Final = 1_500
"""Of two points that are nearer than this the first one stays."""
_SET_BACK_MS: Final = 60_000
"""No look at a group takes so long that its point comes so late."""


class LagHistory:
    """At most `MOST_POINTS` points of each partition of each group, in the order of time.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[tuple[str, Partition], deque[tuple[int, int]]] = {}

    def add_point(self, group: str, partition: Partition, at_ms: int, records: int) -> None:
        """Note the lag of a partition in records; one that is not later than the last one is left out.

        If it is much earlier, the clock was set back, and the points that are later go.
        """
        with self._lock:
            points = self._points.setdefault((group, partition), deque(maxlen=MOST_POINTS))
            while points and points[-1][0] - at_ms > _SET_BACK_MS:
                points.pop()
            if not points or at_ms - points[-1][0] >= _LEAST_APART_MS:
                points.append((at_ms, records))

    def points(self, group: str, partition: Partition) -> list[tuple[int, int]]:
        """Return milliseconds since 1970 and records, oldest first."""
        with self._lock:
            return list(self._points.get((group, partition), ()))

    def forget_all_but(self, group: str, partitions: frozenset[Partition]) -> None:
        """Forget the partitions of a group that are gone."""
        with self._lock:
            for key in [key for key in self._points if key[0] == group and key[1] not in partitions]:
                del self._points[key]
