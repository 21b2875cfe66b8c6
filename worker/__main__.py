"""`python -m worker` and the console script `vectail`."""

import multiprocessing
import os
import sys
import threading
from contextlib import suppress

from worker.cli.app import run_app
from worker.exit_codes import OVERDUE
from worker.logs import forgiving_stderr
from worker.stage import Stage


def main() -> None:
    """Run the command line and exit with its code."""
    sys.stderr = forgiving_stderr()
    exit_code = run_app()
    if exit_code == OVERDUE or any(isinstance(thread, Stage) for thread in threading.enumerate()):
        _leave(exit_code)
    sys.exit(exit_code)


def _leave(exit_code: int) -> None:
    """Exit beside a stage that hangs, or past the deadline: the interpreter's own end would wait for what it has started, for ever."""
    for child in multiprocessing.active_children():
        child.kill()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    main()
