"""One outage of the sink, told once by all store threads together.

The store step asks it how long to pause and tells it of every refusal; it says so in the log when rows are first refused, then once a
minute, and when they are taken again. What fails and recovers in turns (a rate limit) is one line a minute too.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from random import SystemRandom

BACK_OFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Longest pauses between tries; the last one repeats. Each is cut by up to half, so that threads and workers do not come at once."""
REMIND_S = 60.0


@dataclass(slots=True, kw_only=True)
class Outage:
    """At most one line a minute while it lasts, and one at its end if its beginning was told.

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
    _told: bool = False

    def pause_s(self, attempt: int) -> float:
        """How long to wait after the try of this number, counted from 0."""
        longest_s = BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)]
        return longest_s * (1 + self.draw()) / 2

    def refused(self, reason: str, rows: int, now_s: float) -> None:
        """Note that this thread holds so many rows which were refused just now."""
        with self._lock:
            self._held[threading.get_ident()] = rows
            first = self._began_s is None
            if self._began_s is None:
                self._began_s, self._told = now_s, False
            if self._said_s is not None and now_s - self._said_s < REMIND_S:
                return
            self._said_s, self._told = now_s, True
            if first:
                self.say(f"the sink does not take rows ({reason}); holding them and trying again")
            else:
                held, lasting_s = sum(self._held.values()), now_s - self._began_s
                self.say(f"the sink has not taken rows for {lasting_s:.0f} s ({reason}); holding {held:,} rows and trying again")

    def taken(self, now_s: float) -> None:
        """Note that rows which this thread held were taken just now."""
        with self._lock:
            self._held.pop(threading.get_ident(), None)
            if self._held or self._began_s is None:
                return
            lasted_s, self._began_s = now_s - self._began_s, None
            if self._told:
                self._said_s = now_s
                self.say(f"the sink takes rows again after {lasted_s:.0f} s")
