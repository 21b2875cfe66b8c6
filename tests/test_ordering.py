"""Tests that share a fixture of their file run in one process of a run, in which single tests are handed out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CONFTEST = """
from tests.ordering import keep_together

def pytest_collection_modifyitems(config, items):
    if getattr(config.option, "loadgroup", False):
        keep_together(items)
"""
TESTS = """
import os
import pathlib
import pytest

@pytest.fixture(scope="module")
def shared():
    return None

@pytest.mark.parametrize("number", range(6))
def test_some(shared, number):
    with pathlib.Path(__file__).with_suffix(".ran").open("a") as ran:
        ran.write(f"{os.getpid()} ")
"""


@pytest.mark.process
def test_a_file_whose_tests_share_a_fixture_stays_in_one_process_and_another_runs_beside_it(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadgroup", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    ran = [(tmp_path / name).read_text().split() for name in ("test_a.ran", "test_b.ran")]
    assert [len(one) for one in ran] == [6, 6]
    assert [len(set(one)) for one in ran] == [1, 1]
    assert ran[0][0] != ran[1][0]
