"""`python -m worker` and the console script `vectail`."""

import sys
import threading

from worker.cli.app import run_app
from worker.cli.exits import leave
from worker.runtime.exit_codes import DRAIN_TIMEOUT
from worker.runtime.logs import non_blocking_stderr
from worker.runtime.stage import Stage


def main() -> None:
    """Run the command line and exit with its code."""
    sys.stderr = non_blocking_stderr()
    exit_code = run_app()
    if exit_code == DRAIN_TIMEOUT or any(isinstance(thread, Stage) for thread in threading.enumerate()):
        leave(exit_code)  # beside a stage that hangs, or past the deadline
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
