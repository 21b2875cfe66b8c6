"""Where a stack lives: one folder with everything that it writes, a lock that says whether it runs, and a socket to command it.

The lock is on the folder's parent and is held by the process that waits for the supervisor's process namespace to end, so it is free only
when all processes of the stack are gone, however they went. One parent has one stack.
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

DEFAULT_FOLDER = Path(__file__).parents[2] / ".cache" / "stack"
_LOOK_AGAIN_S = 0.1
_ANSWER_S = 300.0
"""For one line of an answer: a start takes as long as it takes."""


class NoAnswer(Exception):
    """Nobody takes commands here, or stopped answering."""


class Place:
    """One folder, whether a stack runs in it or not.

    Thread: main.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @property
    def settings_file(self) -> Path:
        return self.folder / "vectail.toml"

    @property
    def spare(self) -> Path:
        """Where everybody's temporary files go."""
        return self.folder / "tmp"

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def take(self) -> int | None:
        """Take the lock; returns the open file that holds it, None when a stack runs here."""
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(self.folder.parent, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock

    def is_taken(self) -> bool:
        """Whether a process of a stack lives here."""
        if (lock := self.take()) is None:
            return True
        os.close(lock)
        return False

    def wait_free(self, most_s: float) -> bool:
        """Wait until all processes are gone; returns whether they are."""
        until_s = time.monotonic() + most_s
        while self.is_taken():
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_AGAIN_S)
        return True

    def make(self) -> None:
        """Begin with an empty folder; the lock must be ours."""
        self.remove()
        self.spare.mkdir(parents=True)

    def remove(self) -> None:
        """Remove the folder; nobody may live in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def note(self, pid: int) -> None:
        """Note the process that holds the lock."""
        (self.folder / "pid").write_text(f"{pid}\n")

    def supervisors(self) -> list[int]:
        """Return the process whose end is the end of all others: the child of the one that holds the lock."""
        try:
            pid = int((self.folder / "pid").read_text())
            return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        except (OSError, ValueError):
            return []

    def kill(self) -> None:
        """End a stack that does not answer; the lock must be held by it, else the number noted may be somebody else's by now."""
        for pid in self.supervisors():
            os.kill(pid, signal.SIGKILL)

    def listen(self) -> socket.socket:
        """Return a socket on which the supervisor takes commands."""
        listener = socket.socket(socket.AF_UNIX)
        with self._short() as path:
            listener.bind(path)
        listener.listen()
        return listener

    def ask(self, **command: str) -> Iterator[dict[str, Any]]:
        """Give a command; yields what is answered, line by line. Raises NoAnswer."""
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
        """Yield a path of the socket that fits into the 107 bytes that one may have."""
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            yield f"/proc/self/fd/{folder}/control"
        finally:
            os.close(folder)
