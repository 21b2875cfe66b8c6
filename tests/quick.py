"""What `make quick` runs: every test that needs no server, no model and no process of its own, and does not take minutes.

A test's fixtures say which servers and models it needs; the mark `process` says that it starts a process where no fixture does, `long` that
it takes minutes. A test without any of these that starts a process fails, in every run, so that `process` stays complete.
"""

import multiprocessing.util
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import hypothesis
import pytest

SERVERS = frozenset({"kafka", "own_kafka", "milvus", "mock_kafka"})
MODELS = frozenset({"model", "prepared_model", "transformers_installed", "vllm_installed"})
"""`model` is that of the fault tests."""
EXAMPLES = 20
"""Of each property that sets no number of its own."""
_SPAWN = "multiprocessing.util.spawnv_passfds"
_STARTS = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen", _SPAWN})
"""Audit events: Python's own, and ours for multiprocessing's "spawn" and "forkserver", which raise none."""


class ProcessStarted(BaseException):
    """A test that counts as quick has started a process; no test catches this by accident."""


class NoProcesses:
    """Plugin that refuses processes during each quick test."""

    def __init__(self) -> None:
        self._refuses = False
        self._spawn = multiprocessing.util.spawnv_passfds
        multiprocessing.util.spawnv_passfds = self._audited_spawn
        sys.addaudithook(self._audit)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Refuse processes in the test and in the set-up and the end of its fixtures."""
        self._refuses = is_quick(item)
        try:
            return (yield)
        finally:
            self._refuses = False

    def _audited_spawn(self, path: bytes, args: Sequence[Any], passfds: Sequence[int]) -> int:
        sys.audit(_SPAWN, path, args)
        return self._spawn(path, args, passfds)

    def _audit(self, event: str, _: tuple[object, ...]) -> None:
        if self._refuses and event in _STARTS:
            raise ProcessStarted(f"{event}: a quick test starts no process; mark it `process`")


class Quick:
    """Plugin that leaves out what is not quick, and draws few examples of properties."""

    def __init__(self) -> None:
        usual = hypothesis.settings.get_profile(hypothesis.settings.get_current_profile_name())
        hypothesis.settings.register_profile("quick", usual, max_examples=EXAMPLES)
        hypothesis.settings.load_profile("quick")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the quick tests."""
        left_out = [item for item in items if not is_quick(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_quick(item)]


def is_quick(item: pytest.Item) -> bool:
    """Return whether a test needs neither a server nor a model nor a process nor minutes."""
    fixtures: list[str] = getattr(item, "fixturenames", [])
    is_marked = any(item.get_closest_marker(name) for name in ("process", "long"))
    return not is_marked and not (SERVERS | MODELS) & set(fixtures)
