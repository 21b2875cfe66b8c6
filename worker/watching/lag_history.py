"""How far behind each partition was in the last minutes: what a page draws, and what `worker.watching.outlook` judges.

The watch of the worker's own partitions adds to it in its rhythm, and each look at the whole group adds too, so that a page which has just
been opened has some past to show.
"""

import threading
from collections import deque
from typing import Final, NamedTuple

from consumers.record import Partition
from worker.watching.group_offsets import GroupPosition

MOST_POINTS: Final = 120
_LEAST_APART_MS: Final = 1_500
"""Of two points that are nearer than this the first one stays."""
_SET_BACK_MS: Final = 60_000
"""No look at a group takes so long that its point comes so late."""


class LagPoint(NamedTuple):
    """Where a group stood in one partition at one moment."""

    at_s: float
    """Seconds on the monotonic clock."""
    at_ms: int
    """Milliseconds since 1970."""
    committed: int | None
    """None: never committed."""
    end_offset: int
    records: int
    """That wait."""


def point_of(position: GroupPosition, at_s: float, at_ms: int) -> LagPoint:
    """Return a position as a point."""
    return LagPoint(at_s, at_ms, position.committed, position.end_offset, position.lag_records)


class LagHistory:
    """At most `MOST_POINTS` points of each partition of each group, in the order of time.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[tuple[str, Partition], deque[LagPoint]] = {}

    def add_point(self, group: str, partition: Partition, point: LagPoint) -> None:
        """Note where a group stands in a partition; a point that is not later than the last one is left out.

        If it is much earlier, the clock was set back, and the points that are later go.
        """
        at_ms = point.at_ms
        with self._lock:
            points = self._points.setdefault((group, partition), deque(maxlen=MOST_POINTS))
            while points and points[-1].at_ms - at_ms > _SET_BACK_MS:
                points.pop()
            if not points or at_ms - points[-1].at_ms >= _LEAST_APART_MS:
                points.append(point)

    def course_until(self, group: str, partition: Partition, now: LagPoint) -> list[LagPoint]:
        """Return the points that were earlier, oldest first, and `now`."""
        with self._lock:
            points = self._points.get((group, partition), ())
            return [*(one for one in points if one.at_ms < now.at_ms and one.at_s < now.at_s), now][-MOST_POINTS:]

    def forget_all_but(self, group: str, partitions: frozenset[Partition]) -> None:
        """Forget the partitions of a group that are gone."""
        with self._lock:
            for key in [key for key in self._points if key[0] == group and key[1] not in partitions]:
                del self._points[key]
