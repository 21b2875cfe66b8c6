"""Milvus Lite: a folder on this machine, served by a process that this one starts (`sinks.milvus.lite_server`).

Called by the sink when its URI is a path. Promises: the folder belongs to that process while it is open (an advisory lock of Milvus
Lite's), which ends with this one, however this one ends; index files left half-written by a killed process are gone before anything
reads them; and whatever is wrong with the folder is said in one line as `SinkMismatch`.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from sinks.sink import SinkMismatch

_HOST_AND_PORT = re.compile(r"[\w.-]+:\d+")
_SERVER = Path(__file__).with_name("lite_server.py")
_MEMORY_BYTES = 16 << 20
"""What a collection holds in memory before it is written out, inside an insert: of Milvus Lite's own 128 MB for 2 to 6 seconds."""


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
        """Have the folder locked, repaired and served. Raises SinkMismatch, one line that names the folder."""
        if folder.is_file():
            raise SinkMismatch(
                f"Milvus folder {folder} is a file (Milvus Lite 2 kept its database in one, version 3 cannot read it); move it away"
            )
        # Without -P the folder of the program would come first where modules are looked for. In a session of its own, Ctrl-C passes it by.
        command = [sys.executable, "-P", str(_SERVER), str(folder), str(_MEMORY_BYTES), str(os.getpid())]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
            )
        except OSError as error:
            raise SinkMismatch(f"Milvus folder {folder} cannot be served: {error.strerror or error}") from None
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        with self._process.stdout as said:
            told = json.loads(said.read() or "{}")
        if "port" not in told:
            self.abandon()
            raise SinkMismatch(told.get("refused") or f"Milvus folder {folder} cannot be served: the process that should do it has ended")
        self._port: int = told["port"]
        self.repaired: int = told["repaired"]
        """How many derived files were removed."""

    @property
    def address(self) -> str:
        """Where the folder is served, on loopback."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Of the process that serves it."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether that process is gone: killed, or closed."""
        return self._process.poll() is not None

    def close(self) -> None:
        """Stop serving, write memory out to segments, release the lock; safe to call twice, and after `abandon`."""
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        # Input stays open: were this process to end meanwhile, the other one would, too.
        with suppress(BrokenPipeError, ValueError):  # it is dead, or closed already
            self._process.stdin.write("close\n")
            self._process.stdin.flush()
        self._process.wait()
        self._let_go()

    def abandon(self) -> None:
        """Stop serving and write nothing more.

        After a failed write this is the end that cannot make it worse: a write that timed out may still be running, and writing
        memory out deletes the log from which the next start recovers what was acknowledged.
        """
        self._process.kill()
        self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        with suppress(BrokenPipeError):
            self._process.stdin.close()
