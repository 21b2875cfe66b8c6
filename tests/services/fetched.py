"""What tests fetch or build once, into the project's `.cache/`."""

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"


def fetched(name: str, fetch: Callable[[Path], None]) -> Path:
    """Return a file or folder of `.cache/`; `fetch` makes it, at another path, unless it is there. One test run does at a time."""
    made, partial = CACHE / name, CACHE / f"{name}.partial"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            shutil.rmtree(partial, ignore_errors=True)
            fetch(partial)
            partial.rename(made)
    return made
