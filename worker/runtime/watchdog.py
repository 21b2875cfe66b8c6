"""The watchdog: an engine that no longer answers ends the worker instead of holding every record for ever.

The service asks it a few times a second. A native call that hangs cannot be ended from outside, and a GPU that hangs does not come
back by asking again; a new process can help, so the worker leaves and its supervisor starts it anew. A process that stood still as a
whole (frozen, or on a machine that was asleep) has not seen its engine hang: only time in which the watchdog itself was asked counts.
"""

import faulthandler
import sys
from collections.abc import Callable

_MOST_A_CHECK_S = 1.0
"""What one check counts at most; the service asks five times as often."""


class EngineHangs(Exception):
    """Ours: a batch is in the engine for longer than any batch takes."""


class Watchdog:
    """One batch may be in the engine for at most `watchdog_s` seconds of this process's own life.

    Thread: main.
    """

    def __init__(self, busy_since_s: Callable[[], float | None], *, watchdog_s: float) -> None:
        """`busy_since_s` says when the engine began with what it works on, None while it rests."""
        self._busy_since_s = busy_since_s
        self._watchdog_s = watchdog_s
        self._since_s: float | None = None
        """When what is watched now began."""
        self._watched_s = 0.0
        self._last_s: float | None = None

    def check(self, now_s: float) -> None:
        """Raise EngineHangs, after the stacks of all threads were written to standard error."""
        since_s, last_s = self._busy_since_s(), self._last_s
        self._last_s = now_s
        if since_s != self._since_s:
            self._since_s, self._watched_s = since_s, 0.0
        if since_s is None:
            return
        self._watched_s += min(now_s - max(since_s, since_s if last_s is None else last_s), _MOST_A_CHECK_S)
        if self._watched_s > self._watchdog_s:
            faulthandler.dump_traceback(sys.stderr, all_threads=True)
            raise EngineHangs(f"the engine has not answered for {self._watchdog_s:g} s (engine.watchdog_s); the stacks are in the log")
