"""Counts the processors that this process may keep busy: its CPU affinity, limited by the quota of its control group.

`worker.embedding.loaded` gives an engine as many threads unless `engine.threads` is set. In a container the quota decides: with more
threads than it allows, the kernel stops all of them for a part of every period.
"""

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

_CGROUPS = "sys/fs/cgroup"
_V1 = ("cpu,cpuacct", "cpu")
"""Mount names of the controller in version 1."""


def cpu_count(root: Path = Path("/"), *, affinity: Callable[[], int] = lambda: len(os.sched_getaffinity(0))) -> int:
    """Return the count, at least 1; a fraction counts as one processor. Reads proc and sys below `root`, control groups v1 and v2."""
    shares = [affinity(), *(math.ceil(share) for share in _shares(root))]
    return max(min(shares), 1)


def _shares(root: Path) -> Iterator[float]:
    """Yield the quotas, in processors, of the process's groups and all groups above them; a container's own group is the topmost."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        own = PurePosixPath(group.lstrip("/"))
        for above in (own, *own.parents):
            if not controllers:
                yield from _share(*_text(root / _CGROUPS / above / "cpu.max").split())
            elif "cpu" in controllers.split(","):
                for mount in _V1:
                    folder = root / _CGROUPS / mount / above
                    yield from _share(*_text(folder / "cpu.cfs_quota_us").split(), *_text(folder / "cpu.cfs_period_us").split())


def _share(quota_us: str = "", period_us: str = "") -> Iterator[float]:
    """Yield quota / period if there is a quota: version 2 writes `max` for none, version 1 writes -1."""
    if quota_us.isdigit() and period_us.isdigit() and int(period_us):
        yield int(quota_us) / int(period_us)


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
