"""How a verb fails: one line on standard error, and a documented exit code."""

import signal
import threading
from collections.abc import Callable
from types import FrameType

from worker.exit_codes import CRASHED, MUST_CHANGE


class CommandFailed(Exception):
    """The message is the one line that the user sees; `exit_code` as in `worker.exit_codes`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def must_change(message: object) -> CommandFailed:
    """Make the failure of something that the user must change."""
    return CommandFailed(str(message), MUST_CHANGE)


def problem(message: object) -> CommandFailed:
    """Make the failure of something that may go well another time."""
    return CommandFailed(str(message), CRASHED)


def stop_on_signals(stop: Callable[[], None]) -> None:
    """First SIGTERM or SIGINT ends a verb in order; the second leaves at once.

    Nothing is raised: in the middle of a constructor of a C library, KeyboardInterrupt comes out as anything. `stop` runs on a thread
    of its own: the main thread may hold the lock that it needs.
    """

    def drain(_signal: int, _frame: FrameType | None) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=stop, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, drain)
