"""The doctor's checks of the machine: memory against the caps of the settings, files, processors, disk, the port, the clock.

A container's limits count, in control groups of version 1 and 2.
"""

import platform
import resource
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from worker.embedding.cache.redis_writer import QUEUE_BYTES
from worker.embedding.engine.cpu_count import cpu_count
from worker.indexing.known_templates import MOST_KNOWN
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.inspecting.doctor_worker import ask_worker
from worker.runtime.wording import bytes_of
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings

_ANSWER_S: Final = 2.0
_BASE_BYTES: Final = 700 << 20
"""Python, the libraries, llama.cpp with the default model, and work between the caps."""
_KNOWN_BYTES: Final = 28 * MOST_KNOWN
_TIGHT: Final = 0.8
_FEW_FILES: Final = 1_024
_TOO_FEW_FILES: Final = 256
_LITTLE_ROOM_BYTES: Final = 1 << 30
_NO_ROOM_BYTES: Final = 200 << 20
_BUILT_S: Final = 1_767_225_600
"""The beginning of 2026: no clock that is right is before it."""


class MemoryCap(NamedTuple):
    """How much a setting lets grow."""

    name: str
    most_bytes: int


class MachineFacts(NamedTuple):
    """What the machine gives us."""

    settings: Settings
    memory_bytes: int | None
    """None where it cannot be read."""
    memory_of: str
    open_files: int
    processors: int
    architecture: str
    processor_flags: frozenset[str]
    """Empty where they cannot be read."""
    free_bytes: int
    """For prepared models."""
    port: Verdict
    now_s: float


def look_at_machine(settings: Settings, *, is_worker: bool = False) -> dict[str, Verdict]:
    """Ask the operating system and judge what it gives us. `is_worker`: the port is this process's own."""
    listens = f"this worker listens on {settings.http.host} port {settings.http.port}"
    flags = (line.partition(":")[2].split() for line in _text(Path("/proc/cpuinfo")).splitlines() if line.startswith("flags"))
    facts = MachineFacts(
        settings,
        *memory_limit(),
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        cpu_count(),
        platform.machine(),
        frozenset(next(flags, ())),
        shutil.disk_usage(_existing(settings.model.cache.expanduser())).free,
        ok(listens) if is_worker else _try_port(settings.http),
        time.time(),
    )
    return judge_all(MACHINE_CHECKS, facts)


def caps_of(settings: Settings) -> list[MemoryCap]:
    """Return what may grow, as docs/operations.md lists it."""
    limits, kafka = settings.limits, settings.kafka
    caps = [
        MemoryCap("limits.max_in_flight_bytes, twice", 2 * limits.max_in_flight_bytes),
        MemoryCap("kafka.prefetch_bytes, twice", 2 * kafka.prefetch_bytes),
        MemoryCap("cache.memory_bytes", settings.cache.memory_bytes),
        MemoryCap("known templates", _KNOWN_BYTES),
    ]
    if settings.redis.url:
        caps.append(MemoryCap("vectors that wait to be written to Redis", QUEUE_BYTES))
    return caps


def memory_limit(root: Path = Path("/")) -> tuple[int | None, str]:
    """Return how many bytes this process may use, and whose limit that is; None where it cannot be read."""
    machine = next(
        (int(line.split()[1]) * 1024 for line in _text(root / "proc/meminfo").splitlines() if line.startswith("MemTotal:")), None
    )
    limits = list(_group_limits(root))
    if limits and (machine is None or min(limits) < machine):
        return min(limits), "the container (control group) may use"
    return machine, "the machine has"


def _group_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the process's control groups and all above them; a container's own group is the topmost."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        own = PurePosixPath(group.lstrip("/"))
        for above in (own, *own.parents):
            if not controllers:
                text = _text(root / "sys/fs/cgroup" / above / "memory.max").strip()
            elif "memory" in controllers.split(","):
                text = _text(root / "sys/fs/cgroup/memory" / above / "memory.limit_in_bytes").strip()
            else:
                continue
            if text.isdigit():
                yield int(text)


