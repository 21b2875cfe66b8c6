"""Checks at intervals whether one dependency answers.

`worker.service.status` has one each for Kafka, the index and Redis, on threads of their own: a check that hangs delays no other,
and no page waits for any of them.
"""

import threading
from collections.abc import Callable
from typing import Final

ANSWER_LIMIT_S: Final = 3.0
"""A check that is still open after this long counts as unanswered, however long the client itself goes on waiting."""


class ProbeFailed(Exception):
    """The dependency does not answer, or answers with an error; one line."""


class Probe:
    """Its result is never older than `every_s` and `ANSWER_LIMIT_S` together.

    Thread: `body` its own; the rest from any.
    """

    def __init__(self, name: str, check: Callable[[], None], *, every_s: float, clock: Callable[[], float]) -> None:
        """`check` asks the dependency, and raises ProbeFailed unless it answers well."""
        self.name = name
        self._check = check
        self._every_s = every_s
        self._clock = clock
        self._stopped = threading.Event()
        self._asked_s: float | None = None
        """Since when a check is open; None while none is."""
        self._error = "not asked yet"
        self._away_since_s: float | None = None

    def body(self) -> None:
        """Check until `stop`."""
        while True:
            self.check_once()
            if self._stopped.wait(self._every_s):
                return

    def check_once(self) -> None:
        """Check now."""
        self._asked_s = asked_s = self._clock()
        try:
            self._check()
        except ProbeFailed as error:
            if self._away_since_s is None:
                self._away_since_s = asked_s
            self._error = str(error) or "no reason given"
        else:
            self._error, self._away_since_s = "", None
        self._asked_s = None

    def stop(self) -> None:
        """Start no further check, without waiting for an open one."""
        self._stopped.set()

    def error_line(self) -> str:
        """Return what is wrong, in one line; empty if the dependency answers."""
        asked_s = self._asked_s
        if not self._error and asked_s is not None and self._clock() - asked_s > ANSWER_LIMIT_S:
            return f"no answer for {self._clock() - asked_s:.0f} s"
        return self._error

    def away_since_s(self) -> float | None:
        """Return when the first check began that the dependency has not answered since; None if it answers."""
        if not self.error_line():
            return None
        return self._asked_s if self._away_since_s is None else self._away_since_s
