"""The program exits even if a stage hangs, and kills the processes that such a stage has started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services.processes import started
from tests.worker.running import wait_until

pytestmark = pytest.mark.process

STUCK = """
import multiprocessing, sys, threading
from worker.__main__ import main
from worker.runtime.stage import Stage

def sleep_for_ever():
    threading.Event().wait()

if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=sleep_for_ever)
    child.start()
    print(child.pid, flush=True)
    Stage("engine", sleep_for_ever, lambda _stage, _error: None).start()
    sys.argv = ["vectail", "config", "nonsense"]
    main()
"""
WAIT_S = 60


def test_a_stage_that_hangs_does_not_hold_the_exit(tmp_path: Path) -> None:
    script = tmp_path / "stuck.py"
    script.write_text(STUCK, encoding="utf-8")
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=WAIT_S)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 2, err
    assert "nonsense" in err
    wait_until(lambda: not started(int(out)), "the end of what the stage has started")


ABORTS = """
import atexit, os, sys
from worker.__main__ import main

class Library:
    def __del__(self):
        os.abort()

left = Library()
atexit.register(print, "told")
sys.argv = ["vectail", "run", "--set"]
main()
"""


def test_what_a_library_does_at_the_very_end_does_not_change_the_exit_code_of_a_worker() -> None:
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", ABORTS], cwd=root, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (ended.returncode, ended.stdout) == (2, "told\n"), ended.stderr
    assert ended.stderr == "vectail: No such option: --set (see `vectail run --help`)\n"
