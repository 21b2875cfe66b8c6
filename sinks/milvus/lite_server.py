"""The process that serves a local Milvus folder on loopback. `sinks.milvus.lite` starts it, by its path: it imports no other file of ours.

Milvus Lite is Python. Inside the worker its threads took the interpreter's lock from the engine, which asks for it hundreds of times a
batch: beside it, a new template cost a sixth more time.

It is started with the folder, the bytes that a collection may hold in memory, and the id of the process that starts it. Standard output
gets one JSON object, `{"port": …, "repaired": …}` or `{"refused": …}`. `close` on standard input has it write memory out to segments and
end. When the process that started it is gone, even while it closes, it ends at once, as if it were killed, too.
"""

import ctypes
import json
import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any, NoReturn

_SAID = os.dup(1)
os.dup2(2, 1)  # before anything is imported that may print
# numpy's threads wait by computing, on the engine's processors: beside questions the engine lost less with one (measured).
os.putenv("OPENBLAS_NUM_THREADS", "1")
# Arrow's own allocator keeps what is freed, also what reads files whatever pool is set later: of ten million lines 190 MB (measured).
os.putenv("ARROW_DEFAULT_MEMORY_POOL", "system")


class _WithoutPandas(MetaPathFinder):
    """Arrow would import it with the first array, and nothing here uses it."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        """Find everything else elsewhere."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


# Milvus Lite needs only the messages of pymilvus. The client, which its `__init__` imports, and pandas are half of a start and 45 MB
# (measured).
sys.meta_path.insert(0, _WithoutPandas())
_SPEC = find_spec("pymilvus")
assert _SPEC is not None  # noqa: S101 - Milvus Lite requires it
sys.modules["pymilvus"] = module_from_spec(_SPEC)  # not executed

import numpy as np  # noqa: E402
from milvus_lite import DataDirLockedError  # noqa: E402
from milvus_lite.adapter.grpc.server import start_server_in_thread  # noqa: E402
from milvus_lite.engine import collection  # noqa: E402
from milvus_lite.index.brute_force import BruteForceIndex  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

_DERIVED = (".idx", ".sidx", ".tmp")
"""Vector indexes, scalar indexes, and files that were about to be renamed: all derived, all built again by `load_collection`."""
_STOP_S = 2.0
_LOCK_S, _LOOK_S = 3.0, 0.05
"""How long the folder may be locked: the process of a worker that was killed a moment ago is about to end."""
_WATCH_S = 1.0
"""The end of input says at once that the starter is gone, unless a process that it forked still holds the other end."""
_M_ARENA_MAX, _ARENAS = -8, 2
"""Of glibc's malloc: Milvus Lite answers on ten threads, and each one's heap kept what it once needed."""
_M_MMAP_THRESHOLD, _MAPPED_BYTES = -3, 1 << 24
"""What is as large goes back to the system when it is freed: joined files. Answers are smaller: to map each one costs a third of a read."""
_FOLDER_MODE = 0o700
"""Logs are for whom the worker runs as."""


class _FolderRefused(Exception):
    """What is wrong with the folder, in one line."""


class _Segment(collection.Segment):  # type: ignore[misc]  # of a library without types
    """A file's rows, in half the time: Milvus Lite looks for a column again at each value of each row.

    Thread: any.
    """

    __slots__ = ("_columns", "_lengths", "repeated")

    def row_to_dict(self, row_idx: int) -> dict[str, object]:
        """Return a row without its `_seq`."""
        columns = getattr(self, "_columns", None)
        if columns is None:
            whole = {name: column for name, column in zip(self.table.column_names, self.table.columns, strict=True) if name != "_seq"}
            if "$meta" in whole or any(column.num_chunks != 1 for column in whole.values()):
                return super().row_to_dict(row_idx)  # type: ignore[no-any-return]
            self._columns = columns = [(name, column.chunk(0)) for name, column in whole.items()]
        return {name: column[row_idx].as_py() for name, column in columns}

    def most_similar(self, queries: NDArray[np.float32], field: str, limit: int) -> list[int]:
        """Return the rows with the `limit` vectors of least angle to each of the queries, float32[n, dim]."""
        if limit >= self.num_rows:
            return list(range(self.num_rows))
        vectors, _ = self.vector_data(field)
        if not hasattr(self, "_lengths"):
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
            self._lengths = np.where(lengths > 0, lengths, np.inf)
        similar = (queries @ vectors.T) / self._lengths
        return np.unique(np.argpartition(-similar, limit - 1, axis=1)[:, :limit]).tolist()  # type: ignore[no-any-return]

    def is_flat(self, field: str) -> bool:
        """Whether a search compares with every vector of the file, and none is missing."""
        index = self.indexes.get(field)
        return field == self._vector_field and (index is None or isinstance(index, BruteForceIndex)) and self.vector_data(field)[1] is None


class _Rows:
    """Some rows of a file, as far as a search looks at a file.

    Thread: one.
    """

    def __init__(self, segment: _Segment, rows: Sequence[int], field: str) -> None:
        self.num_rows, self.partition, self.indexes = len(rows), segment.partition, dict[str, object]()
        self.pks, self.seqs = [segment.pks[row] for row in rows], segment.seqs[rows]
        self._segment, self._rows, self._vectors = segment, rows, segment.vector_data(field)[0][rows]

    def vector_data(self, _field: str) -> tuple[NDArray[np.float32], None]:
        """Return the vectors of the rows, none of which is missing."""
        return self._vectors, None

    def row_to_dict(self, row_idx: int) -> dict[str, object]:
        """Return a row without its `_seq`."""
        return self._segment.row_to_dict(self._rows[row_idx])


