"""Plants mutations, one at a time, in a copy of the project, and runs the tests that must catch them.

The working tree is never touched. The tests first run without a mutation: a test that fails then would prove nothing.
"""

import compileall
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Literal, NamedTuple

from tests.sabotage.mutation import Mutation

ROOT = Path(__file__).resolve().parents[2]
_ROOMS = ("benchmarks", "consumers", "deploy", "docs", "producers", "sinks", "tests", "worker")
_FILES = ("pyproject.toml", "docker-compose.yml", "Makefile", "README.md", "requirements.lock")
_PASSED, _FAILED = 0, 1
_MOST_S = 300.0
_PROFILE = "--hypothesis-profile=unshrunk"
"""That it fails is enough: the smallest example takes minutes to find."""

Verdict = Literal["caught", "MISSED", "BROKEN"]
"""`BROKEN`: the tests could not be collected or run, so it is unknown whether they would catch the mutation."""


class Outcome(NamedTuple):
    """The result of one mutation."""

    mutation: Mutation
    verdict: Verdict
    by: str
    """The first test that failed; for a mutation that broke the tests, the end of their output."""
    seconds: float


class Copy:
    """A copy of the project, restored after each mutation.

    Thread: the caller's.
    """

    def __init__(self, folder: Path, root: Path = ROOT) -> None:
        self._folder = folder
        for room in _ROOMS:
            shutil.copytree(root / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
            # By their hash, never by their time: a planted file may be as long as the whole one, and as old.
            compileall.compile_dir(folder / room, quiet=1, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        for name in _FILES:
            shutil.copy(root / name, folder / name)
        (root / ".cache").mkdir(exist_ok=True)
        (folder / ".cache").symlink_to(root / ".cache")  # downloaded servers

    def check_whole(self, tests: Iterable[str]) -> None:
        """Raise RuntimeError unless the tests pass without a mutation."""
        exit_code, said = self._run(sorted(set(tests)))
        if exit_code != _PASSED:
            raise RuntimeError(f"the tests fail without a mutation, so they prove nothing:\n{said[-4000:]}")

    def try_one(self, mutation: Mutation) -> Outcome:
        """Plant one mutation, run its tests, and restore the file."""
        path = self._folder / mutation.file
        whole = path.read_text()
        path.write_text(planted(whole, mutation))
        begun_s = time.monotonic()
        try:
            exit_code, said = self._run(mutation.tests)
        finally:
            path.write_text(whole)
        seconds = time.monotonic() - begun_s
        if exit_code == _PASSED:
            return Outcome(mutation, "MISSED", "", seconds)
        failed = re.search(r"^FAILED (\S+)", said, re.MULTILINE)
        if exit_code == _FAILED and failed is not None:
            return Outcome(mutation, "caught", failed[1], seconds)
        return Outcome(mutation, "BROKEN", " ".join(said[-200:].split()), seconds)

    def _run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests up to the first failure, without writing byte code: a mutation's would be taken for that of the restored file."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout", "120", _PROFILE, *tests]
        ran = subprocess.run(
            command,
            cwd=self._folder,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=_MOST_S * max(len(tests) / 10, 1),
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr


def planted(whole: str, mutation: Mutation) -> str:
    """Return the file with the mutation. Raises ValueError unless `old` occurs exactly once."""
    if (times := whole.count(mutation.old)) != 1:
        raise ValueError(f"{mutation.name!r}: `old` occurs {times} times in {mutation.file}: {mutation.old!r}")
    return whole.replace(mutation.old, mutation.new)


def table_of(outcomes: Sequence[Outcome]) -> str:
    """Return a line with the number of caught mutations, and the outcomes as a Markdown table."""
    caught = sum(outcome.verdict == "caught" for outcome in outcomes)
    rows = [
        f"| {outcome.mutation.name} | `{outcome.mutation.file}` | {outcome.verdict} | {_short(outcome.by)} | {outcome.seconds:.0f} |"
        for outcome in outcomes
    ]
    head = ["| mutation | in | | caught by | s |", "|---|---|---|---|--:|"]
    return "\n".join([f"{caught} of {len(outcomes)} mutations are caught.", "", *head, *rows, ""])


def _short(by: str) -> str:
    path, _, name = by.partition("::")
    return f"`{Path(path).name}::{name.partition('[')[0]}`" if name else by.replace("|", "/")
