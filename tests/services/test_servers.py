"""The servers that tests start answer, come back on their ports after a kill, and are gone in the end; without one a test says so."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

import pytest
from confluent_kafka import Producer

from tests.services import kafka as kafka_servers
from tests.services import milvus as milvus_servers
from tests.services import redis as redis_servers
from tests.services.kafka import OwnKafka
from tests.services.milvus import MilvusServer, OwnMilvus, connected
from tests.services.missing import ServerMissing, skip_or_fail
from tests.services.mock_kafka import MockKafka
from tests.services.ports import listens
from tests.services.processes import offspring, started
from tests.services.redis import LocalRedis, local_redis
from tests.services.shared import open_kafka, open_milvus, open_redis, or_skip
from tests.services.wheel_milvus import WheelMilvus, check_namespaces

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30.0
OWNER = """
from tests.services.wheel_milvus import WheelMilvus
server = WheelMilvus()
print(server.pid, server.uri, flush=True)
input()
"""
Unique = Callable[[str], str]


def _produce(bootstrap: str, topic: str, values: list[bytes]) -> None:
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "acks": "all"})
    for value in values:
        producer.produce(topic, value, partition=0, on_delivery=lambda error, _message: refused.append(error) if error else None)
    assert producer.flush(WAIT_S) == 0
    assert refused == []


def _answers(address: str) -> bool:
    return listens(int(address.rpartition(":")[2]))


def _network(pid: int) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


@pytest.mark.process
def test_a_server_that_is_named_comes_first_and_is_never_ended(
    monkeypatch: pytest.MonkeyPatch, mock_kafka: MockKafka, milvus: MilvusServer, unique: Unique
) -> None:
    monkeypatch.setenv(kafka_servers.ADDRESS_VARIABLE, mock_kafka.bootstrap)
    monkeypatch.setenv(milvus_servers.ADDRESS_VARIABLE, milvus.uri.removeprefix("http://"))
    with local_redis() as server:
        monkeypatch.setenv(redis_servers.ADDRESS_VARIABLE, server.url)
        with open_kafka() as broker, open_milvus() as index, open_redis() as url:
            assert (broker.bootstrap, index.uri, url) == (mock_kafka.bootstrap, milvus.uri, server.url)
            assert not isinstance(broker, OwnKafka)
            assert not isinstance(index, OwnMilvus)
        assert server.admin().ping()
    _produce(mock_kafka.bootstrap, unique("logs"), [b"still there"])
    with connected(milvus.uri) as client:
        assert client.get_server_version(timeout=WAIT_S)


def _missing(reason: str) -> AbstractContextManager[NoReturn]:
    raise ServerMissing(reason)


def test_a_missing_server_skips_with_every_reason_and_fails_the_run_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    said = "no Kafka: no Docker; no Java"
    with pytest.raises(pytest.skip.Exception, match=said), or_skip("Kafka", lambda: _missing("no Docker"), lambda: _missing("no Java")):
        pass
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=said), or_skip("Kafka", lambda: _missing("no Docker"), lambda: _missing("no Java")):
        pass


@pytest.mark.process
def test_what_a_local_server_needs_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match="redis-server is not installed"):
        LocalRedis()
    with pytest.raises(ServerMissing, match="unshare is not installed"):
        WheelMilvus()
    refusing = tmp_path / "unshare"
    refusing.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    refusing.chmod(0o755)
    with pytest.raises(ServerMissing, match=r"no network namespace .*: unshare failed: Operation not permitted"):
        WheelMilvus()


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


@pytest.mark.process
def test_a_milvus_is_out_of_sight_but_for_its_port_and_ends_with_a_test_run_that_is_killed(owner: "subprocess.Popen[str]") -> None:
    assert owner.stdout
    pid, uri = owner.stdout.readline().split()
    everybody = [int(pid), *offspring(int(pid))]
    folder = Path(Path(f"/proc/{pid}/cmdline").read_text().rstrip("\0").rsplit("\0", 1)[1])
    assert len(everybody) > 3
    assert _answers(uri)
    assert all(_network(one) != _network(os.getpid()) for one in everybody[1:])
    assert folder.is_dir()

    owner.send_signal(signal.SIGKILL)
    owner.wait(WAIT_S)

    until_s = time.monotonic() + WAIT_S
    while any(map(started, everybody)) and time.monotonic() < until_s:
        time.sleep(0.05)
    assert [one for one in everybody if started(one)] == []
    assert not _answers(uri)
    assert not folder.exists()
