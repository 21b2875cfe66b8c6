"""A lock that is handed on in the order of arrival; the prepare and the store step compute under one.

Both spend their time in numpy and Arrow, which let go of the interpreter's lock in every call and take it back. Side by side they hand it
to each other thousands of times for a batch, and each time one waits to be woken: a known line cost 13 to 15 µs of processor time instead
of 10, and a worker took a fifth fewer of them (two cores). So each computes alone, some tens of milliseconds at a time. Under this lock
nothing is waited for but the locks of ledger, flights and runs, whose holders never wait for it.
"""

import threading
from collections import deque


class FairLock:
    """At most one thread is inside, and the others enter in the order in which they came: a plain lock would starve the slower step.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_held = False
        self._waiting: deque[threading.Lock] = deque()
        """One for each thread that waits, locked until it is its turn."""

    @property
    def waiting(self) -> int:
        """How many threads wait for their turn."""
        return len(self._waiting)

    def __enter__(self) -> None:
        """Wait for the turn."""
        with self._lock:
            if not self._is_held:
                self._is_held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()

    def __exit__(self, *_error: object) -> None:
        """Hand the lock to the thread that has waited longest."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_held = False
