"""Fail points; each test runs a process of its own, which they end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.cli.console import vectail
from worker.runtime.fail_point import KILLED, POINTS, UnknownFailPoint, fail_point
from worker.runtime.process import USER_ERROR

ROOT = Path(__file__).parents[3]


def run_to_the_end(setting: str, *points: str) -> "subprocess.CompletedProcess[str]":
    program = f"""
import atexit
from worker.runtime.fail_point import fail_point
atexit.register(print, "cleaned up")
at = fail_point({setting!r})
for point in {points!r}:
    print(point, flush=True)
    at(point)
"""
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.process
def test_the_process_ends_at_the_named_passing_without_any_clean_up() -> None:
    ended = run_to_the_end("decoded:2", "polled", "decoded", "polled", "decoded", "polled")
    assert ended.returncode == KILLED
    assert ended.stdout.split() == ["polled", "decoded", "polled", "decoded"]


@pytest.mark.process
def test_a_point_that_is_not_passed_often_enough_does_nothing() -> None:
    ended = run_to_the_end("decoded:3", "polled", "decoded", "decoded", "polled", "polled")
    assert ended.returncode == 0
    assert ended.stdout.endswith("cleaned up\n")


def test_without_a_setting_nothing_happens() -> None:
    at = fail_point("")
    at("before_commit")


@pytest.mark.parametrize("setting", ["before_commit", "before_commit:", "before_commit:x", "before_commit:-1", "before_commit:0"])
def test_a_setting_that_is_not_understood_is_refused(setting: str) -> None:
    with pytest.raises(UnknownFailPoint, match="is not POINT:N"):
        fail_point(setting)


def test_a_point_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(UnknownFailPoint, match=r"there is no point 'before_comit'; there are polled, .*before_commit"):
        fail_point("before_comit:1")


@pytest.mark.process
def test_a_worker_with_an_unknown_point_does_not_start_and_says_why() -> None:
    ended = vectail("run", env={"VECTAIL_TEST_FAIL_POINT": "before_comit:1"})
    assert ended.exit_code == USER_ERROR
    (said,) = [line for line in ended.err.splitlines() if not line.startswith("{")]
    assert said.startswith("vectail: environment variable VECTAIL_TEST_FAIL_POINT: there is no point 'before_comit'; there are polled, ")


def test_every_point_is_passed_by_the_code_and_no_other() -> None:
    """A point that is missing from the list could never be set; one that is missing from the source would never be passed."""
    rooms = ("worker", "consumers", "producers", "sinks")
    sources = "".join(file.read_text() for room in rooms for file in (ROOT / room).rglob("*.py"))
    assert sorted(re.findall(r"fail_point\(\"(\w+)\"\)", sources)) == sorted(POINTS)
