"""What tests took is added up over the reports of all processes, and one that is too dear fails the run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.durations import MOST_S, Durations

ROOT = Path(__file__).resolve().parents[1]


def report(name: str, processor_s: float, *, is_long: bool = False, when: str = "teardown") -> pytest.TestReport:
    measured = [("vectail.test", [2 * processor_s, processor_s, is_long]), ("vectail.fixture", ["kafka", "session", 3.0, 1.0])]
    place = ("file", 1, name)
    return pytest.TestReport(name, place, {}, "passed", None, cast("Any", when), user_properties=cast("Any", measured))


def ended(tmp_path: Path, *reports: pytest.TestReport) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit status of a run with these reports, and what its file says."""
    file = tmp_path / "new" / "durations.jsonl"
    durations, session = Durations(file), SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    for one in reports:
        durations.pytest_runtest_logreport(one)
    durations.pytest_sessionfinish(cast("pytest.Session", session))
    return session.exitstatus, [json.loads(line) for line in file.read_text().splitlines()]


def test_each_test_has_a_line_and_a_fixture_the_sum_of_all_its_uses(tmp_path: Path) -> None:
    status, lines = ended(tmp_path, report("a", 1.5), report("b", 0.5), report("a", 99.0, when="call"))
    assert status == pytest.ExitCode.OK
    assert lines == [
        {"test": "a", "elapsed_s": 3.0, "processor_s": 1.5, "long": False},
        {"test": "b", "elapsed_s": 1.0, "processor_s": 0.5, "long": False},
        {"fixture": "kafka", "scope": "session", "elapsed_s": 6.0, "processor_s": 2.0, "times": 2},
    ]


@pytest.mark.parametrize(("is_long", "status"), [(False, pytest.ExitCode.TESTS_FAILED), (True, pytest.ExitCode.OK)])
def test_a_test_that_is_too_dear_fails_the_run_unless_it_is_marked(tmp_path: Path, status: int, *, is_long: bool) -> None:
    assert ended(tmp_path, report("a", MOST_S + 1, is_long=is_long))[0] == status


CONFTEST = """
from pathlib import Path
from tests.durations import Durations, Stopwatch

def pytest_configure(config):
    config.pluginmanager.register(Stopwatch())
    config.pluginmanager.register(Durations(Path(__file__).with_name("took.jsonl")))
"""
BUSY = """
import subprocess
import sys
import pytest

def _busy():
    work = subprocess.Popen([sys.executable, "-c", "import time\\nwhile time.process_time() < 1.5: pass"])
    yield
    work.wait()

own = pytest.fixture(_busy)
shared = pytest.fixture(_busy, scope="module")

def test_own(own):
    pass

def test_shared(shared):
    pass
"""


@pytest.mark.process
def test_what_a_shared_fixture_s_process_took_is_not_the_last_test_s(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_busy.py").write_text(BUSY)
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = [json.loads(line) for line in (tmp_path / "took.jsonl").read_text().splitlines()]
    took = {(line.get("test") or line["fixture"]).rpartition("::")[2]: line["processor_s"] for line in lines}
    assert took["test_own"] > 1.4
    assert took["test_shared"] < 1.4
    assert took["end of what test_busy.py shares"] > 1.4
