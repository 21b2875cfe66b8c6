"""`vectail run --workers N`: refused where it cannot be, shares divided, all drained by one signal, all ended when one fails."""

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
from worker.cli.exits import CommandFailed
from worker.cli.workers import WorkerIndex, read_part, shares_of
from worker.runtime.exit_codes import CRASHED, DRAINED, USER_ERROR
from worker.settings.settings import Settings
from worker.settings.status_table import HttpTable
from worker.settings.tables import EngineTable

WAIT_S = 90


class Crew:
    """A real `vectail run --workers 2`, whose workers wait for a Milvus that is not there.

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
            env=os.environ | {f"VECTAIL_{name}": value for name, value in settings.items()},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []

    def wait_for(self, part: str, times: int = 1) -> None:
        """Read on until so many lines with that part have come."""
        assert self.process.stderr is not None
        while sum(part in line for line in self.said) < times:
            line = self.process.stderr.readline()
            assert line, f"ended without saying {part!r}: {self.said}"
            self.said.append(line)

    def end(self) -> tuple[int, str]:
        """Wait for its end; returns its exit code and the rest of what it said."""
        _, rest = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, rest

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="ascii")
        return [int(child) for child in children.split()]


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    broker = EmbeddedBroker()
    (tmp_path / "worker.py").write_text("raise SystemExit('this is not vectail')", encoding="utf-8")
    crew = Crew(broker.bootstrap_servers, tmp_path)
    yield crew
    for pid in crew.workers() if crew.process.poll() is None else []:
        os.kill(pid, signal.SIGKILL)
    crew.process.kill()
    crew.process.wait()
    if crew.process.stderr is not None:
        crew.process.stderr.close()
    broker.close()


def test_one_signal_drains_all_of_them(crew: Crew) -> None:
    crew.wait_for("waiting for it", times=2)
    assert len(crew.workers()) == 2
    assert any('"worker": 1' in line for line in crew.said)
    assert any('"worker": 2' in line for line in crew.said)
    crew.process.send_signal(signal.SIGTERM)
    exit_code, rest = crew.end()
    assert (exit_code, rest.count("drained; everything")) == (DRAINED, 2)


def test_one_that_is_killed_ends_the_others(crew: Crew) -> None:
    crew.wait_for("waiting for it", times=2)
    os.kill(crew.workers()[1], signal.SIGKILL)
    exit_code, rest = crew.end()
    assert exit_code == CRASHED
    assert rest.splitlines()[-1] == "vectail: worker 2 of 2 ended with exit code -9, see above"
    assert rest.count("drained; everything") == 1


def test_a_stop_while_they_load_is_a_drain(crew: Crew) -> None:
    crew.wait_for("workers started")
    crew.process.send_signal(signal.SIGTERM)
    assert crew.end()[0] == DRAINED


def test_workers_do_not_outlive_a_parent_that_is_killed(crew: Crew) -> None:
    crew.wait_for("waiting for it", times=2)
    crew.process.kill()
    _, rest = crew.process.communicate(timeout=WAIT_S)  # ends when the last of them has closed standard error
    assert rest.count("drained; everything") == 2


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


def test_cores_and_memory_are_divided_and_each_has_a_port_of_its_own() -> None:
    settings = Settings(engine=EngineTable(threads=8, memory_share=0.6))
    shares = shares_of(settings, WorkerIndex(2, 4))
    assert shares == {"engine": {"threads": 2, "memory_share": pytest.approx(0.15)}, "http": {"port": settings.http.port + 1}}
    assert shares_of(settings, WorkerIndex(1, 16))["engine"]["threads"] == 1
    any_port = settings.model_copy(update={"http": HttpTable(port=0)})
    assert shares_of(any_port, WorkerIndex(2, 4))["http"] == {"port": 0}


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "a/2", "-1/2", "1/2/3"])
def test_a_part_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CommandFailed, match="--part is K/N"):
        read_part(text)
