"""Where a stack runs: a folder with everything that it writes, a lock that shows whether it runs, and a socket for commands.

The lock is on the folder's parent. The process that waits for the end of the supervisor's process namespace holds it, so it is free only
when all processes of the stack have ended, for whatever reason. One parent folder has at most one stack.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.services.processes import children

DEFAULT_FOLDER = Path(__file__).parents[2] / ".cache" / "stack"
_LOOK_AGAIN_S = 0.1
_ANSWER_S = 300.0
"""For one line of an answer; a whole start may take longer."""


class NoAnswer(Exception):
    """No supervisor accepts commands here, or it stopped answering."""


class Place:
    """One folder, with or without a running stack.

    Thread: main.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @property
    def settings_file(self) -> Path:
        return self.folder / "vectail.toml"

    @property
    def spare(self) -> Path:
        """Return the folder for temporary files of all parts."""
        return self.folder / "tmp"

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def take(self) -> int | None:
        """Take the lock; return the open file that holds it, None if a stack runs here."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder.parent, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def is_taken(self) -> bool:
        """Return whether any process of a stack runs here."""
        if (lock := self.take()) is None:
            return True
        os.close(lock)
        return False

    def wait_free(self, most_s: float) -> bool:
        """Wait until all processes have ended; return whether they have."""
        until_s = time.monotonic() + most_s
        while self.is_taken():
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_AGAIN_S)
        return True

    def make(self) -> None:
        """Create the folder, empty. The caller must hold the lock."""
        self.remove()
        self.spare.mkdir(parents=True)

    def remove(self) -> None:
        """Remove the folder. No process may run in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def note(self, pid: int) -> None:
        """Store the id of the process that holds the lock."""
        (self.folder / "pid").write_text(f"{pid}\n")

    def supervisors(self) -> list[int]:
        """Return the process whose end ends all others: the child of the one that holds the lock."""
        try:
            return children(int((self.folder / "pid").read_text()))
        except (OSError, ValueError):
            return []

    def kill(self) -> None:
        """Kill a stack that does not answer. It must hold the lock; otherwise another process may have the stored id by now."""
        for pid in self.supervisors():
            os.kill(pid, signal.SIGKILL)

    def listen(self) -> socket.socket:
        """Return a socket on which the supervisor accepts commands."""
        listener = socket.socket(socket.AF_UNIX)
        with self._short() as path:
            listener.bind(path)
        listener.listen()
        return listener

    def ask(self, **command: str) -> Iterator[dict[str, Any]]:
        """Send a command; yield the answer line by line. Raises NoAnswer."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_S)
            try:
                with self._short() as path:
                    connection.connect(path)
                connection.sendall(f"{json.dumps(command)}\n".encode())
                with connection.makefile() as answer:
                    yield from map(json.loads, answer)
            except OSError as error:
                raise NoAnswer(str(error)) from error

    @contextlib.contextmanager
    def _short(self) -> Iterator[str]:
        """Yield a path of the socket that fits the limit of 107 bytes."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            yield f"/proc/self/fd/{folder}/control"
        finally:
            os.close(folder)
