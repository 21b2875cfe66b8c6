"""The doctor's checks of the machine: memory against the caps of the settings, files, processors, disk, the port, the clock.

`look_at_machine` reads them; the judgements are pure. A container's limits count, in control groups of version 1 and 2.
"""

import platform
import resource
import shutil
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from worker.audit.doctor import Check
from worker.audit.doctor_words import bytes_of
from worker.audit.doctor_worker import ask_worker
from worker.embedding.cache.redis_writer import QUEUE_BYTES
from worker.embedding.engine.cpu_count import cpu_count
from worker.indexing.known_templates import MOST_KNOWN
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings

_ANSWER_S: Final = 2.0
_BASE_BYTES: Final = 700 << 20
"""Python, the libraries, llama.cpp with the default model, and what is in work between the caps."""
_KNOWN_BYTES: Final = 28 * MOST_KNOWN
_TIGHT: Final = 0.8
_FEW_FILES: Final = 1_024
_TOO_FEW_FILES: Final = 256
_LITTLE_ROOM_BYTES: Final = 1 << 30
_NO_ROOM_BYTES: Final = 200 << 20
_BUILT_S: Final = 1_767_225_600
"""The beginning of 2026: no clock that is right is before it."""

_check = partial(Check, "machine")


class Cap(NamedTuple):
    """What a setting lets grow."""

    name: str
    most_bytes: int


