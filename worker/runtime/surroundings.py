"""What every step of a worker runs in: its clocks, its log, its end, and the fail points of fault tests.

`worker.service.service` makes one and hands it to every part. The defaults are real clocks, no log, and a worker that never ends.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from worker.runtime.fair_lock import FairLock


def wall_ms() -> float:
    """Return milliseconds since 1970."""
    return time.time() * 1000


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Callables that any thread may call."""

    clock: Callable[[], float] = time.monotonic
    """Seconds, as `time.monotonic`."""
    wall_ms: Callable[[], float] = wall_ms
    """Milliseconds since 1970."""
    say: Callable[[str], None] = lambda _line: None
    """Takes one line for the log."""
    pause: Callable[[float], bool] = _sleep
    """Waits for some seconds; returns True, at once, when the worker gives up what is in hand."""
    is_abandoned: Callable[[], bool] = lambda: False
    """Whether the worker has given up what is in hand."""
    fail_point: Callable[[str], None] = lambda _point: None
    """Called with the name of each point that is passed (`worker.runtime.fail_point`)."""
    computing: AbstractContextManager[object] = field(default_factory=FairLock)
    """Held while columns are computed or blocks built, so that the threads take turns."""
