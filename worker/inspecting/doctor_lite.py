"""The doctor's checks of a Milvus Lite folder: whose it is, who may read it, whether there is room, and how near it is to its limit.

A folder belongs to one process. The worker that holds it looks through its own sink; a tool asks that worker, and opens a folder that
nobody uses, as `verify` does.
"""

import fcntl
import shutil
import stat
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from sinks.index_spaces import VectorSpace
from sinks.milvus.lite import local_folder
from sinks.sink import BlockFilter, Sink, SinkBroken, SinkBusy, SinkMismatch
from worker.connections import open_sink
from worker.embedding.model.errors import ModelError
from worker.inspecting.doctor import Check, Verdict, first_of, judge_all, ok, problem, warning
from worker.inspecting.doctor_milvus import NewSpace, judge_views, told_consistency, unknown_space
from worker.inspecting.doctor_worker import ask_doctor
from worker.runtime.wording import bytes_of, counted, seconds_of
from worker.settings.settings import Settings

MOST_LINES: Final = 60_000_000
"""With more lines, Milvus Lite's own compaction fails."""
_NEAR: Final = 0.5
_LITTLE_ROOM_BYTES: Final = 1 << 30
_NO_ROOM_BYTES: Final = 100 << 20
_ASK_S: Final = 5.0


class FolderFacts(NamedTuple):
    """What the file system says of a folder."""

    settings: Settings
    folder: Path
    mode: int
    """Its permissions."""
    free_bytes: int
    used_bytes: int


class IndexFacts(NamedTuple):
    """What an open index says."""

    settings: Settings
    where: str
    """The folder, and who has it open."""
    seconds: float
    lines: int
    blocks: int
    templates: int


def look_at_folder(settings: Settings, new_space: NewSpace) -> dict[str, Verdict]:
    """Look at a folder from outside the worker. Raises SinkMismatch for an address that is neither server nor folder."""
    folder = _folder_of(settings)
    if not (folder / "collections").is_dir():
        return _alone(settings) | {"index": _absent(folder)}
    seen = _alone(settings) | judge_all(FOLDER_CHECKS, folder_facts(settings))
    return (_ask_holder(settings, folder) if is_held(folder) else _open(settings, folder, new_space)) | seen


def look_at_open_sink(settings: Settings, sink: Sink, new_space: NewSpace) -> dict[str, Verdict]:
    """Look at the folder that this process holds, through its sink."""
    folder = _folder_of(settings)
    try:
        sink.ping()
        views = _views(sink, new_space)
        checked = judge_all(INDEX_CHECKS, _index_facts(settings, sink, f"{folder} is open in this worker"))
    except (SinkBusy, SinkBroken) as error:
        return {"index": problem(f"{folder} cannot be used: {error}", "look at the worker's log; start it again")}
    at_start = dict.fromkeys(("schema", "owner"), ok("was checked when this worker opened it"))
    return _alone(settings) | at_start | {"space": views} | judge_all(FOLDER_CHECKS, folder_facts(settings)) | checked


def folder_facts(settings: Settings) -> FolderFacts:
    """Ask the file system."""
    folder = _folder_of(settings)
    used = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return FolderFacts(settings, folder, stat.S_IMODE(folder.stat().st_mode), shutil.disk_usage(folder).free, used)


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


def _permissions(facts: FolderFacts) -> Verdict:
    found = f"{facts.folder} has the permissions {facts.mode:04o}: other users of this machine may read the lines"
    is_open, fine = facts.mode & 0o077, f"{facts.folder} is only for the user that the worker runs as"
    return first_of((is_open, warning(found, f"chmod 700 {facts.folder}")), otherwise=fine)


