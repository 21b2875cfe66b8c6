"""How a verb fails: one line on standard error, and a documented exit code."""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from worker.runtime.exit_codes import CRASHED, DRAINED, USER_ERROR
from worker.runtime.logs import inform

_LOOK_S = 0.1


class CommandFailed(Exception):
    """The message is the one line that the user sees; `exit_code` as in `worker.runtime.exit_codes`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def must_change(message: object) -> CommandFailed:
    """Make the failure of something that the user must change."""
    return CommandFailed(str(message), USER_ERROR)


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


@contextlib.contextmanager
def leaves_on(stop: threading.Event) -> Iterator[None]:
    """Leave at once, as if drained, when `stop` is set in here: for the load of a model, which takes up to minutes and hears nobody.

    Nothing was taken in yet, and what is written meanwhile is made for SIGKILL.
    """
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            if stop.wait(_LOOK_S) and not is_over.is_set():
                inform("stopped before the model was loaded; nothing was taken in")
                leave(DRAINED)

    threading.Thread(target=watch, name="leaves-on", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def leave(exit_code: int) -> NoReturn:
    """Exit at once, beside whatever still runs: the interpreter's own end would wait for what it has started, for ever."""
    for child in multiprocessing.active_children():
        child.kill()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)
