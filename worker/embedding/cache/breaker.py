"""A circuit breaker: decides when to ask a failed server again. It has no clock of its own.

    closed    -- `FAILURES` in a row ----------------> open, for a while
    open      -- that time is over: admits one call -> half-open
    half-open -- the call succeeds ------------------> closed
    half-open -- the call fails ---------------------> open, for about twice as long as before

`worker.embedding.cache.redis_cache` has one for reads and one for writes: a replica or a full server refuses writes but still answers
reads.
"""

import threading
from collections.abc import Callable

FAILURES = 3
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0


class Breaker:
    """Half-open, it admits exactly one call; the outcome of a call admitted before the last change of state is ignored.

    Thread: any.
    """

    def __init__(self, draw: Callable[[], float]) -> None:
        """`draw` returns a number from 0 to 1: it spreads waits over their upper half, so that many workers do not return at once."""
        self._draw = draw
        self._lock = threading.Lock()
        self._term = 0
        self._failures = 0
        self._openings = 0
        self._retry_s: float | None = None
        """When the next call is admitted; None while closed."""
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether it is open or half-open."""
        return self._retry_s is not None

    def would_reject(self, now: float) -> bool:
        """Whether `admit` would return None now; admits nothing."""
        with self._lock:
            return self._retry_s is not None and (self._probing or now < self._retry_s)

    def admit(self, now: float) -> int | None:
        """Admit a call; returns the admission that `on_success` and `on_failure` take, or None to reject the call."""
        with self._lock:
            if self._retry_s is not None:
                if self._probing or now < self._retry_s:
                    return None
                self._probing = True
            return self._term

    def on_success(self, admission: int) -> bool:
        """Note that the call succeeded; returns whether that closed the breaker."""
        with self._lock:
            if admission != self._term:
                return False
            self._failures = 0
            if self._retry_s is None:
                return False
            self._retry_s = None
            self._openings = 0
            self._change_state()
            return True

    def on_failure(self, admission: int, now: float) -> bool:
        """Note that the call failed; returns whether that opened a closed breaker."""
        with self._lock:
            if admission != self._term:
                return False
            self._failures += 1
            was_closed = self._retry_s is None
            if was_closed and self._failures < FAILURES:
                return False
            wait_s = min(FIRST_WAIT_S * 2.0 ** min(self._openings, 16), LONGEST_WAIT_S)
            self._retry_s = now + wait_s * (0.5 + 0.5 * self._draw())
            self._openings += 1
            self._change_state()
            return was_closed

    def _change_state(self) -> None:
        self._term += 1
        self._failures = 0
        self._probing = False
