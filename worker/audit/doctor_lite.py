"""The doctor's checks of a Milvus Lite folder: whose it is, who may read it, whether there is room, and how near it is to its limit.

A folder belongs to one process. The worker that holds it looks through its own sink (`look_at_open_sink`); a tool asks that worker, and
opens a folder that nobody uses, as `verify` does.
"""

import fcntl
import shutil
import stat
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from sinks.milvus.lite import local_folder
from sinks.milvus.settings import VectorSpace
from sinks.sink import BlockFilter, Sink, SinkBroken, SinkBusy, SinkMismatch
from worker.audit.doctor import Check
from worker.audit.doctor_milvus import NewSpace, check, told_consistency
from worker.audit.doctor_words import bytes_of, counted, seconds_of
from worker.audit.doctor_worker import ask_worker, checks_of
from worker.connections import open_sink
from worker.embedding.model.errors import ModelError
from worker.settings.settings import Settings

MOST_LINES: Final = 60_000_000
"""With more lines, Milvus Lite's own compaction fails."""
_NEAR: Final = 0.5
_LITTLE_ROOM_BYTES: Final = 1 << 30
_NO_ROOM_BYTES: Final = 100 << 20
_ASK_S: Final = 5.0


class FolderFacts(NamedTuple):
    """What the file system says of a folder."""

    folder: Path
    mode: int
    """Its permissions."""
    free_bytes: int
    used_bytes: int
    is_held: bool
    """Some process has its lock."""


def look_at_folder(settings: Settings, new_space: NewSpace) -> Iterator[Check]:
    """Look at a folder from outside the worker. Raises SinkMismatch for an address that is neither server nor folder."""
    folder = local_folder(settings.milvus.uri)
    assert folder is not None  # noqa: S101 - a server is `doctor_milvus`'s
    yield check("version", "ok", f"Milvus Lite {_lite_version()}")
    yield check("consistency", "ok", told_consistency(settings.milvus))
    if not (folder / "collections").is_dir():
        yield _absent(folder)
        return
    facts = folder_facts(folder)
    yield judge_folder(facts)
    yield judge_disk(facts)
    if facts.is_held:
        yield from _ask_holder(settings, facts)
    else:
        yield from _open(settings, facts, new_space)


def look_at_open_sink(settings: Settings, sink: Sink) -> Iterator[Check]:
    """Look at the folder that this process holds, through its sink."""
    folder = local_folder(settings.milvus.uri)
    assert folder is not None  # noqa: S101 - as above
    try:
        sink.ping()
        checks = list(_of_open_sink(settings, sink, f"{folder} is open in this worker"))
    except (SinkBusy, SinkBroken) as error:
        yield check("index", "problem", f"{folder} cannot be used: {error}", "look at the worker's log; start it again")
        return
    yield check("version", "ok", f"Milvus Lite {_lite_version()}")
    yield check("consistency", "ok", told_consistency(settings.milvus))
    for name in ("schema", "space", "owner"):
        yield check(name, "ok", "was checked when this worker opened it")
    facts = folder_facts(folder)
    yield judge_folder(facts)
    yield judge_disk(facts)
    yield from checks


def folder_facts(folder: Path) -> FolderFacts:
    """Ask the file system."""
    used = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return FolderFacts(folder, stat.S_IMODE(folder.stat().st_mode), shutil.disk_usage(folder).free, used, is_held(folder))


def is_held(folder: Path) -> bool:
    """Return whether a process has the folder's lock; takes it for a moment and writes nothing."""
    try:
        with (folder / "LOCK").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def judge_folder(facts: FolderFacts) -> Check:
    """Judge who may read the lines."""
    if facts.mode & 0o077:
        found = f"{facts.folder} has the permissions {facts.mode:04o}: other users of this machine may read the lines"
        return check("folder", "warning", found, f"chmod 700 {facts.folder}")
    return check("folder", "ok", f"{facts.folder} is only for the user that the worker runs as")


