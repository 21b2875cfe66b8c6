"""Fail points end a process of their own here."""

import subprocess
import sys
from pathlib import Path

import pytest

from worker.fail_point import KILLED, fail_point
from worker.settings import SettingsError

ROOT = Path(__file__).parents[2]


def run_to_the_end(setting: str, *points: str) -> "subprocess.CompletedProcess[str]":
    program = f"""
import atexit
from worker.fail_point import fail_point
atexit.register(print, "cleaned up")
at = fail_point({setting!r})
for point in {points!r}:
    print(point, flush=True)
    at(point)
"""
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_the_process_ends_at_the_named_passing_without_any_clean_up() -> None:
    ended = run_to_the_end("b:2", "a", "b", "a", "b", "a")
    assert ended.returncode == KILLED
    assert ended.stdout.split() == ["a", "b", "a", "b"]


def test_a_point_that_is_not_passed_often_enough_does_nothing() -> None:
    ended = run_to_the_end("b:3", "a", "b", "b", "a", "a")
    assert ended.returncode == 0
    assert ended.stdout.endswith("cleaned up\n")


def test_without_a_setting_nothing_happens() -> None:
    at = fail_point("")
    at("before_commit")


@pytest.mark.parametrize("setting", ["before_commit", "before_commit:", "before_commit:x", "before_commit:-1"])
def test_a_setting_that_is_not_understood_is_refused(setting: str) -> None:
    with pytest.raises(SettingsError, match="is not POINT:N"):
        fail_point(setting)
