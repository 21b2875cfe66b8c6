"""The Milvus that tests start answers, listens on loopback only, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.milvus import ADDRESS_VARIABLE, MilvusServer, OwnMilvus, connected
from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.shared import open_milvus
from tests.services.wheel_milvus import WheelMilvus, check_namespaces

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30.0
OWNER = """
from tests.services.wheel_milvus import WheelMilvus
server = WheelMilvus()
print(server.pid, server.uri, flush=True)
input()
"""


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _offspring(pid: int) -> list[int]:
    return [one for child in _children(pid) for one in (child, *_offspring(child))]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def _network(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


def _answers(uri: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(uri.rsplit(":", 1)[1]))) == 0


@pytest.fixture
def owner() -> Iterator["subprocess.Popen[str]"]:
    """A process that starts a server from the wheel, reports it, and stays."""
    try:
        check_namespaces()
    except ServerMissing as missing:
        skip_or_fail(str(missing))
    with subprocess.Popen([sys.executable, "-c", OWNER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_the_shared_server_answers(milvus: MilvusServer) -> None:
    with connected(milvus.uri) as client:
        assert client.get_server_version(timeout=WAIT_S)


@pytest.mark.process
def test_a_server_is_out_of_sight_but_for_its_port_and_ends_with_a_test_run_that_is_killed(owner: "subprocess.Popen[str]") -> None:
    assert owner.stdout
    pid, uri = owner.stdout.readline().split()
    started = [int(pid), *_offspring(int(pid))]
    folder = Path(Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").rsplit("\0", 1)[1])
    assert len(started) > 3
    assert _answers(uri)
    assert all(_network(one) != _network(os.getpid()) for one in started[1:])
    assert folder.is_dir()

    owner.send_signal(signal.SIGKILL)
    owner.wait(WAIT_S)

    deadline = time.monotonic() + WAIT_S
    while any(_lives(one) for one in started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [one for one in started if _lives(one)] == []
    assert not _answers(uri)
    assert not folder.exists()


def test_a_named_server_comes_first_and_is_never_ended(monkeypatch: pytest.MonkeyPatch, milvus: MilvusServer) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, milvus.uri.removeprefix("http://"))
    with open_milvus() as server:
        assert not isinstance(server, OwnMilvus), "nobody can end it"
    with connected(milvus.uri) as client:
        assert client.get_server_version(timeout=WAIT_S)


@pytest.mark.process
def test_where_no_namespace_can_be_made_the_wheel_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match="unshare is not installed"):
        WheelMilvus()
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    with pytest.raises(ServerMissing, match=r"no network namespace .*: unshare failed: Operation not permitted"):
        WheelMilvus()
