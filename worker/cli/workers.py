"""`vectail run --workers N`: N workers of one consumer group on this machine, started, watched and ended together.

Each is a process of its own (`vectail run --part K/N`) that takes its share of the cores and of the GPU's memory; Kafka divides the
partitions among them. Several on one card are worth it because Python, not the GPU, limits what one of them can embed.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from worker.cli.exits import CommandFailed, must_change, problem
from worker.cli.given import Flags
from worker.embedding.engine.cpu_count import cpu_count
from worker.embedding.loaded import model_of
from worker.embedding.model.errors import ModelError
from worker.runtime.exit_codes import CRASHED, DRAINED
from worker.runtime.logs import configure_logs, inform
from worker.settings.settings import Settings

_LOOK_S = 0.2


class WorkerIndex(NamedTuple):
    """Which of how many workers: 1 … `of`."""

    number: int
    of: int


def read_part(text: str) -> WorkerIndex:
    """Read `K/N`. Raises CommandFailed."""
    number, _, of = text.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return WorkerIndex(int(number), int(of))
    raise must_change(f"--part is K/N with 1 <= K <= N, not {text!r}")


def shares_of(settings: Settings, part: WorkerIndex) -> Flags:
    """Return what one of several workers sets otherwise than one alone: its cores, its share of the GPU's memory, its HTTP port."""
    threads = settings.engine.threads or cpu_count()
    port = settings.http.port
    return {
        "engine": {"threads": max(threads // part.of, 1), "memory_share": settings.engine.memory_share / part.of},
        "http": {"port": port + part.number - 1 if port else 0},
    }


def run_workers(settings: Settings, config: Path | None, count: int) -> int:
    """Run `count` workers until a signal, or until one of them fails; returns the exit code. Raises CommandFailed."""
    if "://" not in settings.milvus.uri:
        raise must_change(f"--workers {count} needs a Milvus server: the folder {settings.milvus.uri} belongs to one process")
    if "group.instance.id" in settings.kafka.librdkafka:
        raise must_change(f"--workers {count} would give all of them the same group.instance.id; remove it from kafka.librdkafka")
    configure_logs()
    try:
        model_of(settings)  # once, before all of them look for it
    except ModelError as error:
        raise must_change(error) from error
    crew = WorkerGroup(config, count)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _signal, _frame: crew.stop())
    return crew.run()


class WorkerGroup:
    """All of the workers run until all are told to stop; one that fails ends the others.

    Thread: main; `stop` from a signal, so it only counts.
    """

    def __init__(self, config: Path | None, count: int) -> None:
        given = [] if config is None else ["--config", str(config)]
        # -P: the folder in which the user stands may have a worker.py, too.
        self._command = [sys.executable, "-P", "-m", "worker", "run", *given, "--part"]
        self._count = count
        self._children: list[subprocess.Popen[bytes]] = []
        self._signals = 0

    def stop(self) -> None:
        """Begin the drain of all of them; a second call lets them leave at once."""
        self._signals += 1

    def run(self) -> int:
        """Start them and wait for the end of all; returns 0. Raises CommandFailed with the exit code of the first that failed."""
        told = 0
        failed: tuple[int, int] | None = None
        try:
            self._start()
            while any(child.poll() is None for child in self._children):
                failed = failed or _first_failed(self._children, stopping=told > 0)
                while told < max(self._signals, int(failed is not None)):
                    for child in self._children:
                        child.terminate()
                    told += 1
                time.sleep(_LOOK_S)
        except OSError as error:
            raise problem(f"workers cannot be started: {error}") from error
        finally:
            for child in self._children:  # the end of its standard input drains one that is left
                if child.stdin is not None:
                    child.stdin.close()
        failed = failed or _first_failed(self._children, stopping=told > 0)
        if failed is None:
            return DRAINED
        number, exit_code = failed
        raise CommandFailed(f"worker {number} of {len(self._children)} ended with exit code {exit_code}, see above", _own_code(exit_code))

    def _start(self) -> None:
        """Start all. They are no part of the terminal's group, so that a Ctrl-C reaches them once, through `stop`."""
        for number in range(1, self._count + 1):
            part = f"{number}/{self._count}"
            child = subprocess.Popen([*self._command, part], stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - this program
            self._children.append(child)
        inform("workers started", process_ids=[child.pid for child in self._children])


def _first_failed(children: Sequence[subprocess.Popen[bytes]], *, stopping: bool) -> tuple[int, int] | None:
    """Return number and exit code of the first worker that failed; one that our own SIGTERM ended before it had loaded did not."""
    fine = (None, DRAINED, -signal.SIGTERM) if stopping else (None, DRAINED)
    codes = ((number, child.poll()) for number, child in enumerate(children, start=1))
    return next(((number, code) for number, code in codes if code is not None and code not in fine), None)


def _own_code(exit_code: int) -> int:
    """Return the exit code for a child's; one that a signal ended has crashed."""
    return exit_code if exit_code > 0 else CRASHED
