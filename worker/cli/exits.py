"""How a verb fails: one line on standard error, and a documented exit code."""

import signal

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


def take_sigterm_as_ctrl_c() -> None:
    """Let SIGTERM end a verb as Ctrl-C does: in order, nothing left behind; also where the shell has it ignore Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
