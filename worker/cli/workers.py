"""`vectail run --workers N`: N workers of one consumer group on this machine, started, watched and ended together.

Each is a process of its own (`vectail run --part K/N`) with its share of the cores and of the GPU's memory; Kafka divides the
partitions among them. Several workers on one GPU should be faster, because we expect Python, not the GPU, to limit what one worker can
embed; no GPU has been measured.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from worker.cli.exit_codes import CRASHED, DRAINED
from worker.cli.exits import CommandFailed, failure, user_error
from worker.cli.options import Flags
from worker.connections import with_index_model
from worker.embedding.engine.cpu_count import cpu_count
from worker.embedding.loaded import model_of
from worker.embedding.model.errors import ModelError
from worker.runtime.logs import configure_logs, inform
from worker.settings.settings import Settings

_CHECK_S = 0.2


class WorkerIndex(NamedTuple):
    """One of several workers."""

    number: int
    """1 … `total`."""
    total: int


def read_worker_index(text: str) -> WorkerIndex:
    """Read `K/N`. Raises CommandFailed."""
    number, _, total = text.partition("/")
    if number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total):
        return WorkerIndex(int(number), int(total))
    raise user_error(f"--part is K/N with 1 <= K <= N, not {text!r}")


def worker_share(settings: Settings, index: WorkerIndex) -> Flags:
    """Return the settings of one of several workers: its share of the cores and of the GPU's memory, and its HTTP port."""
    threads = settings.engine.threads or cpu_count()
    port = settings.http.port
    return {
        "engine": {"threads": max(threads // index.total, 1), "memory_share": settings.engine.memory_share / index.total},
        "http": {"port": port + index.number - 1 if port else 0},
    }


def run_workers(settings: Settings, config: Path | None, count: int) -> int:
    """Run `count` workers until a signal arrives or one of them fails, and return the exit code. Raises CommandFailed."""
    if "://" not in settings.milvus.uri:
        raise user_error(f"--workers {count} needs a Milvus server: the folder {settings.milvus.uri} belongs to one process")
    if "group.instance.id" in settings.kafka.librdkafka:
        raise user_error(f"--workers {count} would give all of them the same group.instance.id; remove it from kafka.librdkafka")
    configure_logs()
    try:
        model_of(with_index_model(settings))  # prepares the model once, before every worker looks for it
    except ModelError as error:
        raise user_error(error) from error
    group = WorkerGroup(config, count)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _signal, _frame: group.stop())
    return group.run()


class WorkerGroup:
    """All workers run until they are signalled to stop; if one fails, the others are stopped too.

    Thread: main; `stop` is called by a signal handler, so it only counts.
    """

    def __init__(self, config: Path | None, count: int) -> None:
        config_option = [] if config is None else ["--config", str(config)]
        # -P: the current folder may hold a worker.py of the user.
        self._command = [sys.executable, "-P", "-m", "worker", "run", *config_option, "--part"]
        self._count = count
        self._children: list[subprocess.Popen[bytes]] = []
        self._signals = 0

    def stop(self) -> None:
        """Tell all workers to drain; a second call ends them at once."""
        self._signals += 1

    def run(self) -> int:
        """Start all workers, wait until all have ended, and return 0. Raises CommandFailed with the exit code of the first that failed."""
        signalled = 0
        failed: tuple[int, int] | None = None
        try:
            self._start()
            while any(child.poll() is None for child in self._children):
                failed = failed or _first_failed(self._children, stopping=signalled > 0)
                while signalled < max(self._signals, int(failed is not None)):
                    for child in self._children:
                        child.terminate()
                    signalled += 1
                time.sleep(_CHECK_S)
        except OSError as error:
            raise failure(f"workers cannot be started: {error}") from error
        finally:
            for child in self._children:  # a worker that still runs drains when its standard input ends
                if child.stdin is not None:
                    child.stdin.close()
        failed = failed or _first_failed(self._children, stopping=signalled > 0)
        if failed is None:
            return DRAINED
        number, exit_code = failed
        raise CommandFailed(
            f"worker {number} of {len(self._children)} ended with exit code {exit_code}, see above", _exit_code_for(exit_code)
        )

    def _start(self) -> None:
        """Start all workers, each in a session of its own, so that Ctrl-C reaches them only once, through `stop`."""
        for number in range(1, self._count + 1):
            part = f"{number}/{self._count}"
            child = subprocess.Popen([*self._command, part], stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603 - this program
            self._children.append(child)
        inform("workers started", process_ids=[child.pid for child in self._children])


def _first_failed(children: Sequence[subprocess.Popen[bytes]], *, stopping: bool) -> tuple[int, int] | None:
    """Return number and exit code of the first failed worker; one that our own SIGTERM ended before it had loaded has not failed."""
    fine = (None, DRAINED, -signal.SIGTERM) if stopping else (None, DRAINED)
    codes = ((number, child.poll()) for number, child in enumerate(children, start=1))
    return next(((number, code) for number, code in codes if code is not None and code not in fine), None)


def _exit_code_for(child_exit_code: int) -> int:
    """Return our exit code; a child that was ended by a signal has crashed."""
    return child_exit_code if child_exit_code > 0 else CRASHED
