"""`vectail` as a child process without what its imports take, a second and a half: forked from a process that has imported everything.

The first start in a process of the run starts that one, which ends with it. A forked worker has its own session, environment and streams,
as one that is started from the command line has; only its parent is another. Python seeds `random` anew in each.
"""

import atexit
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
_MOST_BYTES: Final = 1 << 17
_MOST_FILES: Final = 4096
_spent_s: list[float] = []


def spent_s() -> float:
    """Return the processor time of forked processes that have ended, and of their children: nobody else counts it for this process."""
    return sum(_spent_s)


class Forked:
    """One process, with the part of `subprocess.Popen` that tests use.

    Thread: the test's.
    """

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run `vectail` with these words, in this environment."""
        reads, writes = os.pipe()
        self.stderr = os.fdopen(reads, encoding="utf-8")
        self._end, end = socket.socketpair()
        orders, _ = _server()
        socket.send_fds(orders, [json.dumps([*words, dict(environment)]).encode()], [writes, end.fileno()])
        os.close(writes)
        end.close()
        self.pid = int(orders.recv(_MOST_BYTES))
        self._exit_code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0.0)
        return None

    def wait(self, timeout: float) -> int:
        """Wait for the end and return the exit code. Raises TimeoutExpired."""
        if self._exit_code is None:
            self._end.settimeout(timeout)
            try:
                self._exit_code, spent = json.loads(self._end.recv(_MOST_BYTES))
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired("vectail", timeout) from None
            self._end.close()
            _spent_s.append(spent)
        return self._exit_code


@cache
def _server() -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    """Start the process that forks, once for this one; return the socket of its orders, whose end is its end."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen([sys.executable, "-m", "tests.forks", str(theirs.fileno())], cwd=ROOT, pass_fds=[theirs.fileno()])
    atexit.register(server.wait)
    atexit.register(ours.close)  # before the wait
    return ours, server


def _fork_on(orders: socket.socket) -> bool:
    """Fork a process for each order, and report the end of each; return True in a forked one, False when there are no more orders."""
    ends: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as waiting:
        waiting.register(orders, selectors.EVENT_READ)
        while True:
            for ready, _ in waiting.select():
                if ready.fileobj is not orders:
                    waiting.unregister(ready.fileobj)
                    _report(ready.fd, *ends.pop(ready.fd))
                    continue
                order, files, _, _ = socket.recv_fds(orders, _MOST_BYTES, 2)
                if not order:  # a run that was killed leaves no worker behind
                    for pid, _ in ends.values():
                        os.kill(pid, signal.SIGKILL)
                    return False
                if (pid := os.fork()) == 0:
                    _become(json.loads(order), files[0])
                    return True
                os.close(files[0])
                ended = os.pidfd_open(pid)
                ends[ended] = pid, socket.socket(fileno=files[1])
                waiting.register(ended, selectors.EVENT_READ)
                orders.send(str(pid).encode())


def _become(order: list[str | dict[str, str]], stderr: int) -> None:
    """Make a forked process what a new one would be."""
    *words, environment = order
    assert isinstance(environment, dict)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, own in enumerate((nothing, nothing, stderr)):
        os.dup2(own, number)
    os.closerange(3, _MOST_FILES)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["vectail", *map(str, words)]


def _report(ended: int, pid: int, end: socket.socket) -> None:
    os.close(ended)
    _, status, used = os.wait4(pid, 0)
    with end, suppress(BrokenPipeError):
        end.send(json.dumps([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime]).encode())


def _main() -> None:
    import worker.cli.run  # noqa: PLC0415 - only in the process that forks, like the others
    import worker.embedding.engine.llama  # noqa: F401, PLC0415
    from worker.__main__ import main  # noqa: PLC0415

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the run of the tests, and that ends this
    orders = socket.socket(fileno=int(sys.argv[1]))
    if _fork_on(orders):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()


if __name__ == "__main__":
    _main()
