"""The process that serves a local Milvus folder on loopback; `sinks.milvus.lite` starts it, as a program of its own: it imports no other file.

Milvus Lite is Python. Inside the worker its threads took the interpreter's lock from the engine, which asks for it hundreds of times a
batch: beside it, a new template cost a sixth more time.

Standard output gets one line of JSON: `{"port": …, "repaired": …}`, or `{"refused": …}`. Then standard input says how it ends: `close` has it
write memory out to segments; the end of input, which comes when the process that started it dies, has it end as if it were killed, too.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from milvus_lite import DataDirLockedError
from milvus_lite.adapter.grpc.server import start_server_in_thread
from milvus_lite.engine import collection

_DERIVED = (".idx", ".sidx", ".tmp")
"""Vector indexes, scalar indexes, and files that were about to be renamed: all derived, all built again by `load_collection`."""
_STOP_S = 2.0
_LOCK_S, _LOOK_S = 3.0, 0.05
"""How long the folder may be locked: the process of a worker that was killed a moment ago is about to end."""
_MEMORY_BYTES = 16 << 20
"""What a collection holds in memory before it is written out, inside an insert: of Milvus Lite's own 128 MB for 2 to 6 seconds."""
_FOLDER_MODE = 0o700
"""Logs are for whom the worker runs as."""


class _Refused(Exception):
    """What is wrong with the folder, in one line."""


def _open(folder: Path) -> tuple[Any, Any, int]:
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
    collection.MEMTABLE_MEMORY_LIMIT = _MEMORY_BYTES  # where its environment variable would put it, if read before the import
    folder = Path(sys.argv[1])
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