def look_at_machine(settings: Settings, *, is_worker: bool = False, root: Path = Path("/")) -> Iterator[Check]:
    """Read what the machine gives us and judge it. `is_worker`: the port is this process's own."""
    limit_bytes, whose = memory_limit(root)
    yield judge_memory(limit_bytes, whose, caps_of(settings))
    yield judge_files(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    yield judge_processors(cpu_count(), settings.engine.threads)
    yield judge_instructions(platform.machine(), _text(root / "proc/cpuinfo"))
    cache = settings.model.cache.expanduser()
    yield judge_disk(cache, shutil.disk_usage(_existing(cache)).free)
    if is_worker:
        yield _check("port", "ok", f"this worker listens on {settings.http.host} port {settings.http.port}")
    else:
        error, is_other = _try_port(settings.http)
        yield judge_port(settings.http, error, is_worker=is_other)
    yield judge_clock(time.time(), time.tzname[0])


def caps_of(settings: Settings) -> list[Cap]:
    """Return what may grow, as docs/operations.md lists it."""
    limits, kafka = settings.limits, settings.kafka
    caps = [
        Cap("limits.max_in_flight_bytes, twice", 2 * limits.max_in_flight_bytes),
        Cap("kafka.prefetch_bytes, twice", 2 * kafka.prefetch_bytes),
        Cap("cache.memory_bytes", settings.cache.memory_bytes),
        Cap("known templates", _KNOWN_BYTES),
    ]
    if settings.redis.url:
        caps.append(Cap("vectors that wait to be written to Redis", QUEUE_BYTES))
    return caps


def judge_memory(limit_bytes: int | None, whose: str, caps: list[Cap]) -> Check:
    """Judge whether everything that may grow fits into what there is."""
    need = _BASE_BYTES + sum(cap.most_bytes for cap in caps)
    if limit_bytes is None:
        return _check("memory", "ok", f"a worker may need {bytes_of(need)}; how much there is cannot be read here")
    largest = max(caps, key=lambda cap: cap.most_bytes)
    found = f"{whose} {bytes_of(limit_bytes)}; a worker may need {bytes_of(need)} with these settings"
    change = f"give it more memory, or lower the caps: the largest is {largest.name} ({bytes_of(largest.most_bytes)})"
    if need > limit_bytes:
        return _check("memory", "problem", f"{found}: it may be killed under load", change)
    if need > _TIGHT * limit_bytes:
        return _check("memory", "warning", found, change)
    return _check("memory", "ok", found)


def judge_files(limit: int) -> Check:
    """Judge how many files and connections may be open."""
    if limit == resource.RLIM_INFINITY:
        return _check("open-files", "ok", "any number may be open")
    found = f"{limit:,} may be open"
    change = "raise the limit: `ulimit -n 65536`, LimitNOFILE= of systemd, or ulimits of the container"
    if limit < _TOO_FEW_FILES:
        return _check("open-files", "problem", f"{found}: clients of Kafka and HTTP need more", change)
    if limit < _FEW_FILES:
        return _check("open-files", "warning", found, change)
    return _check("open-files", "ok", found)


def judge_processors(processors: int, threads: int | None) -> Check:
    """Judge the engine's threads against what this process may keep busy."""
    found = f"{processors} may be kept busy{'' if threads is None else f'; engine.threads is {threads}'}"
    if threads is not None and threads > processors:
        return _check("processors", "warning", f"{found}: they get in each other's way", "leave engine.threads unset, or lower it")
    return _check("processors", "ok", found)


def judge_instructions(machine: str, cpuinfo: str) -> Check:
    """Judge what the processor can do for the engine."""
    if machine not in ("x86_64", "AMD64"):
        return _check("instructions", "ok", f"{machine}; nothing special is needed")
    flags = next((set(line.partition(":")[2].split()) for line in cpuinfo.splitlines() if line.startswith("flags")), set())
    if not flags:
        return _check("instructions", "ok", f"{machine}; what it can do cannot be read here")
    best = [name for name, flag in (("AVX-512", "avx512f"), ("AVX2", "avx2"), ("AVX", "avx")) if flag in flags]
    if "avx2" not in flags:
        found = f"{best[0] if best else 'no AVX'}: the engine is several times slower without AVX2, and vLLM does not run"
        return _check("instructions", "warning", found, "use a CPU with AVX2, or expose AVX2 to the VM")
    return _check("instructions", "ok", best[0])


def judge_disk(folder: Path, free_bytes: int) -> Check:
    """Judge the room for prepared models."""
    found = f"{bytes_of(free_bytes)} free for {folder}"
    if free_bytes < _NO_ROOM_BYTES:
        return _check("disk", "problem", found, "make room, or set model.cache: a model cannot be prepared")
    if free_bytes < _LITTLE_ROOM_BYTES:
        return _check("disk", "warning", found, "make room, or set model.cache")
    return _check("disk", "ok", found)


def judge_port(table: HttpTable, error: str, *, is_worker: bool) -> Check:
    """Judge whether the HTTP port is free or a worker's; `error` is why it could not be listened on."""
    where = f"{table.host} port {table.port}"
    if not table.enabled:
        return _check("port", "ok", "http.enabled is false: nothing listens")
    if is_worker:
        return _check("port", "ok", f"a worker answers on {where}")
    if error:
        change = "end what uses it, or set http.port (0: any free one)"
        return _check("port", "problem", f"{where} cannot be listened on: {error}", change)
    return _check("port", "ok", f"{where} is free")


def judge_clock(now_s: float, zone: str) -> Check:
    """Judge whether the clock can be right."""
    shown = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now_s))
    if now_s < _BUILT_S:
        return _check("clock", "problem", f"this machine says {shown}", "set its clock (NTP): every time filter and deadline rests on it")
    return _check("clock", "ok", f"{shown}, time zone {zone} (times in lines that name no zone are taken for UTC or topic.timezone)")


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


def _try_port(table: HttpTable) -> tuple[str, bool]:
    """Return why the port cannot be listened on, empty if it can, and whether a worker answers there."""
    if not table.enabled:
        return "", False
    document = ask_worker(table, "/healthz", timeout_s=_ANSWER_S)
    if document is not None and "checks" in document:
        return "", True
    try:
        family, _, _, _, address = socket.getaddrinfo(table.host, table.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server(address[:2], family=family).close()
    except OSError as error:
        return (error.strerror or str(error)), False
    return "", False


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    return next(one for one in (folder, *folder.absolute().parents) if one.is_dir())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
