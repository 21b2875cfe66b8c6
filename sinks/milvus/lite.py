"""Milvus Lite: a folder on this machine, served inside this process by `milvus_lite`, which only this file imports.

Called by the sink when its URI is a path. Promises: the folder belongs to this process while it is open (an advisory lock of
Milvus Lite's); index files left half-written by a killed process are gone before anything reads them; and whatever is
wrong with the folder is said in one line as `SinkMismatch`.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from sinks.sink import SinkMismatch

if TYPE_CHECKING:
    from milvus_lite import MilvusLite

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+")
_DERIVED = (".idx", ".sidx", ".tmp")
"""Vector indexes, scalar indexes, and files that were about to be renamed: all derived, all built again by `load_collection`."""
_STOP_S = 2.0
_MEMORY_BYTES = 16 << 20
"""What a collection holds in memory before it is written out, inside an insert: of Milvus Lite's own 128 MB for 2 to 6 seconds."""
_FOLDER_MODE = 0o700
"""Logs are for whom the worker runs as."""


def names_server(uri: str) -> bool:
    """Whether `uri` is meant as a server's address; it need not be a good one."""
    return uri.startswith("unix:") or ("://" in uri and not uri.startswith("file://"))


def local_folder(uri: str) -> Path | None:
    """Return the folder that `uri` names, or None for a server's address.

    Raises SinkMismatch for `host:port`, which is neither.
    """
    if names_server(uri):
        return None
    path = uri.removeprefix("file://")
    if not path:
        raise SinkMismatch("Milvus needs an address (http://HOST:PORT) or a local folder; the URI is empty")
    if _HOST_AND_PORT.fullmatch(path):
        raise SinkMismatch(f"Milvus address {uri!r} needs a scheme: http://{uri}")
    return Path(path).expanduser().absolute()


def check_folder(folder: Path) -> None:
    """Raise SinkMismatch unless there is an index in the folder; creates nothing."""
    if not folder.is_file() and not (folder / "collections").is_dir():
        raise SinkMismatch(f"Milvus folder {folder} holds no index yet")


class LocalMilvus:
    """An open folder and the loopback server in front of it.

    Thread: `open` and `close` one at a time.
    """

    def __init__(self, folder: Path) -> None:
        """Take the folder's lock, repair it, and serve it. Raises SinkMismatch, one line that names the folder."""
        from milvus_lite import DataDirLockedError  # noqa: PLC0415 - half a second and 60 MB, only where there is no server
        from milvus_lite.adapter.grpc.server import start_server_in_thread  # noqa: PLC0415 - as above
        from milvus_lite.engine import collection  # noqa: PLC0415 - as above

        self._folder = folder
        if folder.is_file():
            raise SinkMismatch(
                f"Milvus folder {folder} is a file (Milvus Lite 2 kept its database in one, version 3 cannot read it); move it away"
            )
        collection.MEMTABLE_MEMORY_LIMIT = _MEMORY_BYTES  # where its environment variable would put it, if read before the import
        self._database: MilvusLite | None = None
        try:
            folder.mkdir(_FOLDER_MODE, parents=True, exist_ok=True)
            self._server, self._database, self._port = start_server_in_thread(str(folder), host="127.0.0.1", port=0)
            self.repaired = _remove_derived(folder)
        except DataDirLockedError as error:
            if isinstance(error.__cause__, BlockingIOError):
                raise SinkMismatch(f"Milvus folder {folder} is in use by another process") from None
            raise SinkMismatch(f"Milvus folder {folder} cannot be locked: {error.__cause__}") from None
        except OSError as error:
            self.close()
            raise SinkMismatch(f"Milvus folder {folder} cannot be written: {error.strerror or error}") from None

    @property
    def address(self) -> str:
        """Where the folder is served, on loopback."""
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        """Stop serving, write memory out to segments, release the lock; safe to call twice."""
        if self._database is None:
            return
        database, self._database = self._database, None
        self._server.stop(grace=_STOP_S).wait()
        database.close()

    def abandon(self) -> None:
        """Stop serving and write nothing more; the lock goes with the process.

        After a failed write this is the end that cannot make it worse: a write that timed out may still be running, and writing
        memory out deletes the log from which the next start recovers what was acknowledged.
        """
        if self._database is None:
            return
        self._database = None
        self._server.stop(grace=None).wait()


def _remove_derived(folder: Path) -> int:
    """Remove every derived file and return how many there were; call it under the lock, before a collection is opened.

    Milvus Lite saves an index by writing straight to its final name and reads whatever it finds there: a process killed in
    between leaves a file on which `load_collection` fails for ever. Whole ones cannot be told from half ones cheaply.
    """
    derived = [path for path in folder.rglob("*") if path.suffix in _DERIVED and path.is_file()]
    for path in derived:
        path.unlink()
    for collection in (folder / "collections").iterdir():
        if collection.is_dir() and not any(collection.iterdir()):
            collection.rmdir()  # killed between making the folder and writing the schema: it could be neither opened nor created
    return len(derived)
