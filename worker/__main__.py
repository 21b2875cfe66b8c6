"""`python -m worker` and the console script `vectail`."""

import atexit
import os
import signal
import sys
import threading

from worker.cli.exit_codes import DRAIN_TIMEOUT, DRAINED


def main() -> None:
    """Run the command line and exit with its code."""
    if sys.argv[1:2] == ["run"]:  # importing it takes seconds, in which nothing is begun: a signal finds it drained
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _signal, _frame: os._exit(DRAINED))
    from worker.cli.app import run_app  # noqa: PLC0415 - as said, like the others
    from worker.cli.exits import exit_at_once  # noqa: PLC0415
    from worker.runtime.logs import non_blocking_stderr  # noqa: PLC0415

    sys.stderr = non_blocking_stderr()
    exit_code = run_app()
    if exit_code == DRAIN_TIMEOUT or _stage_runs():
        exit_at_once(exit_code)  # a stage still runs, or the drain deadline has passed: do not wait for threads
    if sys.argv[1:2] == ["run"]:  # all is closed: what libraries do when the interpreter ends may no more change the exit code
        atexit._run_exitfuncs()  # noqa: SLF001 - as the interpreter does
        exit_at_once(exit_code)
    sys.exit(exit_code)


def _stage_runs() -> bool:
    """Whether a stage still runs; where its module was never loaded, none does."""
    stages = sys.modules.get("worker.runtime.stage")
    return stages is not None and any(isinstance(thread, stages.Stage) for thread in threading.enumerate())


if __name__ == "__main__":
    main()
