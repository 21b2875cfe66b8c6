"""What Linux says of the processes that tests start, and how one is stopped for a while."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STOPS_WITHIN_S, _LOOK_AGAIN_S = 60.0, 0.01


def started(pid: int) -> str:
    """Return when a process was started, by which it differs from a later one with its id; empty if there is none, or only a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return "" if fields[0] == "Z" else fields[19]


def children(pid: int) -> list[int]:
    """Return what a process has started and what still runs; nothing if it has ended."""
    try:
        return [int(one) for path in Path(f"/proc/{pid}/task").glob("*/children") for one in path.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def stop(pid: int) -> None:
    """Send SIGSTOP, as a debugger or a frozen machine would; return when every thread has stopped: until then it may still answer."""
    os.kill(pid, signal.SIGSTOP)
    until_s = time.monotonic() + _STOPS_WITHIN_S
    while any(state not in "TZ" for state in _states(pid)):
        assert time.monotonic() < until_s, f"process {pid} does not stop"
        time.sleep(_LOOK_AGAIN_S)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Let a process do nothing for a while."""
    stop(pid)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _states(pid: int) -> list[str]:
    states = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.append(path.read_text().rpartition(")")[2].split()[0])
        except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
            continue
    return states


def offspring(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *offspring(child))]
