"""A side in a process of its own, so that its threads, memory and output do not disturb the others.

It waits on a pipe while others are measured. Its output goes to a file; the last error there is the reason when the process ends early.
The process leads a session. `close` kills every process left in its group: a library may start some that outlive it, as vLLM does with
its engine core.
"""

import contextlib
import gc
import importlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.race import LeftOut

Vectors = NDArray[np.float32]
EmbedTexts = Callable[[list[str]], Vectors]
"""Text in, float32[n, dim] out; row i belongs to text i."""

LOAD_S = 300.0
TURN_S = 600.0
END_S = 20.0
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""The last line of a traceback; libraries may say more while they end."""


class Opened(NamedTuple):
    """A side that does other work than to embed texts."""

    ready: Mapping[str, Any]
    """What it says of itself."""
    answer: Callable[[Any], Any]


class Turn(NamedTuple):
    """One pass over all texts."""

    seconds: float
    cpu_s: float
    """Of the rival's process without its children."""
    vectors: Vectors


class OwnProcess:
    """Answers one request at a time, and none after LeftOut.

    Thread: one.
    """

    def __init__(self, opener: str, arguments: Sequence[Any], *, log: Path, load_s: float = LOAD_S) -> None:
        """Start the process and wait until it has called `opener`, a `module:function` for EmbedTexts or Opened. Raises LeftOut."""
        spawn = get_context("spawn")
        self._log = log
        log.touch()
        self._connection, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, str(log), opener, tuple(arguments)))
        self._process.start()
        theirs.close()
        self.ready: Mapping[str, Any] = self._answer(load_s)

    def begin(self, what: object) -> None:
        """Let it work on something; `end` returns the answer."""
        with contextlib.suppress(OSError):  # the process has ended, and `end` raises the reason
            self._connection.send(what)

    def end(self, limit_s: float = TURN_S) -> Any:  # noqa: ANN401 - whatever the other end sends
        """Wait for the answer. Raises LeftOut."""
        return self._answer(limit_s)

    def ask(self, what: object, limit_s: float = TURN_S) -> Any:  # noqa: ANN401 - as `end`
        """Return the answer; the transfer to the process and back is not timed. Raises LeftOut."""
        self.begin(what)
        return self.end(limit_s)

    def embed(self, texts: list[str]) -> Turn:
        """Embed all texts once. Raises LeftOut."""
        return Turn(*self.ask(texts))

    def close(self) -> None:
        """End the process and all that it has started; safe to call twice."""
        if self._connection.closed:
            return
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._connection.close()
        wait([self._process.sentinel], END_S)
        with contextlib.suppress(ProcessLookupError):  # it has ended before it could lead a session
            os.killpg(int(self._process.pid or 0), signal.SIGKILL)  # before `join`: until then the id belongs to this group
        self._process.kill()
        self._process.join()

    def _answer(self, limit_s: float) -> Any:  # noqa: ANN401 - whatever the other end sends
        try:
            if self._connection.poll(limit_s):
                return self._connection.recv()
            reason = f"no answer within {limit_s:.0f} s"
        except (EOFError, OSError):
            said = [line for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
            errors = [line for line in said if _ERROR.match(line)] or said
            reason = errors[-1].strip() if errors else "it ended without a word"
        self._process.kill()
        self.close()
        raise LeftOut(reason)


def _serve(connection: Connection, log: str, opener: str, arguments: tuple[Any, ...]) -> None:
    """Run in the process: open the rival, report that, and embed until told to end. An error ends it; the log has its traceback."""
    os.setsid()
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    sys.stdout.flush()
    os.dup2(file, 1)
    os.dup2(file, 2)
    module, _, function = opener.partition(":")
    opened: Opened | EmbedTexts = getattr(importlib.import_module(module), function)(*arguments)
    ready, answer = opened if isinstance(opened, Opened) else ({}, _timed(opened))
    connection.send(ready)
    while (asked := connection.recv()) is not None:
        connection.send(answer(asked))
    del opened, answer
    gc.collect()  # lets the rival end its own processes in order


def _timed(embed: EmbedTexts) -> Callable[[list[str]], tuple[float, float, Vectors]]:
    def answer(texts: list[str]) -> tuple[float, float, Vectors]:
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        vectors = embed(texts)
        return time.perf_counter() - began_s, time.process_time() - began_cpu_s, vectors

    return answer
