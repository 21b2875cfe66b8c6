"""Index time as it runs: reads both clocks, and says when one of them cannot be believed.

Held by the sink. For a server, which counts by itself how long rows live, it never begins, and is the wall clock.
"""

import threading
from collections.abc import Callable

from sinks.milvus.index_time import Clocks, Dates, Moment, first_moment, next_moment, slack_ms

_DAY_MS = 86_400_000


class IndexClock:
    """Once it has begun, no step of the wall clock makes a block older (`sinks.milvus.index_time`).

    Thread: any.
    """

    def __init__(self, clocks: Callable[[], Clocks], say: Callable[[str], None]) -> None:
        """`say` takes one line where there is a retention."""
        self._clocks = clocks
        self._say = say
        self._retention_s: float | None = None
        self._last: Moment | None = None
        self._lock = threading.Lock()

    def begin(self, mark: str, dates: Dates | None, retention_s: float | None) -> None:
        """Begin where the mark of an earlier process, or the dates of what is stored, allow."""
        with self._lock:
            self._retention_s = retention_s
            self._last = first_moment(mark, dates, self._clocks(), slack_ms(retention_s))
            uncounted_ms = self._last.uncounted_ms
        if uncounted_ms and retention_s is not None:
            ahead = f"{_days(uncounted_ms)} {'after' if uncounted_ms > 0 else 'before'} the last time that this index knows of"
            self._say(f"the clock is {ahead}; that makes nothing older for index.retention_days, from now on time counts again")

    def look(self) -> Moment:
        """Return this moment."""
        with self._lock:
            clocks = self._clocks()
            if self._last is None:
                return Moment(clocks.wall_ms, clocks)
            moment = self._last = next_moment(self._last, clocks, slack_ms(self._retention_s))
        if moment.uncounted_ms and self._retention_s is not None:
            way = "forward" if moment.uncounted_ms > 0 else "back"
            self._say(f"the clock was set {way} by {_days(moment.uncounted_ms)}; that makes nothing older for index.retention_days")
        return moment


def _days(ms: float) -> str:
    return f"{abs(ms) / _DAY_MS:.4g} days"
