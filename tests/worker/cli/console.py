"""`vectail` as its user runs it: a child process, its output and its exit code.

`vectail(…)` runs a verb to its end; `RunningVerb` is one that runs until it is told to stop.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Self

from tests.model_fixture import CACHE

ROOT = Path(__file__).parents[3]
WAIT_S = 90.0


class EndedVerb(NamedTuple):
    """A verb that has ended."""

    exit_code: int
    out: str
    err: str


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of every child: the prepared model, the engine that loads fastest, and 80 columns."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("VECTAIL_")}
    own = {"VECTAIL_MODEL__CACHE": str(CACHE), "VECTAIL_ENGINE__NAME": "llama", "VECTAIL_HTTP__PORT": "0", "COLUMNS": "80"}
    return inherited | own | dict(more or {})


def vectail(*words: str, given: bytes = b"", env: Mapping[str, str] | None = None, cwd: Path = ROOT) -> EndedVerb:
    """Run a verb to its end."""
    ended = subprocess.run(
        [sys.executable, "-m", "worker", *words],
        cwd=cwd,
        env=environment(env),
        input=given,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    return EndedVerb(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def in_one_line(ended: EndedVerb) -> str:
    """Return the one line on standard error, and check that there is nothing else."""
    assert "Traceback" not in ended.err
    assert ended.err.startswith("vectail: ")
    assert ended.err.count("\n") == 1, ended.err
    return ended.err.removeprefix("vectail: ").rstrip("\n")


class RunningVerb:
    """A verb in a child process; `close`, or the end of its block, ends the process, whatever the test did.

    Thread: the test's; two threads of its own read the child's output.
    """

    def __init__(self, words: Sequence[str], *, stdin: int = subprocess.DEVNULL) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "worker", *words],
            cwd=ROOT,
            env=environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._more = threading.Condition()
        self._written = {"out": b"", "err": b""}
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._streams = {"out": self.process.stdout, "err": self.process.stderr}
        self._readers = [threading.Thread(target=self._read, args=named, daemon=True) for named in self._streams.items()]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def out(self) -> str:
        """Standard output so far."""
        return self._written["out"].decode()

    @property
    def err(self) -> str:
        """Standard error so far."""
        return self._written["err"].decode()

    def wait_for(self, part: str) -> None:
        """Wait until the output contains `part`."""
        with self._more:
            assert self._more.wait_for(lambda: self._was_said(part) or self.process.poll() is not None, WAIT_S), (self.out, self.err)
        assert self._was_said(part), (self.out, self.err)

    def send(self, number: signal.Signals) -> None:
        """Send a signal; does not wait."""
        os.kill(self.process.pid, number)

    def end(self) -> EndedVerb:
        """Wait until the process has ended."""
        exit_code = self.process.wait(WAIT_S)
        for reader in self._readers:
            reader.join(WAIT_S)
        return EndedVerb(exit_code, self.out, self.err)

    def close(self) -> None:
        """Kill the process if it still runs."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.end()
        for stream in (*self._streams.values(), self.process.stdin):
            if stream is not None:
                stream.close()

    def _was_said(self, part: str) -> bool:
        return part in self.out or part in self.err

    def _read(self, name: str, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), 65_536):
            with self._more:
                self._written[name] += chunk
                self._more.notify_all()
        with self._more:
            self._more.notify_all()
