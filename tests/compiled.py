"""Compiles the C files that have changed. Imported by `tests.conftest` before anything that loads their libraries."""

import os
import subprocess
from pathlib import Path

if "PYTEST_XDIST_WORKER" not in os.environ:  # a worker finds them compiled
    subprocess.run(["make", "--silent", "native"], cwd=Path(__file__).parents[1], check=True)
