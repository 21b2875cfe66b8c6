"""Prometheus' own checker, as a process; without it the test is skipped at home and fails in CI."""

import shutil
import subprocess
from pathlib import Path

from tests.services.missing import skip_or_fail

_WAIT_S = 240.0


def promtool(*words: str | Path) -> str:
    """Run it; returns its output. Raises AssertionError with the output if it fails."""
    binary = shutil.which("promtool")
    if binary is None:
        skip_or_fail("promtool is not installed (Debian's package prometheus has it)")
    done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, timeout=_WAIT_S, check=False)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said
