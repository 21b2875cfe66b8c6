"""`python -m worker` and the console script `vectail`."""

import sys
import threading
from pathlib import Path

from worker.cli.app import run_app
from worker.cli.exits import exit_at_once
from worker.runtime.logs import non_blocking_stderr
from worker.runtime.process import DRAIN_TIMEOUT, USER_ERROR
from worker.runtime.stage import Stage

_ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run the command line and exit with its code."""
    sys.stderr = non_blocking_stderr()
    if not_compiled := [source for room in ("consumers", "sinks") for source in _ROOT.glob(f"{room}/**/*.c") if not _is_compiled(source)]:
        sys.stderr.write(f"vectail: {not_compiled[0]} is not compiled, or has changed since: run `make native`\n")
        sys.exit(USER_ERROR)
    exit_code = run_app()
    if exit_code == DRAIN_TIMEOUT or any(isinstance(thread, Stage) for thread in threading.enumerate()):
        exit_at_once(exit_code)  # a stage still runs, or the drain deadline has passed: do not wait for threads
    sys.exit(exit_code)


def _is_compiled(source: Path) -> bool:
    """Whether a C file has a library that is not older. An older one may take other arguments than Python gives it."""
    library = source.with_suffix(".c.so")
    return library.exists() and library.stat().st_mtime >= source.stat().st_mtime


if __name__ == "__main__":
    main()
