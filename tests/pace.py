"""How slow the processor was while tests ran: a process starts Python, with some modules, again and again, and says what each start took.

What makes tests dear on a busy machine is memory as much as arithmetic: a loop over numbers said 1.1 where workers took several times what
they usually do. A start of Python has both, and the kernel's work, as the start of a worker has.
"""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import fmean

STARTS = "import asyncio, json, numpy, unittest.mock"
ALONE_S = 0.2
"""What that takes on the processor that `tests.durations.MOST_S` was chosen on, when nothing else runs."""
_PAUSE_S = 4.0


class Pace:
    """How slow the processor was, and when.

    Thread: its own; `stop` and `slowness` from any.
    """

    def __init__(self) -> None:
        self.samples: list[tuple[float, float]] = []
        """Seconds since 1970, and how many times as long as usual work took then."""
        command = [sys.executable, "-m", "tests.pace"]
        self._process = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._listen, name="pace", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Measure no more."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()
        self._thread.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def slowness(self, began_s: float, ended_s: float) -> float:
        """Return how many times as long as usual work took from one second since 1970 to another; at least 1."""
        during = [slow for at_s, slow in list(self.samples) if began_s <= at_s <= ended_s]
        return max(fmean(during), 1.0) if during else 1.0

    def _listen(self) -> None:
        for line in self._process.stdout or ():
            self.samples.append((time.time(), float(line)))


def slowness() -> float:
    """Return how many times as long as usual a start of Python takes now, in time of the processor."""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-I", "-c", STARTS], os.environ)
    _, _, used = os.wait4(pid, 0)
    return (used.ru_utime + used.ru_stime) / ALONE_S


def _main() -> None:
    """Measure until standard input ends."""
    ended = threading.Thread(target=sys.stdin.read, daemon=True)
    ended.start()
    while ended.is_alive():
        print(slowness(), flush=True)  # noqa: T201 - for the process that started this one
        ended.join(_PAUSE_S)


if __name__ == "__main__":
    _main()