def _memory(facts: MachineFacts) -> Verdict:
    """Judge whether everything that may grow fits into what there is."""
    caps = caps_of(facts.settings)
    need = _BASE_BYTES + sum(cap.most_bytes for cap in caps)
    if facts.memory_bytes is None:
        return ok(f"a worker may need {bytes_of(need)}; how much there is cannot be read here")
    largest = max(caps, key=lambda cap: cap.most_bytes)
    found = f"{facts.memory_of} {bytes_of(facts.memory_bytes)}; a worker may need {bytes_of(need)} with these settings"
    change = f"give it more memory, or lower the caps: the largest is {largest.name} ({bytes_of(largest.most_bytes)})"
    return first_of(
        (need > facts.memory_bytes, problem(f"{found}: it may be killed under load", change)),
        (need > _TIGHT * facts.memory_bytes, warning(found, change)),
        otherwise=found,
    )


def _open_files(facts: MachineFacts) -> Verdict:
    found = f"{facts.open_files:,} may be open"
    change = "raise the limit: `ulimit -n 65536`, LimitNOFILE= of systemd, or ulimits of the container"
    return first_of(
        (facts.open_files == resource.RLIM_INFINITY, ok("any number may be open")),
        (facts.open_files < _TOO_FEW_FILES, problem(f"{found}: clients of Kafka and HTTP need more", change)),
        (facts.open_files < _FEW_FILES, warning(found, change)),
        otherwise=found,
    )


def _processors(facts: MachineFacts) -> Verdict:
    threads = facts.settings.engine.threads
    found = f"{facts.processors} may be kept busy{'' if threads is None else f'; engine.threads is {threads}'}"
    is_crowded = threads is not None and threads > facts.processors
    change = "leave engine.threads unset, or lower it"
    return first_of((is_crowded, warning(f"{found}: they get in each other's way", change)), otherwise=found)


def _instructions(facts: MachineFacts) -> Verdict:
    """Judge what the processor can do for the engine."""
    flags = facts.processor_flags
    best = next((name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2"), ("AVX", "avx")) if flag in flags), "no AVX")
    slow = f"{best}: the engine is several times slower without AVX2, and vLLM does not run"
    return first_of(
        (facts.architecture not in ("x86_64", "AMD64"), ok(f"{facts.architecture}; nothing special is needed")),
        (not flags, ok(f"{facts.architecture}; what it can do cannot be read here")),
        ("avx2" not in flags, warning(slow, "use a CPU with AVX2, or expose AVX2 to the VM")),
        otherwise=best,
    )


def _disk(facts: MachineFacts) -> Verdict:
    found = f"{bytes_of(facts.free_bytes)} free for {facts.settings.model.cache.expanduser()}"
    return first_of(
        (facts.free_bytes < _NO_ROOM_BYTES, problem(found, "make room, or set model.cache: a model cannot be prepared")),
        (facts.free_bytes < _LITTLE_ROOM_BYTES, warning(found, "make room, or set model.cache")),
        otherwise=found,
    )


def _clock(facts: MachineFacts) -> Verdict:
    shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(facts.now_s))
    change = "set its clock (NTP): every time filter and deadline depends on it"
    zone = f"time zone {time.tzname[0]} (times in lines without a zone are taken as UTC or topic.timezone)"
    return first_of((facts.now_s < _BUILT_S, problem(f"this machine says {shown}", change)), otherwise=f"{shown}, {zone}")


def _try_port(table: HttpTable) -> Verdict:
    """Judge whether the HTTP port is free or a worker's."""
    where = f"{table.host} port {table.port}"
    if not table.enabled:
        return ok("http.enabled is false: nothing listens")
    if "checks" in ask_worker(table, "/healthz", timeout_s=_ANSWER_S):
        return ok(f"a worker answers on {where}")
    try:
        family, _, _, _, address = socket.getaddrinfo(table.host, table.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        found = f"{where} cannot be listened on: {error.strerror or error}"
        return problem(found, "end what uses it, or set http.port (0: any free one)")
    return ok(f"{where} is free")


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(one for one in (folder, *folder.absolute().parents) if one.is_dir())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


MACHINE_CHECKS: Final[tuple[Check[MachineFacts], ...]] = (
    Check("memory", _memory),
    Check("open-files", _open_files),
    Check("processors", _processors),
    Check("instructions", _instructions),
    Check("disk", _disk),
    Check("port", lambda facts: facts.port),
    Check("clock", _clock),
)
