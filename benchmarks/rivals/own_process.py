"""A rival in a process of its own, so that its threads, memory and output do not disturb the others.

It waits on a pipe while others are measured. Its output goes to a file; the last line is the reason when the process ends early.
The process leads a session. `close` kills every process left in its group: a library may start some that outlive it, as vLLM does with
its engine core.
"""

import contextlib
import gc
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
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

    def __init__(self, opener: str, arguments: Sequence[Any], *, log: Path) -> None:
        """Start the process and wait until it has called `opener`, a `module:function` that returns EmbedTexts. Raises LeftOut."""
        spawn = get_context("spawn")
        self._log = log
        log.touch()
        self._connection, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs, str(log), opener, tuple(arguments)))
        self._process.start()
        theirs.close()
        self._answer(LOAD_S)

    def embed(self, texts: list[str]) -> Turn:
        """Embed all texts once; the transfer to the process and back is not timed. Raises LeftOut."""
        with contextlib.suppress(OSError):  # the process has ended, and `_answer` raises the reason
            self._connection.send(texts)
        return Turn(*self._answer(TURN_S))

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
            reason = said[-1].strip() if said else "it ended without a word"
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
    embed: EmbedTexts = getattr(importlib.import_module(module), function)(*arguments)
    connection.send(None)
    while (texts := connection.recv()) is not None:
        began_s, began_cpu_s = time.perf_counter(), time.process_time()
        vectors = embed(texts)
        connection.send((time.perf_counter() - began_s, time.process_time() - began_cpu_s, vectors))
    del embed
    gc.collect()  # lets the rival end its own processes in order