def judge_disk(facts: FolderFacts) -> Check:
    """Judge whether there is room: the first write that fails ends the worker."""
    found = f"{bytes_of(facts.free_bytes)} free; the folder has {bytes_of(facts.used_bytes)}"
    change = "make room, or move the folder: the first write that fails ends the worker"
    if facts.free_bytes < _NO_ROOM_BYTES:
        return check("disk", "problem", found, change)
    if facts.free_bytes < max(_LITTLE_ROOM_BYTES, facts.used_bytes // 2):
        return check("disk", "warning", found, f"{change}; index.retention_days bounds it")
    return check("disk", "ok", found)


def judge_size(lines: int, blocks: int, templates: int) -> Check:
    """Judge how near the folder is to what Milvus Lite can hold."""
    there = f"{counted(lines, 'line')} in {counted(blocks, 'block')}, {counted(templates, 'template')}"
    found = f"{there}; Milvus Lite holds up to {MOST_LINES:,} lines"
    if lines > MOST_LINES:
        return check("size", "problem", found, "move to a Milvus server: Milvus Lite fails to merge its own files above that")
    if lines > _NEAR * MOST_LINES:
        return check("size", "warning", found, "plan a Milvus server, or set index.retention_days")
    return check("size", "ok", found)


def _of_open_sink(settings: Settings, sink: Sink, found: str) -> Iterator[Check]:
    started_s = time.monotonic()
    counts = sink.counts()
    lines = int(sink.find_blocks(BlockFilter()).heads.lines.sum())
    yield check("index", "ok", f"{found}; it answers in {seconds_of(time.monotonic() - started_s)}")
    yield judge_size(lines, counts.blocks, counts.templates)
    yield check("loaded", "ok", "blocks and templates are indexed and loaded")
    days = settings.index.retention_days
    told = f"a worker removes lines after {days:g} d while it runs; templates stay" if days else "lines stay for ever"
    yield check("retention", "ok", told)


def _ask_holder(settings: Settings, facts: FolderFacts) -> Iterator[Check]:
    """Have the worker that holds the folder look at it; what was seen from outside is not said again."""
    answered = [one for one in checks_of(ask_worker(settings.http, "/api/doctor?group=milvus", timeout_s=_ASK_S)) if one.group == "milvus"]
    seen = ("version", "consistency", "folder", "disk")
    if answered:
        yield from (one for one in answered if one.name not in seen)
        return
    if settings.http.enabled and settings.http.port:
        found = f"{facts.folder} is in use by another process, and no worker answers on {settings.http.host} port {settings.http.port}"
        change = "if that is a worker with other http settings, give its own to the doctor; else end the process: a folder is for one"
        yield check("index", "warning", found, change)
        return
    yield check("index", "ok", f"{facts.folder} is in use by another process, which cannot be asked without http.port")


def _open(settings: Settings, facts: FolderFacts, new_space: NewSpace) -> Iterator[Check]:
    """Open a folder that nobody uses, as a tool that only reads does."""
    try:
        space = new_space()
    except ModelError as error:
        yield check("index", "ok", f"{facts.folder} is there, and nobody uses it")
        yield check("space", "warning", f"the index cannot be compared with the model: {error}", "mend the model first")
        return
    try:
        with open_sink(settings, space, strong=False) as sink:
            yield from _of_open_sink(settings, sink, f"{facts.folder} can be opened, and no worker uses it")
    except SinkMismatch as error:
        yield from _mismatch(facts.folder, str(error), space)
        return
    except (SinkBusy, SinkBroken) as error:
        yield check("index", "problem", f"{facts.folder} cannot be used: {error}", "see what is wrong with it with `vectail verify`")
        return
    yield check("schema", "ok", "blocks and templates have all columns")
    yield check("space", "ok", f"the index is of the model's embedding space, {space.id}")
    yield check("owner", "ok", f"the index is that of consumer group {settings.kafka.group!r}")


def _mismatch(folder: Path, reason: str, space: VectorSpace) -> Iterator[Check]:
    """Return the checks for what the sink refused; its line names what differs."""
    if "nothing has been indexed yet" in reason:
        yield _absent(folder)
    elif "consumer group" in reason:
        yield check("index", "ok", f"{folder} can be opened")
        yield check("owner", "problem", reason, "see the line: another name or --adopt")
    elif "embedding space" in reason:
        yield check("index", "ok", f"{folder} can be opened")
        yield check("space", "problem", reason, f"use the model that filled it, or another milvus.collection for {space.id}")
    elif "collection" in reason:
        yield check("index", "ok", f"{folder} can be opened")
        yield check("schema", "problem", reason, "set milvus.collection to a new name and index again: Kafka still has the lines")
    else:
        yield check("index", "problem", reason, "see the line")


def _absent(folder: Path) -> Check:
    return check("index", "warning", f"{folder} holds no index yet: nothing is indexed", "`vectail run` creates it")


def _lite_version() -> str:
    try:
        return version("milvus-lite")
    except PackageNotFoundError:
        return "is not installed"
