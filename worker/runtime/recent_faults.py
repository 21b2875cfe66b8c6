"""The last warnings and errors of this process, for people who look at its page instead of its log."""

import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple

MOST_FAULTS: Final = 100
_MOST_CHARACTERS: Final = 500


class Fault(NamedTuple):
    """One line, however often it came."""

    level: str
    """`warning` or `error`."""
    event: str
    last_s: float
    """When it came last, on the monotonic clock."""
    times: int
    """How often it came."""


class RecentFaults:
    """Holds at most `MOST_FAULTS` different lines; one that comes again moves to the end and is counted.

    Thread: any.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._faults: dict[tuple[str, str], Fault] = {}

    def note(self, level: str, event: str) -> None:
        """Remember a line; of a long one the beginning."""
        if len(event) > _MOST_CHARACTERS:
            event = f"{event[:_MOST_CHARACTERS]} …"
        now_s = self._clock()
        with self._lock:
            before = self._faults.pop((level, event), None)
            self._faults[level, event] = Fault(level, event, now_s, 1 if before is None else before.times + 1)
            if len(self._faults) > MOST_FAULTS:
                del self._faults[next(iter(self._faults))]

    def newest_first(self) -> list[Fault]:
        """Return what is remembered."""
        with self._lock:
            return list(reversed(self._faults.values()))
