"""When to ask a server that has failed again: a circuit breaker, without a clock of its own.

    closed  --- `FAILURES` in a row ------------------> open, until a time
    open    --- that time has come: one is admitted --> half-open
    half-open - it succeeds --------------------------> closed
    half-open - it fails -----------------------------> open, for about twice as long as before

`worker.embedding.cache.redis_cache` has one for reads and one for writes: a replica or a full server refuses writes and still answers
reads.
"""

import threading
from collections.abc import Callable

FAILURES = 3
FIRST_S = 0.5
MOST_S = 30.0


class Breaker:
    """Half-open, exactly one is admitted; what was admitted before the last change no longer decides anything.

    Thread: any.
    """

    def __init__(self, draw: Callable[[], float]) -> None:
        """`draw` returns a number from 0 to 1: waits are spread over their upper half, so that many workers do not come back at once."""
        self._draw = draw
        self._lock = threading.Lock()
        self._term = 0
        self._failures = 0
        self._openings = 0
        self._again_s: float | None = None
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Return whether it is open or half-open."""
        return self._again_s is not None

    def shut(self, now: float) -> bool:
        """Return whether nobody would be admitted now; admits nobody."""
        with self._lock:
            return self._again_s is not None and (self._probing or now < self._again_s)

    def admit(self, now: float) -> int | None:
        """Return a pass, to be handed back with the outcome; None where nobody may pass."""
        with self._lock:
            if self._again_s is not None:
                if self._probing or now < self._again_s:
                    return None
                self._probing = True
            return self._term

    def succeeded(self, admission: int) -> bool:
        """Note that it went well; returns whether that closed it."""
        with self._lock:
            if admission != self._term:
                return False
            self._failures = 0
            if self._again_s is None:
                return False
            self._again_s = None
            self._openings = 0
            self._change()
            return True

    def failed(self, admission: int, now: float) -> bool:
        """Note that it failed; returns whether that opened it, having been closed."""
        with self._lock:
            if admission != self._term:
                return False
            self._failures += 1
            was_closed = self._again_s is None
            if was_closed and self._failures < FAILURES:
                return False
            wait_s = min(FIRST_S * 2.0 ** min(self._openings, 16), MOST_S)
            self._again_s = now + wait_s * (0.5 + 0.5 * self._draw())
            self._openings += 1
            self._change()
            return was_closed

    def _change(self) -> None:
        self._term += 1
        self._failures = 0
        self._probing = False
