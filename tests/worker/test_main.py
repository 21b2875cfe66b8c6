"""The program exits even if a stage hangs, and kills the processes that such a stage has started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
    assert not _is_alive(int(out))


def _is_alive(pid: int) -> bool:
    """Return whether a killed process is still there after a grace period."""
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        try:
            if Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2].startswith("Z"):
                return False
        except OSError:
            return False
        os.sched_yield()
    return True
