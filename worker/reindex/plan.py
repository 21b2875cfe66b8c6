"""What a change of the model will take, before it begins; one that does not fit into memory is refused."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from worker.asking.reindex_answers import ReindexPlanJson
from worker.reindex.space_changes import StepRefused

_MEMINFO: Final = Path("/proc/meminfo")
_CGROUP: Final = Path("/sys/fs/cgroup")
_ROW_BYTES: Final = 400
"""Of a template besides its vector, on the mean: id and text."""
_MB: Final = 1_000_000


def plan_of(
    *, model: str, templates: int, dim: int, model_bytes: int, is_local: bool, texts_per_s: float | None, free_bytes: int | None
) -> ReindexPlanJson:
    """Return the plan. `is_local`: vectors are in this machine's memory; `texts_per_s`: as measured here. Raises StepRefused."""
    view_bytes = templates * (4 * dim + _ROW_BYTES)
    memory_bytes = model_bytes + (view_bytes if is_local else 0)
    if free_bytes is not None and memory_bytes > free_bytes:
        raise StepRefused(f"{model} and its view of {templates:,} templates take {_shown(memory_bytes)}; {_shown(free_bytes)} are free")
    return {
        "model": model,
        "templates": templates,
        "seconds": None if not texts_per_s else round(templates / texts_per_s, 1),
        "memory_bytes": memory_bytes,
        "free_bytes": free_bytes,
    }


def free_memory_bytes(meminfo: Path = _MEMINFO, cgroup: Path = _CGROUP) -> int | None:
    """Return what this machine, or the container, has left; None where the system does not tell (only Linux does)."""
    found: list[int] = []
    with suppress(OSError, ValueError, IndexError):
        line = next(line for line in meminfo.read_text(encoding="ascii").splitlines() if line.startswith("MemAvailable:"))
        found.append(int(line.split()[1]) * 1024)
    with suppress(OSError, ValueError):
        limit, used = (int((cgroup / name).read_text(encoding="ascii")) for name in ("memory.max", "memory.current"))
        found.append(max(limit - used, 0))
    return min(found, default=None)


def _shown(size_bytes: int) -> str:
    return f"{size_bytes / _MB:,.0f} MB"
