"""The parts of a stack: the servers that tests start, and programs with their own logs."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tests.services.ports import listens

ROOT = Path(__file__).parents[2]
_LOOK_AGAIN_S = 0.1
_END_S = 10.0


class Part(Protocol):
    """Can be started and stopped by its name.

    Thread: the supervisor's.
    """

    name: str
    address: str

    @property
    def lives(self) -> bool:
        """Return whether it runs now."""

    def start(self) -> None:
        """Start it at its address with its stored data; return when it answers. Does nothing if it runs. Raises Unstartable."""

    def stop(self) -> None:
        """Stop it and keep its data."""

    def close(self) -> None:
        """Stop it for good."""


class Unstartable(Exception):
    """A part did not start; the message is one line with the reason."""


class Server(Protocol):
    """A server of `tests.services`; its constructor starts it.

    Thread: the supervisor's.
    """

    def kill(self) -> None: ...
    def start(self) -> None: ...
    def close(self) -> None: ...


class ServerPart:
    """One server on one port; `stop` kills it, as in an accident.

    Thread: the supervisor's.
    """

    def __init__(self, name: str, port: int, make: Callable[[int], Server]) -> None:
        self.name = name
        self.address = f"127.0.0.1:{port}"
        self._port = port
        self._make = make
        self._server: Server | None = None

    @property
    def lives(self) -> bool:
        return listens(self._port)

    def start(self) -> None:
        try:
            if self._server is None:
                self._server = self._make(self._port)
            elif not self.lives:
                self._server.kill()  # it may have ended by itself
                self._server.start()
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:  # TimeoutError is an OSError
            raise Unstartable(f"{self.name} cannot start: {_one_line(str(error))}") from error

    def stop(self) -> None:
        if self._server is not None:
            self._server.kill()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class ProgramPart:
    """One program, or a pipeline of several, in its own process group; stopped by SIGTERM, then SIGKILL.

    Thread: the supervisor's.
    """

    def __init__(
        self,
        name: str,
        address: str,
        command: Callable[[], Sequence[str]],
        log: Path,
        *,
        answers: Callable[[], bool] = lambda: True,
        within_s: float = 60.0,
        stop_s: float = _END_S,
    ) -> None:
        """`command` is called at each start; `answers` returns whether the program is up."""
        self.name = name
        self.address = address
        self._command = command
        self._log = log
        self._answers = answers
        self._within_s = within_s
        self._stop_s = stop_s
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def lives(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        if self.lives:
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        until_s = time.monotonic() + self._within_s
        while not self._answers():
            if (code := self._process.poll()) is not None:
                raise Unstartable(f"{self.name} ended with exit code {code}: {self._last_words()}")
            if time.monotonic() > until_s:
                self.stop()
                raise Unstartable(f"{self.name} did not answer for {self._within_s:.0f} s: {self._last_words()}")
            time.sleep(_LOOK_AGAIN_S)

    def stop(self) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(self._stop_s)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(_END_S)

    def close(self) -> None:
        self.stop()

    def _last_words(self) -> str:
        return _one_line(self._log.read_text(encoding="utf-8", errors="replace"))


def run_once(name: str, command: Sequence[str], most_s: float) -> None:
    """Run a program to its end. Raises Unstartable."""
    try:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=most_s, check=False)
    except subprocess.TimeoutExpired:
        raise Unstartable(f"{name} did not end within {most_s:.0f} s") from None
    if done.returncode != 0:
        raise Unstartable(f"{name} ended with exit code {done.returncode}: {_one_line(done.stdout + done.stderr)}")


def _one_line(words: str) -> str:
    """Return the first and the last line: usually the failure and its cause."""
    lines = [line.strip() for line in words.splitlines() if line.strip()] or ["it said nothing"]
    return lines[0] if len(lines) == 1 else f"{lines[0]} … {lines[-1]}"
