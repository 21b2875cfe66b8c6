"""When the store threads try a busy sink again, and what the log says about it.

The threads share one `SinkRetry`, so that an outage is logged once: when rows are first refused, then once a minute, and when they are
accepted again. A sink that fails and recovers in turns (a rate limit) is also one line a minute.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import SystemRandom

BACK_OFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Longest pauses between attempts; the last one repeats. Each is cut by up to half at random, to spread threads and workers."""
REMIND_S = 60.0


@dataclass(slots=True, kw_only=True)
class SinkRetry:
    """An outage is at most one line a minute, and one at its end if a line said that it began.

    Thread: any.
    """

    say: Callable[[str], None]
    draw: Callable[[], float] = SystemRandom().random
    """A number from 0 to 1."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[int, int] = field(default_factory=dict)
    """Rows by the thread that holds them."""
    _began_s: float | None = None
    _said_s: float | None = None
    _is_logged: bool = False
    """Whether a line said that this outage began."""

    @property
    def is_busy(self) -> bool:
        """Whether some thread holds rows that the sink has refused."""
        return self._began_s is not None

    def pause_s(self, attempt: int) -> float:
        """Return how long to wait after an attempt, the first one being 0."""
        longest_s = BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)]
        return longest_s * (1 + self.draw()) / 2

    def refused(self, reason: str, rows: int, now_s: float) -> None:
        """Note that the sink has just refused `rows` rows, which this thread holds."""
        with self._lock:
            self._held[threading.get_ident()] = rows
            first = self._began_s is None
            if self._began_s is None:
                self._began_s, self._is_logged = now_s, False
            if self._said_s is not None and now_s - self._said_s < REMIND_S:
                return
            self._said_s, self._is_logged = now_s, True
            if first:
                self.say(f"the sink does not take rows ({reason}); holding them and trying again")
            else:
                held, lasting_s = sum(self._held.values()), now_s - self._began_s
                self.say(f"the sink has not taken rows for {lasting_s:.0f} s ({reason}); holding {held:,} rows and trying again")

    def taken(self, now_s: float) -> None:
        """Note that the sink has just accepted the rows which this thread held."""
        with self._lock:
            self._held.pop(threading.get_ident(), None)
            if self._held or self._began_s is None:
                return
            lasted_s, self._began_s = now_s - self._began_s, None
            if self._is_logged:
                self._said_s = now_s
                self.say(f"the sink takes rows again after {lasted_s:.0f} s")
