"""The watchdog: an engine that no longer answers ends the worker instead of holding every record for ever.

The service asks it a few times a second. A native call that hangs cannot be ended from outside, and a GPU that hangs does not come
back by asking again; a new process can help, so the worker leaves and its supervisor starts it anew.
"""

import faulthandler
import sys
from collections.abc import Callable


class EngineHangs(Exception):
    """Ours: a batch is in the engine for longer than any batch takes."""


class Watchdog:
    """One batch may be in the engine for at most `hang_s` seconds.

    Thread: main.
    """

    def __init__(self, busy_since_s: Callable[[], float | None], *, hang_s: float) -> None:
        """`busy_since_s` says when the engine began with what it works on, None while it rests."""
        self._busy_since_s = busy_since_s
        self._hang_s = hang_s

    def check(self, now_s: float) -> None:
        """Raise EngineHangs, after the stacks of all threads were written to standard error."""
        since_s = self._busy_since_s()
        if since_s is not None and now_s - since_s > self._hang_s:
            faulthandler.dump_traceback(sys.stderr, all_threads=True)
            raise EngineHangs(f"the engine has not answered for {self._hang_s:g} s (engine.hang_s); the stacks are in the log")
