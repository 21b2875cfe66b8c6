"""A service on a thread beside the main one, as `demo` needs it."""

from threading import Event

from sinks.sink import SinkMismatch
from worker.cli.exits import CommandFailed
from worker.runtime.exit_codes import CRASHED, USER_ERROR
from worker.runtime.stage import Stage
from worker.service import Service

_LOOK_S = 0.05


class Running:
    """A service on a thread of its own; whatever ends it early, and `stop`, is raised where it is waited for.

    Thread: main.
    """

    def __init__(self, service: Service, stop: Event) -> None:
        self.service = service
        self._stop = stop
        self._exit_code: int | None = None
        self._error: Exception | None = None
        self._stage = Stage("service", self._run, self._on_crash)
        self._stage.start()

    def check(self) -> None:
        """Raise CommandFailed if the service has ended, KeyboardInterrupt if the user wants it to."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self._error is not None:
            exit_code = USER_ERROR if isinstance(self._error, SinkMismatch) else CRASHED
            raise CommandFailed(str(self._error), exit_code) from self._error
        if self._exit_code is not None:
            raise CommandFailed(f"stopped: {self.service.crash or 'ended early'}", self._exit_code or CRASHED)

    def wait_opened(self) -> None:
        """Wait until the index is open. Raises as `check` does."""
        while not self.service.opened.wait(_LOOK_S):
            self.check()

    def end(self) -> None:
        """Drain and wait for the end."""
        self.service.stop()
        self._stage.join()

    def _run(self) -> None:
        self._exit_code = self.service.run()

    def _on_crash(self, _stage: str, error: Exception) -> None:
        self._error = error
