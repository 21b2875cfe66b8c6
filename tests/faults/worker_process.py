"""`vectail run` as a child process, configured through the environment; its whole output is kept.

It is stopped by its process id, whatever the test did; every wait has a limit.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.forks import ROOT, Forked
from tests.services.processes import stop

WAIT_S = 90.0


def run_verb(settings: Mapping[str, str], *words: str) -> str:
    """Run `vectail` with these words to its end; return its output, and fail unless it ends with 0."""
    ended = subprocess.run(
        [sys.executable, "-m", "worker", *words],
        cwd=ROOT,
        env=_environment(settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 0, (words, ended.returncode, ended.stdout[-3000:], ended.stderr[-3000:])
    return ended.stdout


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a child with exactly these settings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VECTAIL_")}
    return inherited | {f"VECTAIL_{name.replace('.', '__').upper()}": value for name, value in settings.items()}


def _new_process(
    verb: str, through: Sequence[str], options: Sequence[str], environment: Mapping[str, str]
) -> "Forked | subprocess.Popen[str]":
    if not through:
        return Forked([verb, *options], environment)
    return subprocess.Popen(
        [*through, sys.executable, "-m", "worker", verb, *options],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


class WorkerProcess:
    """One worker; tests can wait for lines on its standard error.

    Thread: the test's; a second thread reads the worker's output.
    """

    def __init__(self, settings: Mapping[str, str], *through: str, options: Sequence[str] = (), verb: str = "run") -> None:
        """`settings`: names as in the file (`kafka.group`) and their values; `through`: a command that executes its arguments.

        `options`: of the verb.
        """
        self._process = _new_process(verb, through, options, _environment(settings))
        self.lines: list[str] = []
        self._more = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def lives(self) -> bool:
        """Return whether it has not ended; a paused worker lives."""
        return self._process.poll() is None

    def events(self, level: str) -> list[dict[str, Any]]:
        logged = [json.loads(line) for line in list(self.lines) if line.startswith("{")]
        return [event for event in logged if event["level"] == level]

    def words(self) -> list[str]:
        """Return the lines besides the log: those for the user."""
        return [line for line in list(self.lines) if not line.startswith("{")]

    def wait_for(self, part: str) -> None:
        """Wait until the worker has written a line that contains `part`."""
        with self._more:
            said = self._more.wait_for(lambda: self._has_ended or self._was_said(part), WAIT_S)
        assert said, f"the worker did not say {part!r}: {self.lines}"
        assert self._was_said(part), f"the worker ended without saying {part!r}: {self.lines}"

    def stays_alive(self, seconds: float) -> bool:
        """Wait this long; return False early if the worker ends."""
        with self._more:
            return not self._more.wait_for(lambda: self._has_ended, seconds)

    def kill(self) -> None:
        """Send SIGKILL; return when the worker has ended."""
        os.kill(self._process.pid, signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL

    def pause(self) -> None:
        """Send SIGSTOP, as a debugger or a frozen machine would; return when every thread has stopped."""
        stop(self.pid)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def rss_bytes(self) -> int:
        return self._status("VmRSS") * 1024

    def own_bytes(self) -> int:
        """Return its anonymous memory: file pages come and go with the machine's cache."""
        return self._status("RssAnon") * 1024

    def peak_bytes(self) -> int:
        return self._status("VmHWM") * 1024

    def threads(self) -> int:
        return self._status("Threads")

    def open_files(self) -> int:
        """Return how many files, sockets and pipes it holds open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def terminate(self) -> None:
        os.kill(self._process.pid, signal.SIGTERM)

    def wait(self, most_s: float = WAIT_S) -> int:
        """Wait for the worker's end; return its exit code, negative for a signal."""
        until_s = time.monotonic() + most_s
        try:
            exit_code = self._process.wait(most_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker did not end within {most_s} s: {self.lines}") from None
        self._reader.join(max(until_s - time.monotonic(), 1.0))
        return exit_code

    def close(self) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        assert self._process.stderr is not None
        self._process.stderr.close()

    def _status(self, name: str) -> int:
        return int(re.search(rf"^{name}:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)[1])  # type: ignore[index]

    def _was_said(self, part: str) -> bool:
        return any(part in line for line in self.lines)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._more:
                self.lines.append(line.rstrip("\n"))
                self._more.notify_all()
        with self._more:
            self._has_ended = True
            self._more.notify_all()
