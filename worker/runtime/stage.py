"""A stage: a named thread that runs one step, and the only place that catches every exception.

`worker.service.service` starts one for each poller and each step. An exception that a step does not expect is a bug of ours: it is handed
to the service, which stops everything and commits nothing more.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from worker.runtime.lane import Lane

T = TypeVar("T")


class Abandoned(Exception):
    """The service stops without draining: what a step holds stays unsettled and is read again later."""


Crash = Callable[[str, Exception], None]
"""Takes the stage's name and its exception; called on the stage's own thread."""


class Stage(threading.Thread):
    """Runs `body` once; whatever it raises reaches `on_crash`.

    Thread: itself, a daemon, so that a second SIGTERM can exit at once.
    """

    def __init__(self, name: str, body: Callable[[], None], on_crash: Crash) -> None:
        super().__init__(name=name, daemon=True)
        self._body = body
        self._on_crash = on_crash
        self.cpu_s = 0.0
        """Processor time of the body, known once it has ended."""

    def run(self) -> None:
        """Run the body."""
        try:
            self._body()
        except Exception as error:  # the one place: the first unexpected exception stops the service
            self._on_crash(self.name, error)
        self.cpu_s = time.thread_time()


class Meter:
    """The time that all threads of one stage have spent in its step.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Add the time of one step."""
        with self._lock:
            self.seconds += seconds


def empty(lane: Lane[T], step: Callable[[list[T]], None], *, most: int, meter: Meter | None = None) -> Callable[[], None]:
    """Return a stage's body: take lists of about `most` (see `Lane.take`) and step, until the lane is closed and empty."""
    busy = meter or Meter()

    def body() -> None:
        while (taken := lane.take(most)) is not None:
            started_s = time.monotonic()
            step(taken)
            busy.add(time.monotonic() - started_s)
            del taken  # or it would stay in memory for as long as nothing comes

    return body