def _disk(facts: FolderFacts) -> Verdict:
    found = f"{bytes_of(facts.free_bytes)} free; the folder has {bytes_of(facts.used_bytes)}"
    change = "make room, or move the folder: the first write that fails ends the worker"
    is_low = facts.free_bytes < max(_LITTLE_ROOM_BYTES, facts.used_bytes // 2)
    return first_of(
        (facts.free_bytes < _NO_ROOM_BYTES, problem(found, change)),
        (is_low, warning(found, f"{change}; index.retention_days bounds it")),
        otherwise=found,
    )


FOLDER_CHECKS: Final = (Check("folder", _permissions), Check("disk", _disk))


def _size(facts: IndexFacts) -> Verdict:
    there = f"{counted(facts.lines, 'line')} in {counted(facts.blocks, 'block')}, {counted(facts.templates, 'template')}"
    found = f"{there}; Milvus Lite holds up to {MOST_LINES:,} lines"
    too_many = "move to a Milvus server: Milvus Lite fails to merge its own files above that"
    return first_of(
        (facts.lines > MOST_LINES, problem(found, too_many)),
        (facts.lines > _NEAR * MOST_LINES, warning(found, "plan a Milvus server, or set index.retention_days")),
        otherwise=found,
    )


def _retention(facts: IndexFacts) -> Verdict:
    days = facts.settings.index.retention_days
    return ok(f"a worker removes lines after {days:g} d while it runs; templates stay" if days else "lines stay for ever")


INDEX_CHECKS: Final[tuple[Check[IndexFacts], ...]] = (
    Check("index", lambda facts: ok(f"{facts.where}; it answers in {seconds_of(facts.seconds)}")),
    Check("loaded", lambda _facts: ok("blocks and templates are indexed and loaded")),
    Check("retention", _retention),
    Check("size", _size),
)


def _folder_of(settings: Settings) -> Path:
    folder = local_folder(settings.milvus.uri)
    assert folder is not None  # noqa: S101 - a server is `doctor_milvus`'s
    return folder


def _alone(settings: Settings) -> dict[str, Verdict]:
    """Return what is known without the folder."""
    try:
        lite = version("milvus-lite")
    except PackageNotFoundError:
        lite = "is not installed"
    return {"version": ok(f"Milvus Lite {lite}"), "consistency": ok(told_consistency(settings.milvus))}


def _index_facts(settings: Settings, sink: Sink, where: str) -> IndexFacts:
    started_s = time.monotonic()
    counts = sink.counts()
    lines = int(sink.find_blocks(BlockFilter()).heads.lines.sum())
    return IndexFacts(settings, where, time.monotonic() - started_s, lines, counts.blocks, counts.templates)


def _views(sink: Sink, new_space: NewSpace) -> Verdict:
    try:
        own = new_space().id
    except ModelError as error:
        return unknown_space(error)
    return judge_views(sink.spaces(), own)


def _ask_holder(settings: Settings, folder: Path) -> dict[str, Verdict]:
    """Have the worker that holds the folder look at it."""
    if answered := ask_doctor(settings.http, "milvus", timeout_s=_ASK_S):
        return answered
    found = f"{folder} is in use by another process"
    if not settings.http.enabled or not settings.http.port:
        return {"index": ok(f"{found}, which cannot be queried without http.port")}
    silent = f"{found}, and no worker answers on {settings.http.host} port {settings.http.port}"
    change = "if that is a worker with other http settings, give these to the doctor; else end the process: only one may use a folder"
    return {"index": warning(silent, change)}


def _open(settings: Settings, folder: Path, new_space: NewSpace) -> dict[str, Verdict]:
    """Open a folder that nobody uses, as a tool that only reads does."""
    try:
        space = new_space()
    except ModelError as error:
        return {"index": ok(f"{folder} exists and is not in use"), "space": unknown_space(error)}
    try:
        with open_sink(settings, space, strong=False) as sink:
            facts = _index_facts(settings, sink, f"{folder} can be opened, and no worker uses it")
            views = judge_views(sink.spaces(), space.id)
    except SinkMismatch as error:
        return _mismatch(folder, str(error), space)
    except (SinkBusy, SinkBroken) as error:
        return {"index": problem(f"{folder} cannot be used: {error}", "`vectail verify` shows what is wrong with it")}
    return judge_all(INDEX_CHECKS, facts) | {
        "schema": ok("blocks and templates have all columns"),
        "space": views,
        "owner": ok(f"the index belongs to consumer group {settings.kafka.group!r}"),
    }


def _mismatch(folder: Path, reason: str, space: VectorSpace) -> dict[str, Verdict]:
    """Return the verdicts on what the sink refused; its line names what differs."""
    if "nothing has been indexed yet" in reason:
        return {"index": _absent(folder)}
    fixes = {
        "consumer group": ("owner", "see the line: another name or --adopt"),
        "embedding space": ("space", f"use the model that filled it, or another milvus.collection for {space.id}"),
        "collection": ("schema", "set milvus.collection to a new name and index again: Kafka still has the lines"),
    }
    for word, (name, change) in fixes.items():
        if word in reason:
            return {"index": ok(f"{folder} can be opened"), name: problem(reason, change)}
    return {"index": problem(reason, "see the line")}


def _absent(folder: Path) -> Verdict:
    return warning(f"{folder} holds no index yet: nothing is indexed", "`vectail run` creates it")
