"""`python -m tests.freeze [PYTEST ARGUMENTS …]`: run tests while the machine stalls: processes are frozen at random, beside other work.

Again and again one process of the run (those of pytest, the servers, workers and whatever tests have started) stops for 1 to 4 seconds,
and `BUSY` processes compute all the time. No test may fail because of it. Without arguments this runs what `make test` runs, in a random
order. The seed is printed; with `VECTAIL_TEST_SEED` set, the same processes are as likely to be chosen again.
"""

import os
import random
import signal
import subprocess
import sys
import time

from tests.services.processes import offspring

TIMES, BUSY = 100, 4
_FROZEN_S = (1.0, 4.0)
_EVERY_S = (2.0, 12.0)
_ALL = ("-n", "4", "--dist", "loadgroup", "--servers", "--shuffle")
_SEED = "VECTAIL_TEST_SEED"


def main() -> int:
    """Run pytest and freeze its processes; returns its exit status."""
    seed = int(os.environ.get(_SEED, "0")) or random.SystemRandom().randrange(1, 1 << 31)
    rng = random.Random(seed)
    _say(f"freezing {TIMES} times, with {_SEED}={seed}")
    run = subprocess.Popen([sys.executable, "-m", "pytest", *(sys.argv[1:] or (*_ALL, str(seed)))])
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY)]
    frozen = 0
    try:
        while frozen < TIMES and _lasts(run, rng.uniform(*_EVERY_S)):
            frozen += _freeze(rng.choice([run.pid, *offspring(run.pid)]), rng.uniform(*_FROZEN_S))
        return run.wait()
    finally:
        for one in busy:
            one.kill()
            one.wait()
        _say(f"frozen {frozen} times")


def _lasts(run: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Whether the run goes on for so long."""
    try:
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    return False


def _freeze(pid: int, seconds: float) -> bool:
    """Stop a process for a while; False: it has ended before."""
    try:
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return False
    return True


def _say(line: str) -> None:
    sys.stderr.write(f"freeze: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
