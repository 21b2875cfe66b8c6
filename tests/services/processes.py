"""What Linux says of the processes that tests start."""

from pathlib import Path


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


def offspring(pid: int) -> list[int]:
    """Return its children, and theirs."""
    return [one for child in children(pid) for one in (child, *offspring(child))]
