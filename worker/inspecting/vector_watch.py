"""Embeds some stored templates again, once a day, and remembers how far the worst stored vector is from the model's.

Weights are pinned by their hash, and every start of an engine compares golden vectors; what is left is an upgrade of an engine or its
libraries, and an index that somebody changed. `worker.service.status` runs it; its texts are of the class bulk, behind all who wait.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

from sinks.sink import SinkBroken, SinkBusy, TemplateView
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.vector_audit import EmbedsTexts, VectorAuditor
from worker.runtime.stage import Abandoned

FIRST_S: Final = 600.0
"""From the start of the worker: by then it has caught up, or it will not for long."""
EVERY_S: Final = 86_400.0
AGAIN_S: Final = 3_600.0
"""After an index that did not answer."""
TEMPLATES: Final = 100
IDLE_S: Final = 3_600.0
"""How long it waits for a moment in which nothing is embedded; then it goes on: what is of the class bulk delays no question."""
_LOOK_S: Final = 1.0
_PATIENCE_S: Final = 30.0


class WatchedSpace(NamedTuple):
    """A model and the view that has its vectors."""

    view: TemplateView
    model: EmbedsTexts


class VectorWatch:
    """Changes nothing: it reads, embeds and remembers.

    Thread: `body` its own; the rest from any.
    """

    def __init__(
        self,
        open_space: Callable[[], AbstractContextManager[WatchedSpace]],
        *,
        is_idle: Callable[[], bool],
        clock: Callable[[], float],
        stopped: threading.Event | None = None,
    ) -> None:
        """`open_space` gives the model that the worker embeds with now, and closes what it opened for that; `stopped` ends `body`."""
        self._open_space = open_space
        self._is_idle = is_idle
        self._stopped = stopped or threading.Event()
        self._busy_retry = BusyRetry(limit_s=_PATIENCE_S, say=lambda _line: None, pause=self._stopped.wait, clock=clock)
        self._clock = clock
        self.worst_cosine: float | None = None
        """Of the last sample; None before the first one, and where nothing is stored."""

    def body(self) -> None:
        """Compare a sample now and then, until `stop`."""
        pause_s = FIRST_S
        while not (self._stopped.wait(pause_s) or self._is_stopped_while_busy()):
            try:
                pause_s = self.compare()
            except Abandoned:
                return

    def compare(self) -> float:
        """Compare a sample; returns the seconds until the next one. Raises Abandoned."""
        try:
            with self._open_space() as space:
                report = VectorAuditor(view=space.view, busy_retry=self._busy_retry, embedder=space.model).compare_sample(TEMPLATES)
        except (SinkBusy, SinkBroken):
            return AGAIN_S
        self.worst_cosine = report.worst_cosine
        return EVERY_S

    def stop(self) -> None:
        """Compare no more."""
        self._stopped.set()

    def _is_stopped_while_busy(self) -> bool:
        """Wait for an idle moment, for a while."""
        until_s = self._clock() + IDLE_S
        while not self._is_idle() and self._clock() < until_s:
            if self._stopped.wait(_LOOK_S):
                return True
        return False
