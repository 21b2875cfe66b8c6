"""A stack starts, names a part that is stopped, is green again soon after its restart, and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.services.missing import skip_or_fail
from tests.services.processes import offspring, started
from tests.stack.look import Alert, Readiness, alerts, document, readiness
from tests.stack.parts import ROOT
from tests.stack.place import Place
from tests.stack.ports import WELL_KNOWN, choose, is_free
from tests.stack.prometheus import DEPLOYED, settings_for

GREEN_S = 120.0
NAMED_S = 240.0
"""The worker, Prometheus and the rule each look every 5 s; a busy machine needs longer."""
COMMAND_S = 290.0
NAME_OF = {"kafka": "kafka", "milvus": "index", "redis": "redis"}
"""Part → its name in /readyz and in the metrics."""
LOOK_AGAIN_S = 0.2


class Process(NamedTuple):
    """A process, distinguishable from a later one with the same id."""

    pid: int
    started: str

    def lives(self) -> bool:
        return started(self.pid) == self.started


class Running(NamedTuple):
    """A stack and where it listens."""

    place: Place
    worker: str
    prometheus: str

    def processes(self) -> list[Process]:
        return [Process(pid, began) for one in self.place.supervisors() for pid in (one, *offspring(one)) if (began := started(pid))]

    def named(self, dependency: str) -> list[Alert]:
        return [alert for alert in alerts(self.prometheus) or [] if alert.labels.get("about") == dependency]

    def away(self) -> list[str]:
        """Return the dependencies that the page shows as away."""
        return [one["name"] for one in document(self.worker, "/api/status").get("dependencies", []) if one["state"] == "away"]

    def problems(self) -> list[str]:
        """Return the problems that the doctor finds; `unasked` if it cannot be asked."""
        checks = document(self.worker, "/api/doctor").get("checks")
        return ["unasked"] if checks is None else [one["name"] for one in checks if one["state"] == "problem"]

    def says(self) -> Readiness:
        said = readiness(self.worker)
        assert said is not None, "the worker does not answer"
        return said


def run(place: Place, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.stack", *words, "--folder", str(place.folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False)


def wait_until(what: str, is_so: Callable[[], bool], most_s: float) -> None:
    until_s = time.monotonic() + most_s
    while not is_so():
        assert time.monotonic() < until_s, f"not within {most_s:.0f} s: {what}"
        time.sleep(LOOK_AGAIN_S)


def check_outage(stack: Running, part: str, name: str) -> None:
    """Stop a part, which is named everywhere then, and start it again."""
    assert run(stack.place, "stop", part).returncode == 0
    wait_until(f"/readyz names {name}", lambda: name in stack.says().wrong(), NAMED_S)
    said = stack.says()
    assert (said.code, said.status) == ((200, "degraded") if name == "redis" else (503, "not_ready"))
    wait_until(f"an alert names {name}", lambda: bool(stack.named(name)), NAMED_S)
    assert {alert.name for alert in stack.named(name)} == {"VectailDependencyDown"}
    assert name in run(stack.place, "status").stdout
    assert stack.away() == [name]
    assert name in stack.problems()
    started_again = run(stack.place, "start", part)
    assert started_again.returncode == 0, started_again.stderr
    wait_until(f"green after {part}", lambda: stack.says().status == "ready" and not stack.named(name), GREEN_S)
    assert stack.away() == []
    assert name not in stack.problems()


def bring_up(place: Place) -> Running:
    done = run(place, "up", "--any-port")
    if done.returncode == 2:
        skip_or_fail(f"no stack: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    at = dict(line.split()[:2] for line in done.stdout.splitlines() if line.strip().startswith((*WELL_KNOWN,)))
    page = f"Open http://{at['worker']}/ in a browser: "
    assert done.stdout.startswith(page), "before anything is started"
    assert f"\n{page}the stack runs.\n" in done.stdout
    return Running(place, at["worker"], at["prometheus"])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path / "stack")
    yield place
    run(place, "down")


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_what_is_stopped_is_named_by_readyz_and_an_alert_and_all_is_green_soon_after_its_start_and_down_leaves_nothing(
    place: Place,
) -> None:
    stack = bring_up(place)
    assert run(place, "up").returncode == 2, "a second one beside it"
    for part, name in NAME_OF.items():
        check_outage(stack, part, name)
    everybody = stack.processes()
    assert len(everybody) > len(WELL_KNOWN)
    done = run(place, "down")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "nothing is left")
    assert [one for one in everybody if one.lives()] == []
    assert list(place.folder.parent.iterdir()) == []
    assert run(place, "status").returncode == 2


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_a_supervisor_that_is_killed_takes_everything_along_and_down_removes_the_folder(place: Place) -> None:
    stack = bring_up(place)
    everybody = stack.processes()
    (supervisor,) = place.supervisors()
    os.kill(supervisor, signal.SIGKILL)
    assert place.wait_free(GREEN_S)
    wait_until("all are gone", lambda: not [one for one in everybody if one.lives()], GREEN_S)
    assert place.folder.exists()
    done = run(place, "down")
    assert (done.returncode, done.stdout) == (0, "what a killed stack had left is removed\n")
    assert not place.folder.exists()


@pytest.mark.process
def test_without_a_stack_down_has_nothing_to_do_and_the_others_say_so(place: Place) -> None:
    assert run(place, "down").returncode == 0
    for words in (["status"], ["stop", "redis"], ["start", "redis"]):
        done = run(place, *words)
        assert (done.returncode, done.stderr) == (2, "stack: no stack runs; `make stack` starts one\n")


@pytest.mark.process
def test_where_no_namespace_can_be_made_that_is_one_line_and_nothing_is_left(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(place.folder.parent))
    done = run(place, "up", "--any-port")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "unshare is not installed" in done.stderr
    assert not place.folder.exists()


def test_the_jobs_intervals_and_rules_of_prometheus_are_those_that_are_deployed() -> None:
    deployed = yaml.safe_load(DEPLOYED.read_text(encoding="utf-8"))
    made = settings_for({"vectail": "127.0.0.1:1", "prometheus": "127.0.0.1:2"})
    assert made["global"] == deployed["global"]
    assert [Path(pattern).name for pattern in made["rule_files"]] == [Path(pattern).name for pattern in deployed["rule_files"]]
    assert all(list(Path(pattern).parent.glob(Path(pattern).name)) for pattern in made["rule_files"])
    before = {job["job_name"]: job for job in deployed["scrape_configs"]}
    assert {job["job_name"]: job.pop("static_configs") for job in made["scrape_configs"]} == {
        "vectail": [{"targets": ["127.0.0.1:1"]}],
        "prometheus": [{"targets": ["127.0.0.1:2"]}],
    }
    for job in made["scrape_configs"]:
        assert job == {key: value for key, value in before[job["job_name"]].items() if not key.endswith("_configs")}


def test_the_well_known_ports_are_those_that_are_published_and_one_that_is_taken_is_not_chosen() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    published = {name: str(services[name]["ports"][0]) for name in WELL_KNOWN}
    assert {name: at.rpartition(":")[2].strip("}") for name, at in published.items()} == {
        name: str(port) for name, port in WELL_KNOWN.items()
    }
    free = choose(well_known=False)
    assert set(free) == set(WELL_KNOWN)
    assert not set(free.values()) & set(WELL_KNOWN.values())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert not is_free(listener.getsockname()[1])
