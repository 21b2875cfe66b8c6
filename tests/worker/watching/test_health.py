"""Alive and ready: what each of the two depends on, and what it ignores."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from worker.watching.health import Health, HealthVerdict, Phase
from worker.watching.probe import Probe, ProbeFailed

INTERVAL_S = 90.0


@dataclass
class Poller:
    last_poll_s: float = 1_000.0
    joined: bool = True

    def has_joined(self, now_s: float) -> bool:
        return self.joined and now_s > 0


@dataclass
class Stage:
    name: str
    lives: bool = True

    def is_alive(self) -> bool:
        return self.lives


class Worker:
    """A healthy worker, until a test changes it."""

    def __init__(self) -> None:
        self.now_s = 1_001.0
        self.phase: Phase = "running"
        self.engine_is_up = True
        self.logs, self.queries = Poller(), Poller()
        self.store = Stage("store-1")
        self.wrong = {"kafka": "", "index": "", "redis": ""}
        self.probes = [Probe(name, self._asker(name), every_s=1, clock=lambda: self.now_s) for name in self.wrong]
        self.health = Health(
            pollers={"logs": self.logs, "queries": self.queries},
            stages=[Stage("prepare-1"), self.store],
            probes=self.probes,
            phase=lambda: self.phase,
            engine_is_up=lambda: self.engine_is_up,
            max_poll_interval_s=INTERVAL_S,
            clock=lambda: self.now_s,
        )

    def _asker(self, name: str) -> Callable[[], None]:
        def ask() -> None:
            if self.wrong[name]:
                raise ProbeFailed(self.wrong[name])

        return ask

    def ready(self) -> HealthVerdict:
        for probe in self.probes:
            probe.check_once()
        return self.health.ready()


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_a_worker_that_is_well_is_alive_and_ready(worker: Worker) -> None:
    assert worker.ready() == HealthVerdict("ready", dict.fromkeys(("kafka", "index", "redis", "engine", "assignment"), "ok"))
    assert worker.health.alive() == HealthVerdict("alive", dict.fromkeys(("poller-logs", "poller-queries", "prepare-1", "store-1"), "ok"))
    assert worker.health.alive().is_good


def test_alive_depends_on_nothing_outside(worker: Worker) -> None:
    worker.wrong = dict.fromkeys(worker.wrong, "away")
    worker.engine_is_up = worker.queries.joined = False
    assert not worker.ready().is_good
    assert worker.health.alive().status == "alive"


def test_a_poll_loop_may_pause_for_a_third_of_its_interval_and_no_longer(worker: Worker) -> None:
    worker.now_s = worker.logs.last_poll_s + INTERVAL_S / 3
    assert worker.health.alive().is_good
    worker.now_s += 1
    worker.queries.last_poll_s = worker.now_s
    verdict = worker.health.alive()
    assert (verdict.status, verdict.is_good) == ("dead", False)
    assert verdict.checks["poller-logs"] == "has not polled for 31 s"
    assert verdict.checks["poller-queries"] == "ok"
    worker.store.lives = False
    assert worker.health.alive().checks["store-1"] == "has ended"


@pytest.mark.parametrize("phase", ["starting", "stopping"])
def test_while_it_starts_or_stops_it_is_alive_and_not_ready(worker: Worker, phase: Phase) -> None:
    worker.phase, worker.store.lives, worker.logs.last_poll_s = phase, False, 0.0
    assert worker.health.alive() == HealthVerdict("alive", {"worker": phase})
    assert worker.ready().status == "not_ready"


@pytest.mark.parametrize("name", ["kafka", "index", "engine", "assignment"])
def test_what_is_away_is_named(worker: Worker, name: str) -> None:
    worker.wrong |= {name: "nobody answers"}
    worker.engine_is_up, worker.logs.joined = name != "engine", name != "assignment"
    reasons = {"engine": "a new engine is being loaded", "assignment": "waiting for the groups to assign partitions"}
    verdict = worker.ready()
    assert (verdict.status, verdict.is_good) == ("not_ready", False)
    assert {check: said for check, said in verdict.checks.items() if said != "ok"} == {name: reasons.get(name, "nobody answers")}


def test_without_redis_it_is_degraded_and_works(worker: Worker) -> None:
    worker.wrong["redis"] = "away"
    verdict = worker.ready()
    assert (verdict.status, verdict.is_good, verdict.checks["redis"]) == ("degraded", True, "away")
    worker.wrong["kafka"] = "away"
    assert worker.ready().status == "not_ready"


def test_an_index_that_answers_but_is_not_open_yet_is_not_ready(worker: Worker) -> None:
    worker.phase = "starting"
    assert worker.ready().checks["index"] == "not open yet"
    worker.wrong["index"] = "away"
    assert worker.ready().checks["index"] == "away"
