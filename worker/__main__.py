"""`python -m worker` and the console script `vectail`."""

import multiprocessing
import os
import sys
import threading

from worker.cli.app import run_app
from worker.stage import Stage


def main() -> None:
    """Run the command line and exit with its code."""
    exit_code = run_app()
    if any(isinstance(thread, Stage) for thread in threading.enumerate()):
        _leave(exit_code)
    sys.exit(exit_code)


def _leave(exit_code: int) -> None:
    """Exit beside a stage that hangs in native code: the interpreter's own end would wait for what it has started, for ever."""
    for child in multiprocessing.active_children():
        child.kill()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    main()
