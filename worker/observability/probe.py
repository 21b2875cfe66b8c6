"""Asks one thing that the worker stands on, again and again, whether it answers.

`worker.observability.status` has one for Kafka, one for the index, one for Redis, each on a thread of its own: one that hangs holds up
no other, and no page waits for any of them.
"""

import threading
from collections.abc import Callable
from typing import Final

PATIENCE_S: Final = 3.0
"""A question that is open for longer counts as not answered, however long the client itself goes on waiting."""


class ProbeFailed(Exception):
    """It does not answer, or says no; one line."""


class Probe:
    """What it says is never older than its pace and its patience.

    Thread: `body` its own; the rest from any.
    """

    def __init__(self, name: str, ask: Callable[[], None], *, every_s: float, clock: Callable[[], float]) -> None:
        """`ask` returns when all is well. Raises ProbeFailed."""
        self.name = name
        self._ask = ask
        self._every_s = every_s
        self._clock = clock
        self._stopped = threading.Event()
        self._asked_s: float | None = None
        """Since when a question is open; None while none is."""
        self._complaint = "not asked yet"

    def body(self) -> None:
        """Ask until `stop`."""
        while True:
            self.turn()
            if self._stopped.wait(self._every_s):
                return

    def turn(self) -> None:
        """Ask once."""
        self._asked_s = self._clock()
        try:
            self._ask()
        except ProbeFailed as error:
            self._complaint = str(error) or "no reason given"
        else:
            self._complaint = ""
        self._asked_s = None

    def stop(self) -> None:
        """Ask no more; a question that is open is not waited for."""
        self._stopped.set()

    def complaint(self) -> str:
        """Return what is wrong, in one line; empty when it has answered well."""
        asked_s = self._asked_s
        if not self._complaint and asked_s is not None and self._clock() - asked_s > PATIENCE_S:
            return f"no answer for {self._clock() - asked_s:.0f} s"
        return self._complaint