def _repeated(files: Sequence[_Segment]) -> int:
    """Return how many rows of these files stand in another of them, too. A file never changes, so the same ones are compared once."""
    paths = [one.file_path for one in files]
    known, count = getattr(files[0], "repeated", (None, 0))
    if known != paths:
        count = sum(len(one.pks) for one in files) - len(set().union(*(one.pk_to_row for one in files)))
        files[0].repeated = (paths, count)
    return count


def _outdated(files: Sequence[_Segment], memtable: Any, deletes: Any) -> int:  # noqa: ANN401 (of a library without types)
    """Return how many rows of these files were written again or deleted since, or a few more."""
    again = sum(any(key in one.pk_to_row for one in files) for key, _ in memtable.pk_index_snapshot())
    return (_repeated(files) if files else 0) + again + len(deletes) + len(memtable.delete_index_snapshot())


def _search(*, segments: Sequence[_Segment], query_vectors: NDArray[np.float32], **asked: Any) -> Any:  # noqa: ANN401 (of a library without types)
    """Search as Milvus Lite does, but among those rows of each file that can be in the answer.

    It looks at each row in Python, to find those that are out of date, and computes the length of each vector anew: of 100,000 templates
    that was three quarters of a question's time (measured).
    """
    field = asked["vector_field"]
    files = [one for one in segments if one.num_rows]
    is_plain = asked["metric_type"] == "COSINE" and not asked["partition_names"] and asked["compiled_filter"] is None
    if not files or not is_plain or not all(one.is_flat(field) for one in files):
        return _SEARCH(segments=segments, query_vectors=query_vectors, **asked)
    limit = asked["top_k"] + _outdated(files, asked["memtable"], asked["delta_index"])
    rows = [one.most_similar(query_vectors, field, limit) for one in files]
    keys = {one.pks[row] for one, chosen in zip(files, rows, strict=True) for row in chosen}
    # Whichever of several rows with one key is the newest: Milvus Lite has to see them all.
    rows = [
        sorted({*chosen, *(one.pk_to_row[key] for key in keys & one.pk_to_row.keys())}) for one, chosen in zip(files, rows, strict=True)
    ]
    shown = [_Rows(one, chosen, field) for one, chosen in zip(files, rows, strict=True)]
    return _SEARCH(segments=shown, query_vectors=query_vectors, **asked)


def _count(whole: Any, partition_names: Sequence[str] | None) -> int:  # noqa: ANN401 (of a library without types)
    """Count the rows of a collection; one by one, as Milvus Lite does, only where some may be out of date."""
    files, deletes = whole._read_snapshot()  # noqa: SLF001 - stands for a method
    if partition_names is not None or _outdated(files, whole._memtable, deletes):  # noqa: SLF001
        return int(_COUNT(whole, partition_names))
    return sum(len(one.pks) for one in files) + len(whole._memtable.pk_index_snapshot())  # noqa: SLF001


_SEARCH, _COUNT = collection.execute_search_with_index, collection.Collection._num_entities  # noqa: SLF001 - replaced


def _give_memory_back() -> None:
    """Have this process give back to the system what is freed."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries have none
        mallopt(_M_ARENA_MAX, _ARENAS)
        mallopt(_M_MMAP_THRESHOLD, _MAPPED_BYTES)


def _open(folder: Path) -> Any:  # noqa: ANN401 (of a library without types)
    """Take the folder's lock and serve it; returns server, database and port. Raises _FolderRefused."""
    until_s = time.monotonic() + _LOCK_S
    while True:
        try:
            folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            return start_server_in_thread(str(folder), host="127.0.0.1", port=0)
        except DataDirLockedError as error:
            if not isinstance(error.__cause__, BlockingIOError):
                raise _FolderRefused(f"Milvus folder {folder} cannot be locked: {error.__cause__}") from None
            if time.monotonic() > until_s:
                raise _FolderRefused(f"Milvus folder {folder} is in use by another process") from None
            time.sleep(_LOOK_S)


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


def _watch(starter: int, asked: threading.Event) -> NoReturn:
    """Set `asked` when input says so, and end the process when its starter is gone."""
    while True:
        ready, _, _ = select.select([0], [], [], _WATCH_S)
        if os.getppid() != starter or (ready and not os.read(0, 64)):
            os._exit(1)
        if ready:
            asked.set()


def main() -> NoReturn:
    """Serve the folder that is named until told to end."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # what stops a whole service stops the worker first, which still writes
    for name in ("milvus_lite", "pymilvus"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # a failed call's reason is in its answer
    folder, memory_bytes, starter = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    asked = threading.Event()
    threading.Thread(target=_watch, args=(starter, asked), daemon=True).start()
    _give_memory_back()
    collection.Segment = _Segment
    collection.execute_search_with_index, collection.Collection._num_entities = _search, _count  # noqa: SLF001
    collection.MEMTABLE_MEMORY_LIMIT = memory_bytes  # where its environment variable would put it, if read before the import
    with os.fdopen(_SAID, "w") as said:
        try:
            server, database, port = _open(folder)
            json.dump({"port": port, "repaired": _remove_derived(folder)}, said)
        except _FolderRefused as refused:
            json.dump({"refused": str(refused)}, said)
            sys.exit(1)
        except OSError as error:
            json.dump({"refused": f"Milvus folder {folder} cannot be written: {error.strerror or error}"}, said)
            sys.exit(1)
    asked.wait()
    server.stop(grace=_STOP_S).wait()
    database.close()
    sys.exit(0)


if __name__ == "__main__":
    main()
