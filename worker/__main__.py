"""`python -m worker` and the console script `vectail`."""

import sys
import threading

from worker.cli.app import run_app
from worker.cli.exits import exit_at_once
from worker.runtime.logs import non_blocking_stderr
from worker.runtime.process import DRAIN_TIMEOUT
from worker.runtime.stage import Stage


def main() -> None:
    """Run the command line and exit with its code."""
    sys.stderr = non_blocking_stderr()
    exit_code = run_app()
    if exit_code == DRAIN_TIMEOUT or any(isinstance(thread, Stage) for thread in threading.enumerate()):
        exit_at_once(exit_code)  # a stage still runs, or the drain deadline has passed: do not wait for threads
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
