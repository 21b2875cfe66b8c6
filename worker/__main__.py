"""`python -m worker` and the console script `vectail`."""

import os
import signal
import sys
import threading

from worker.runtime.process import DRAIN_TIMEOUT, DRAINED


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:2] == ["run"]:  # importing it takes seconds, in which nothing is begun: a signal finds it drained
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _signal, _frame: os._exit(DRAINED))
    from worker.cli.app import run_app  # noqa: PLC0415 - as said, like the others
    from worker.cli.exits import exit_at_once  # noqa: PLC0415
    from worker.runtime.logs import non_blocking_stderr  # noqa: PLC0415
    from worker.runtime.stage import Stage  # noqa: PLC0415

    sys.stderr = non_blocking_stderr()
    exit_code = run_app()
    if exit_code == DRAIN_TIMEOUT or any(isinstance(thread, Stage) for thread in threading.enumerate()):
        exit_at_once(exit_code)  # a stage still runs, or the drain deadline has passed: do not wait for threads
    sys.exit(exit_code)


if __name__ == "__main__":
    main()
