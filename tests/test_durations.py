"""What tests took is added up over the reports of all processes, and one that is too dear fails the run."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import durations, pace
from tests.durations import MOST_S, Durations, Stopwatch, Took
from tests.pace import Pace

ROOT = Path(__file__).resolve().parents[1]
BEGAN_S, ENDED_S = 100.0, 140.0
WAIT_S = 60.0


class SteadyPace:
    """A processor that is this slow while the tests of `report` run, and twice as fast before and after."""

    def __init__(self, slow: float) -> None:
        self._slow = slow

    def slowness(self, began_s: float, ended_s: float) -> float:
        return self._slow if (began_s, ended_s) == (BEGAN_S, ENDED_S) else self._slow / 2

    def stop(self) -> None:
        pass


def report(name: str, processor_s: float, *, most_s: float | None = MOST_S, when: str = "teardown") -> pytest.TestReport:
    measured = [("vectail.test", [2 * processor_s, processor_s, BEGAN_S, most_s]), ("vectail.fixture", ["kafka", "session", 3.0, 1.0])]
    place = ("file", 1, name)
    return pytest.TestReport(name, place, {}, "passed", None, cast("Any", when), user_properties=cast("Any", measured), stop=ENDED_S)


def ended(tmp_path: Path, *reports: pytest.TestReport, slow: float = 1.0) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit status of a run with these reports, and what its file says."""
    file = tmp_path / "new" / "durations.jsonl"
    plugin, session = Durations(file, cast("Pace", SteadyPace(slow))), SimpleNamespace(exitstatus=pytest.ExitCode.OK)
    for one in reports:
        plugin.pytest_runtest_logreport(one)
    plugin.pytest_sessionfinish(cast("pytest.Session", session))
    return session.exitstatus, [json.loads(line) for line in file.read_text().splitlines()]


def test_each_test_has_a_line_and_a_fixture_the_sum_of_all_its_uses(tmp_path: Path) -> None:
    status, lines = ended(tmp_path, report("a", 1.5), report("b", 0.5), report("a", 99.0, when="call"))
    assert status == pytest.ExitCode.OK
    assert lines == [
        {"test": "a", "elapsed_s": 3.0, "processor_s": 1.5},
        {"test": "b", "elapsed_s": 1.0, "processor_s": 0.5},
        {"fixture": "kafka", "scope": "session", "elapsed_s": 6.0, "processor_s": 2.0, "times": 2},
    ]


@pytest.mark.parametrize(
    ("took_s", "slow", "most_s", "is_too_dear"),
    [
        (MOST_S - 1, 1.0, MOST_S, False),
        (MOST_S + 1, 1.0, MOST_S, True),
        (MOST_S + 1, 1.0, None, False),
        (MOST_S + 1, 2.0, MOST_S, False),
        (2 * MOST_S + 1, 2.0, MOST_S, True),
    ],
)
def test_a_test_that_is_too_dear_for_its_processor_fails_the_run(
    tmp_path: Path, took_s: float, slow: float, most_s: float | None, *, is_too_dear: bool
) -> None:
    status, _ = ended(tmp_path, report("a", took_s, most_s=most_s), slow=slow)
    assert status == (pytest.ExitCode.TESTS_FAILED if is_too_dear else pytest.ExitCode.OK)


@pytest.mark.parametrize(("marks", "most_s"), [((), MOST_S), (("long",), None)])
def test_a_long_test_may_take_what_it_takes(monkeypatch: pytest.MonkeyPatch, marks: tuple[str, ...], most_s: float | None) -> None:
    times = iter([Took(0.0, 0.0), Took(0.0, 99.0)])
    monkeypatch.setattr(durations, "_now", lambda: next(times))
    item = SimpleNamespace(user_properties=[], get_closest_marker=lambda name: name if name in marks else None, path=Path("a.py"))
    watch = Stopwatch()
    hook = watch.pytest_runtest_makereport(cast("pytest.Item", item), cast("Any", SimpleNamespace(when="teardown")))
    next(hook)
    assert item.user_properties[0] == ("vectail.test", [0.0, 99.0, 0.0, most_s])


@pytest.mark.process
def test_the_pace_of_a_test_is_the_mean_of_what_was_seen_while_it_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = [(1.0, 9.0), (2.0, 1.5), (3.0, 2.5), (4.0, 9.0)]
    measured = Pace()
    measured.stop()
    monkeypatch.setattr(measured, "samples", seen)
    assert measured.slowness(1.5, 3.5) == 2.0
    assert measured.slowness(5.0, 6.0) == 1.0


@pytest.mark.process
def test_a_slow_start_of_python_is_a_slow_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = pace.slowness()
    monkeypatch.setattr(pace, "STARTS", f"{pace.STARTS}, time\nwhile time.process_time() < {3 * pace.ALONE_S * usual}: pass")
    assert pace.slowness() > 2.5 * usual


@pytest.mark.process
def test_the_pace_is_measured_from_the_beginning_to_the_end() -> None:
    measured = Pace()
    until_s = time.monotonic() + WAIT_S
    while not measured.samples:
        assert time.monotonic() < until_s
        time.sleep(0.01)
    measured.stop()
    assert measured.slowness(0.0, time.time()) >= 1.0


CONFTEST = """
from pathlib import Path
from tests.durations import Durations, Stopwatch
from tests.pace import Pace

def pytest_configure(config):
    config.pluginmanager.register(Stopwatch())
    config.pluginmanager.register(Durations(Path(__file__).with_name("took.jsonl"), Pace()))
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
