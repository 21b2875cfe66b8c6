"""Fail points; each test runs a process of its own, which they end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from worker.runtime.fail_point import KILLED, POINTS, REINDEX_POINTS, UnknownFailPoint, fail_point

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


def test_every_point_is_passed_by_the_code_and_no_other() -> None:
    """A point that is missing from the list could never be set; one that is missing from the source would never be passed."""
    rooms = ("worker", "consumers", "producers", "sinks")
    sources = "".join(file.read_text() for room in rooms for file in (ROOT / room).rglob("*.py"))
    assert sorted(re.findall(r"fail_point\(\"(\w+)\"\)", sources)) == sorted((*POINTS, *REINDEX_POINTS))
