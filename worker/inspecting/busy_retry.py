"""Retries what the tools ask a sink while it is busy, for a bounded time: a tool, unlike the worker, does not wait for ever."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from sinks.sink import SinkBusy
from worker.runtime.retry import BACK_OFF_S

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyRetry:
    """Retries a call while the sink is busy, for at most `limit_s`."""

    limit_s: float
    say: Callable[[str], None]
    pause: Callable[[float], bool]
    """Waits this many seconds; True if the user wants to stop."""
    clock: Callable[[], float]

    def call(self, ask: Callable[[], T]) -> T:
        """Return what `ask` returns. Raises SinkBusy after `limit_s`, and whatever else the sink raises."""
        until_s = self.clock() + self.limit_s
        for attempt in count():
            try:
                return ask()
            except SinkBusy as error:
                if self.clock() >= until_s:
                    raise
                if attempt == 0:
                    self.say(f"milvus does not answer ({error}); trying again for {self.limit_s:g} s")
                if self.pause(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)]):
                    raise
        raise AssertionError  # count() has no end
