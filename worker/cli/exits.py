"""How a verb fails: one line on standard error and a documented exit code."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NoReturn

from typer.exceptions import TyperException

from worker.cli.exit_codes import CRASHED, DRAINED, USER_ERROR
from worker.runtime.logs import inform

_CHECK_S = 0.1


class CommandFailed(Exception):
    """The message is the one line that the user sees; `exit_code` is one of `worker.cli.exit_codes`."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def user_error(message: object) -> CommandFailed:
    """Return the failure for something that the user must change first."""
    return CommandFailed(str(message), USER_ERROR)


def failure(message: object) -> CommandFailed:
    """Return the failure for something that may succeed when it is tried again."""
    return CommandFailed(str(message), CRASHED)


def usage_error(error: TyperException) -> str:
    """Return in one line what is wrong with the command line and where the help is; the whole help if no words were given."""
    message = error.format_message().replace("Value error, ", "")
    if near := getattr(error, "possibilities", None):
        message = f"{message.partition(' (')[0]}; did you mean {near[0]!r}?"
    context = getattr(error, "ctx", None)
    if "\n" in message or context is None:
        return message
    return f"vectail: {message} (see `{context.command_path} --help`)"


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` on the first SIGTERM or SIGINT; the second ends the process at once.

    The signal handler raises nothing: inside a C library's constructor, KeyboardInterrupt can turn into any other exception. `stop`
    runs on its own thread, because the main thread may hold the lock that it needs.
    """

    def drain(_signal: int, _frame: FrameType | None) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=stop, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, drain)


@contextlib.contextmanager
def exit_early_on(stop: threading.Event) -> Iterator[None]:
    """Exit at once, as if drained, when `stop` is set inside the block.

    For loading a model, which takes up to minutes and cannot be interrupted. No record has been read yet, and the files that loading
    writes survive SIGKILL.
    """
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            if stop.wait(_CHECK_S) and not is_over.is_set():
                inform("stopped before the model was loaded; no record was read")
                exit_at_once(DRAINED)

    threading.Thread(target=watch, name="exit-early", daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def exit_at_once(exit_code: int) -> NoReturn:
    """Exit without waiting for threads or child processes that still run; the interpreter's own exit would wait for them for ever."""
    if "multiprocessing" in sys.modules:  # else there is none, and nobody who asks for help waits for its import
        from multiprocessing import active_children

        for child in active_children():
            child.kill()
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)
