"""What `make quick` runs: the tests that need no server, no model and no process of their own, and take no second.

A test's fixtures say which servers and models it needs; the mark `process` says that it starts a process where no fixture does, `long` that
it takes minutes, `slow` that it takes a second or more, with all its parameters. A test that needs nothing and starts a process fails, in
every run, so that `process` stays complete.
"""

import multiprocessing.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

SERVERS = frozenset({"kafka", "own_kafka", "milvus", "mock_kafka"})
MODELS = frozenset({"model", "prepared_model", "transformers_installed", "vllm_installed"})
"""`model` is that of the fault tests."""
_SPAWN = "multiprocessing.util.spawnv_passfds"
_STARTS = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen", _SPAWN})
"""Audit events: Python's own, and ours for multiprocessing's "spawn" and "forkserver", which raise none."""


class ProcessStarted(BaseException):
    """A test that announces no process has started one; no test catches this by accident."""


class NoProcesses:
    """Plugin that refuses processes during each test that announces none."""

    def __init__(self) -> None:
        self._refuses = False
        self._spawn = multiprocessing.util.spawnv_passfds
        multiprocessing.util.spawnv_passfds = self._audited_spawn
        sys.addaudithook(self._audit)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Refuse processes in the test and in the set-up and the end of its fixtures."""
        self._refuses = needs_nothing(item)
        try:
            return (yield)
        finally:
            self._refuses = False

    def _audited_spawn(self, path: bytes, args: Sequence[Any], passfds: Sequence[int]) -> int:
        sys.audit(_SPAWN, path, args)
        return self._spawn(path, args, passfds)

    def _audit(self, event: str, _: tuple[object, ...]) -> None:
        if self._refuses and event in _STARTS:
            raise ProcessStarted(f"{event}: a test that starts a process is marked `process`")


class Quick:
    """Plugin that leaves out what is not quick."""

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave the properties out: random histories, a second each."""
        return True if collection_path.name == "properties" else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the quick tests."""
        left_out = [item for item in items if not needs_nothing(item) or item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in {*left_out}]


def needs_nothing(item: pytest.Item) -> bool:
    """Return whether a test needs neither a server nor a model nor a process nor minutes."""
    fixtures: list[str] = getattr(item, "fixturenames", [])
    is_marked = any(item.get_closest_marker(name) for name in ("process", "long"))
    return not is_marked and not (SERVERS | MODELS) & set(fixtures)
