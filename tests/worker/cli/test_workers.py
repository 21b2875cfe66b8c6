"""`vectail run --workers N`: impossible settings are refused, shares divided, one signal drains all, a failure of one ends all."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from producers.kafka import EmbeddedBroker
from tests.services.ports import free_port
from tests.worker.cli.conftest import RunHere
from tests.worker.cli.console import ROOT
from worker.cli.exit_codes import CRASHED, DRAINED, USER_ERROR
from worker.cli.exits import CommandFailed
from worker.cli.workers import WorkerIndex, read_worker_index, worker_share
from worker.settings.service_tables import HttpTable
from worker.settings.settings import Settings
from worker.settings.tables import EngineTable

WAIT_S = 90


class RunningGroup:
    """A real `vectail run --workers 2` whose workers wait for a Milvus server that does not exist.

    Thread: the test's.
    """

    def __init__(self, broker: str, folder: Path) -> None:
        settings = {
            "KAFKA__BOOTSTRAP_SERVERS": broker,
            "KAFKA__TOPIC_EPOCH": "e1",
            "KAFKA__GROUP_PROTOCOL": "consumer",
            "MILVUS__URI": f"http://127.0.0.1:{free_port()}",
            "MILVUS__TIMEOUT_S": "1",
        }
        self.process = subprocess.Popen(
            [str(Path(sys.executable).with_name("vectail")), "run", "--workers", "2"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | {f"VECTAIL_{name}": value for name, value in settings.items()},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []

    def wait_for(self, part: str, times: int = 1) -> None:
        """Read until this many lines contain `part`."""
        assert self.process.stderr is not None
        while sum(part in line for line in self.said) < times:
            line = self.process.stderr.readline()
            assert line, f"ended without saying {part!r}: {self.said}"
            self.said.append(line)

    def end(self) -> tuple[int, str]:
        """Wait until it has ended; returns its exit code and the rest of its output."""
        _, rest = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, rest

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [int(child) for child in children.split()]


@pytest.fixture
def group(tmp_path: Path) -> Iterator[RunningGroup]:
    broker = EmbeddedBroker()
    (tmp_path / "worker.py").write_text("raise SystemExit('this is not vectail')", encoding="utf-8")
    group = RunningGroup(broker.bootstrap_servers, tmp_path)
    yield group
    for pid in group.workers() if group.process.poll() is None else []:
        os.kill(pid, signal.SIGKILL)
    group.process.kill()
    group.process.wait()
    if group.process.stderr is not None:
        group.process.stderr.close()
    broker.close()


def test_one_signal_drains_all_of_them(group: RunningGroup) -> None:
    group.wait_for("waiting for it", times=2)
    assert len(group.workers()) == 2
    assert any('"worker": 1' in line for line in group.said)
    assert any('"worker": 2' in line for line in group.said)
    group.process.send_signal(signal.SIGTERM)
    exit_code, rest = group.end()
    assert (exit_code, rest.count("drained; every record")) == (DRAINED, 2)


def test_one_that_is_killed_ends_the_others(group: RunningGroup) -> None:
    group.wait_for("waiting for it", times=2)
    os.kill(group.workers()[1], signal.SIGKILL)
    exit_code, rest = group.end()
    assert exit_code == CRASHED
    assert rest.splitlines()[-1] == "vectail: worker 2 of 2 ended with exit code -9, see above"
    assert rest.count("drained; every record") == 1


def test_workers_do_not_outlive_a_parent_that_is_killed(group: RunningGroup) -> None:
    group.wait_for("waiting for it", times=2)
    group.process.kill()
    _, rest = group.process.communicate(timeout=WAIT_S)  # returns when the last worker has closed standard error
    assert rest.count("drained; every record") == 2


def test_a_local_folder_belongs_to_one_worker(run_here: RunHere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VECTAIL_MILVUS__URI", str(tmp_path / "index"))
    ended = run_here("run", "--workers", "2")
    assert ended.exit_code == USER_ERROR
    assert ended.err == f"vectail: --workers 2 needs a Milvus server: the folder {tmp_path / 'index'} belongs to one process\n"


def test_a_static_member_cannot_be_several(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__LIBRDKAFKA__GROUP_INSTANCE_ID", "one")
    ended = run_here("run", "--workers", "2")
    assert ended.exit_code == USER_ERROR
    assert "group.instance.id" in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--from", "latest"],
            "vectail: --from: this worker indexes nothing (kafka.index); `vectail offsets reset` moves the group vectail\n",
        ),
        (["--adopt"], "vectail: --adopt: this worker indexes nothing (kafka.index), so it takes over no index\n"),
    ],
)
def test_a_worker_that_indexes_nothing_moves_no_group_and_takes_over_no_index(
    run_here: RunHere, monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    monkeypatch.setenv("VECTAIL_KAFKA__INDEX", "false")
    ended = run_here("run", *options)
    assert (ended.exit_code, ended.err) == (USER_ERROR, said)


def test_cores_and_memory_are_divided_and_each_has_a_port_of_its_own() -> None:
    settings = Settings(engine=EngineTable(threads=8, memory_share=0.6))
    shares = worker_share(settings, WorkerIndex(2, 4))
    assert shares == {"engine": {"threads": 2, "memory_share": pytest.approx(0.15)}, "http": {"port": settings.http.port + 1}}
    assert worker_share(settings, WorkerIndex(1, 16))["engine"] == {"threads": 1, "memory_share": pytest.approx(0.0375)}
    any_port = settings.model_copy(update={"http": HttpTable(port=0)})
    assert worker_share(any_port, WorkerIndex(2, 4))["http"] == {"port": 0}


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/2", "-1/2", "1/2/3"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CommandFailed, match="--part is K/N"):
        read_worker_index(text)
