"""The watchdog: an engine that no longer answers ends the worker, so that records are not held without end.

The service calls it a few times a second. A native call that hangs cannot be ended from outside, and a hung GPU does not recover by
trying again; a new process can help, so the worker exits and its supervisor restarts it. When the whole process stood still (frozen, or
on a machine that slept), the engine did not hang: only time in which the watchdog itself was called counts.
"""

import faulthandler
import sys
from collections.abc import Callable, Iterable
from typing import Protocol

_MOST_A_CHECK_S = 1.0
"""Most seconds that one check counts; the service checks five times as often."""


class EngineHangs(Exception):
    """A batch has been in the engine for longer than `engine.watchdog_s`."""


class WatchedEngine(Protocol):
    """An engine, as far as it is watched."""

    busy_since_s: float | None
    """When it began its current batch; None while it is idle."""


def oldest(engines: Iterable[WatchedEngine]) -> float | None:
    """Return when the oldest batch that is in any engine began: one that hangs becomes that, and stays it."""
    return min((since_s for engine in engines if (since_s := engine.busy_since_s) is not None), default=None)


class Watchdog:
    """One batch may be in the engine for at most `watchdog_s` seconds of this process's own life.

    Thread: main.
    """

    def __init__(self, busy_since_s: Callable[[], float | None], *, watchdog_s: float) -> None:
        """`busy_since_s` returns when the engine began its current batch, None while it is idle."""
        self._busy_since_s = busy_since_s
        self._watchdog_s = watchdog_s
        self._since_s: float | None = None
        """When the watched batch began."""
        self._watched_s = 0.0
        self._last_s: float | None = None

    def check(self, now_s: float) -> None:
        """Raise EngineHangs if the batch takes too long, after writing the stacks of all threads to standard error."""
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
