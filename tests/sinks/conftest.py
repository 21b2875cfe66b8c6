"""What sink tests share: a local Milvus folder, and a process of its own that writes into one."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from tests.sinks.settings import strong_sink
from tests.sinks.stub_server import StubServer

ROOT = Path(__file__).resolve().parents[2]

StartWriter = Callable[[Path, int], "subprocess.Popen[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "milvus"


@pytest.fixture
def settings(folder: Path) -> MilvusSettings:
    return MilvusSettings(uri=str(folder))


@pytest.fixture
def sink(settings: MilvusSettings) -> Iterator[MilvusSink]:
    """A sink on a new folder, not open yet."""
    sink = strong_sink(settings)
    yield sink
    sink.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[StubServer]:
    """A server that fails on request."""
    server = StubServer(tmp_path / "server")
    yield server
    server.close()


@pytest.fixture
def start_writer() -> Iterator[StartWriter]:
    """Start `tests.sinks.local_writer` on a folder; all of them are killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path, most_file_bytes: int) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", "tests.sinks.local_writer", str(folder), str(most_file_bytes)]
        started.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
