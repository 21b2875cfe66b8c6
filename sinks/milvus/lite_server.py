"""The process that serves a local Milvus folder on loopback. `sinks.milvus.lite` starts it, by its path: it imports no other file of ours.

Milvus Lite is Python. Inside the worker its threads took the interpreter's lock from the engine, which asks for it hundreds of times a
batch: beside it, a new template cost a sixth more time.

It is started with the folder and the limits of memory and of files that are joined. Standard output gets one JSON object,
`{"port": …, "repaired": …}` or `{"refused": …}`. Standard input then says how it ends: `close` has it write memory out to segments; the end
of input, which comes when the process that started it dies, has it end as if it were killed, too.
"""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
from milvus_lite import DataDirLockedError
from milvus_lite.adapter.grpc.server import start_server_in_thread
from milvus_lite.engine import collection, compaction

_DERIVED = (".idx", ".sidx", ".tmp")
"""Vector indexes, scalar indexes, and files that were about to be renamed: all derived, all built again by `load_collection`."""
_STOP_S = 2.0
_LOCK_S, _LOOK_S = 3.0, 0.05
"""How long the folder may be locked: the process of a worker that was killed a moment ago is about to end."""
_M_ARENA_MAX, _ARENAS = -8, 2
"""Of glibc's malloc: Milvus Lite answers on ten threads, and each one's heap kept what it once needed."""
_FOLDER_MODE = 0o700
"""Logs are for whom the worker runs as."""


class _Refused(Exception):
    """What is wrong with the folder, in one line."""


class _SmallFiles(compaction.CompactionManager):  # type: ignore[misc] # it has no types
    """Milvus Lite's compaction, which joins the largest files as well, without that."""

    @staticmethod
    def _select_target(buckets: list[list[tuple[str, int]]], _total_files: int, partition_dir: str) -> list[str] | None:
        small = buckets[:-1]
        chosen: list[str] | None = compaction.CompactionManager._select_target(small, sum(map(len, small)), partition_dir)  # noqa: SLF001
        return chosen


def _limit(memory_bytes: int, joined_bytes: list[int]) -> None:
    """Set how much a collection holds in memory, and up to which sizes files are joined."""
    collection.MEMTABLE_MEMORY_LIMIT = memory_bytes  # where its environment variable would put it, if read before the import
    compaction.COMPACTION_BUCKET_BOUNDARIES = joined_bytes
    collection.CompactionManager = _SmallFiles


def _give_memory_back() -> None:
    """Have this process give back to the system what is freed: of a folder with a million lines 120 MB less stay (measured)."""
    pa.set_memory_pool(pa.system_memory_pool())  # Arrow's own pools keep much of it
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries have none
        mallopt(_M_ARENA_MAX, _ARENAS)


def _open(folder: Path) -> Any:  # noqa: ANN401 (of a library without types)
    """Take the folder's lock and serve it; returns server, database and port. Raises _Refused."""
    until_s = time.monotonic() + _LOCK_S
    while True:
        try:
            folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            return start_server_in_thread(str(folder), host="127.0.0.1", port=0)
        except DataDirLockedError as error:
            if not isinstance(error.__cause__, BlockingIOError):
                raise _Refused(f"Milvus folder {folder} cannot be locked: {error.__cause__}") from None
            if time.monotonic() > until_s:
                raise _Refused(f"Milvus folder {folder} is in use by another process") from None
            time.sleep(_LOOK_S)
        except OSError as error:
            raise _Refused(f"Milvus folder {folder} cannot be written: {error.strerror or error}") from None


def _remove_derived(folder: Path) -> int:
    """Remove every derived file and return how many there were; call it under the lock, before a collection is opened.

    Milvus Lite saves an index by writing straight to its final name and reads whatever it finds there: a process killed in
    between leaves a file on which `load_collection` fails for ever. Whole ones cannot be told from half ones cheaply.
    """
    derived = [path for path in folder.rglob("*") if path.suffix in _DERIVED and path.is_file()]
    for path in derived:
        path.unlink()
    for made in (folder / "collections").iterdir():
        if made.is_dir() and not any(made.iterdir()):
            made.rmdir()  # killed between making the folder and writing the schema: it could be neither opened nor created
    return len(derived)


def main() -> NoReturn:
    """Serve the folder that is named until told to end."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # what stops a whole service stops the worker first, which still writes
    folder = Path(sys.argv[1])
    _give_memory_back()
    _limit(*json.loads(sys.argv[2]))
    with os.fdopen(os.dup(1), "w") as said:
        os.dup2(2, 1)
        try:
            server, database, port = _open(folder)
            opened = {"port": port, "repaired": _remove_derived(folder)}
        except _Refused as refused:
            json.dump({"refused": str(refused)}, said)
            sys.exit(1)
        except OSError as error:
            json.dump({"refused": f"Milvus folder {folder} cannot be written: {error.strerror or error}"}, said)
            sys.exit(1)
        json.dump(opened, said)
    if sys.stdin.readline() != "close\n":
        os._exit(1)
    server.stop(grace=_STOP_S).wait()
    database.close()
    sys.exit(0)


if __name__ == "__main__":
    main()
