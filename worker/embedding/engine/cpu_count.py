"""How many processors this process may keep busy: what it may run on, and no more than its control group's quota pays for.

`worker.embedding.loaded` gives an engine so many threads where `engine.threads` says nothing. In a container the quota is what counts:
with more threads than it pays for, all of them are stopped for a part of every period.
"""

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

_CGROUPS = "sys/fs/cgroup"
_V1 = ("cpu,cpuacct", "cpu")
"""Names under which version 1 mounts the controller."""


def cpu_count(root: Path = Path("/"), *, affinity: Callable[[], int] = lambda: len(os.sched_getaffinity(0))) -> int:
    """Return it, 1 or more; a part of a processor counts as one. Below `root` lie proc and sys, versions 1 and 2 of control groups."""
    shares = [affinity(), *(math.ceil(share) for share in _shares(root))]
    return max(min(shares), 1)


def _shares(root: Path) -> Iterator[float]:
    """Yield the quotas, in processors, of the process's groups and all above them; a container sees its own group as the topmost."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        place = PurePosixPath(group.lstrip("/"))
        for above in (place, *place.parents):
            if not controllers:
                yield from _share(*_text(root / _CGROUPS / above / "cpu.max").split())
            elif "cpu" in controllers.split(","):
                for mount in _V1:
                    folder = root / _CGROUPS / mount / above
                    yield from _share(*_text(folder / "cpu.cfs_quota_us").split(), *_text(folder / "cpu.cfs_period_us").split())


def _share(quota_us: str = "", period_us: str = "") -> Iterator[float]:
    """Yield quota by period, if there is one: version 2 writes `max` for none, version 1 writes -1."""
    if quota_us.isdigit() and period_us.isdigit() and int(period_us):
        yield int(quota_us) / int(period_us)


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""
