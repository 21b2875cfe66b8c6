"""What the sides of `benchmarks.by_hand` have in common: each is a process that loads its model once and then indexes one topic a turn.

A side prints one JSON object when it is ready, reads a plan a line, and prints what the turn was as one JSON object. It ends with its
standard input.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.race import Wrong

Rows = Sequence[tuple[str, NDArray[np.float32]]]
"""The text and the vector, float32[dim], of each row of an index; a text may have several."""
_TEXTS, _VECTORS = "texts.json", "vectors.npy"
_ANSWER_S = 2_000.0
"""More than the warm and the timed service of a turn take until they give up."""
_END_S = 20.0
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b")
"""The last line of a traceback; libraries may say more while they end."""


class SideFailed(Wrong):
    """A side could not be opened or has failed; the message is its reason."""


class Plan(NamedTuple):
    """What a side indexes in one turn."""

    bootstrap_servers: str
    redis_url: str
    folder: str
    """For Milvus Lite, and for the vectors that are compared; new in every turn."""
    topic: str
    records: int
    """Every record of the topic."""
    warm_topic: str = ""
    """Indexed into the same folder before the time begins. Only for vectail; the others' warm cache is filled beforehand."""
    warm_records: int = 0
    mask_mode: str = "template"


class Turn(NamedTuple):
    """The result of a plan."""

    seconds: float
    """From the first record that was read until the last one was stored and committed."""
    stored: int
    """Lines in the index, each counted once."""
    figures: dict[str, float]
    """Whatever else the side says of itself."""


def keep_vectors(folder: str, rows: Rows) -> None:
    """Write vectors that are to be compared."""
    (Path(folder) / _TEXTS).write_text(json.dumps([text for text, _ in rows]))
    np.save(Path(folder) / _VECTORS, np.array([vector for _, vector in rows], np.float32))


def kept_vectors(folder: str) -> Rows:
    """Read what `keep_vectors` wrote."""
    texts = json.loads((Path(folder) / _TEXTS).read_text())
    return list(zip(texts, np.load(Path(folder) / _VECTORS), strict=True))


def serve(ready: Mapping[str, Any], index: Callable[[Plan], Turn]) -> None:
    """Run in a side's process: say that the model is loaded, and index what is asked for."""
    print(json.dumps(ready), flush=True)
    for line in sys.stdin:
        print(json.dumps(index(Plan(*json.loads(line)))), flush=True)


class Side:
    """A side in a process of its own, which leads a session: vLLM starts more. It waits on a pipe while others are measured.

    Thread: one.
    """

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """Start `python -m COMMAND…` and wait until its model is loaded. Raises SideFailed."""
        self.name = name
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - ours
                [sys.executable, "-m", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=Path(__file__).parents[1],
                start_new_session=True,
            )
        try:
            self.ready: dict[str, Any] = self._answer()
        except SideFailed:
            self.close()
            raise

    def run(self, plan: Plan) -> Turn:
        """Index a topic. Raises SideFailed, also if not every record is stored once."""
        assert self._process.stdin  # noqa: S101 - asked for above
        try:
            self._process.stdin.write(json.dumps(plan) + "\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended: the answer is its reason
        turn = Turn(*self._answer())
        if turn.stored != plan.records + plan.warm_records:
            raise SideFailed(f"{self.name} stored {turn.stored} lines of {plan.records + plan.warm_records}")
        return turn

    def close(self) -> None:
        """End the process and all that it has started; safe to call twice."""
        assert self._process.stdin  # noqa: S101 - as above
        assert self._process.stdout  # noqa: S101
        if self._process.stdout.closed:
            return
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._wait_ended()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # before `wait`: until then the id belongs to this group
        self._process.wait()
        self._process.stdout.close()

    def _wait_ended(self) -> None:
        """Wait for the end, at most 20 s, and leave the process id as it is: `close` needs it."""
        ended = os.pidfd_open(self._process.pid)
        wait([ended], _END_S)
        os.close(ended)

    def _answer(self) -> Any:  # noqa: ANN401 - JSON
        assert self._process.stdout  # noqa: S101 - asked for above
        began_s = time.monotonic()
        late = threading.Timer(_ANSWER_S, os.killpg, (self._process.pid, signal.SIGKILL))
        late.start()
        try:
            for line in self._process.stdout:
                if line.startswith(("{", "[")):
                    with contextlib.suppress(json.JSONDecodeError):  # a library's own line
                        return json.loads(line)
            if time.monotonic() - began_s >= _ANSWER_S:
                raise SideFailed(f"{self.name}: no answer within {_ANSWER_S:g} s")
        finally:
            late.cancel()
        self._wait_ended()
        said = [line.strip() for line in self._log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        errors = [line for line in said if _ERROR.match(line)] or said
        raise SideFailed(f"{self.name}: {errors[-1] if errors else 'it ended without a word'}")
