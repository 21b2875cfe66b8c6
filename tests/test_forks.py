"""A forked `vectail` ends as one from the command line does, and says the same."""

import os
import select
import signal
import subprocess
import sys

import pytest

from tests.forks import ROOT, Forked, spent_s

pytestmark = pytest.mark.process
WAIT_S = 60.0


def test_it_says_and_returns_what_a_started_one_does() -> None:
    words, before_s = ["run", "--nonsense"], spent_s()
    forked = Forked(words, {**os.environ, "VECTAIL_TOPIC": "logs"})
    started = subprocess.run([sys.executable, "-m", "worker", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    with forked.stderr as said:
        assert said.read() == started.stderr
    assert forked.wait(WAIT_S) == started.returncode == 2
    assert spent_s() > before_s


def test_two_run_at_once_and_a_signal_ends_one() -> None:
    several = [Forked(["run"], {**os.environ, "VECTAIL_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1"}) for _ in range(2)]
    assert [one.poll() for one in several] == [None, None]
    for one in several:
        os.kill(one.pid, signal.SIGKILL)
        assert one.wait(WAIT_S) == -signal.SIGKILL
        one.stderr.close()


def test_what_was_forked_ends_with_the_run_that_did_however_that_ends() -> None:
    start = "import os; from tests.forks import Forked; print(Forked(['run'], {**os.environ, 'VECTAIL_HTTP__PORT': '0'}).pid, flush=True)"
    run = subprocess.Popen([sys.executable, "-c", f"{start}; input()"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    forked = os.pidfd_open(int(run.stdout.readline()))
    run.kill()
    run.communicate()
    assert select.select([forked], [], [], WAIT_S)[0] == [forked]
    os.close(forked)
