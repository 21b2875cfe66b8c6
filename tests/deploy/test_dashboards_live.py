"""Every query of every panel on our metrics has data in a real Prometheus that scrapes a real worker under load; so has every rule."""

import http.client
import json
import math
from collections.abc import Iterator
from http import HTTPStatus
from typing import NamedTuple
from uuid import uuid4

import pytest

from tests.deploy.feeding import Feeding
from tests.deploy.prometheus import Prometheus
from tests.deploy.promql import Query, queries, rules
from tests.faults.scene import Scene
from tests.faults.shallow import shallow_model
from tests.faults.topics import Topics
from tests.faults.worker_process import WAIT_S, WorkerProcess
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from tests.services.redis import local_redis

WITHIN_S = 90.0
OURS = [query for query in queries() if query.source == 1]
NO_FIGURE = ("Time to drain", "Time to drain by partition", "Worst stored vector")
"""Without a lag it is 0 / 0, and +Inf while the lag grows; and stored vectors are first compared after ten minutes."""
ONLY_UNDER_LOAD = "vectail:record_busy_seconds:loaded"
"""Recorded while a worker is busy for more than a third of the time; this one may be faster than that."""


class Watched(NamedTuple):
    """A worker under load, and the Prometheus that scrapes it."""

    prometheus: Prometheus
    worker: WorkerProcess
    port: int

    def ask_for_a_vector(self) -> None:
        """Ask the worker, as a client of its embedding service does."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        client.request("POST", "/embed", json.dumps({"inputs": f"text {uuid4().hex}"}), {"Content-Type": "application/json"})
        assert client.getresponse().status == HTTPStatus.OK
        client.close()


@pytest.fixture(scope="module")
def watched(kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    topics = Topics(kafka, lambda stem: f"{stem}-{uuid4().hex[:12]}")
    scene = Scene(topics, folder, shallow_model())
    port = free_port()
    try:
        with local_redis() as redis:
            worker = scene.start(
                http__port=str(port),
                redis__url=redis.url,
                redact__rules='["all"]',
                status__refresh_s="1",
                status__canary_interval_s="5",
                drop=json.dumps([{"name": "mail", "pattern": "^mail to "}]),
                serve__enabled="true",
                serve__model="all-MiniLM-L6-v2",
                sample=json.dumps([{"name": "mail", "pattern": "^mail from ", "above_per_s": 1}]),
            )
            with Feeding(topics), Prometheus(folder, {"vectail": port}) as prometheus:
                assert prometheus.wait_for(lambda: has_figure(prometheus, "vectail_ready == 1"), WAIT_S), worker.lines
                yield Watched(prometheus, worker, port)
            assert worker.lives, worker.lines
    finally:
        scene.close()


def has_figure(prometheus: Prometheus, expr: str) -> bool:
    return any(math.isfinite(float(series["value"][1])) for series in prometheus.query(expr))


def has_data(prometheus: Prometheus, query: Query) -> bool:
    """Whether it returns a finite number, or any series where finite numbers are not expected."""
    return bool(prometheus.query(query.text())) if query.panel in NO_FIGURE else has_figure(prometheus, query.text())


def test_a_query_on_our_metrics_has_data(watched: Watched, subtests: pytest.Subtests) -> None:
    missing = set(OURS)

    def none_is_missing() -> bool:
        assert watched.worker.lives, watched.worker.lines
        watched.ask_for_a_vector()
        missing.difference_update([query for query in missing if has_data(watched.prometheus, query)])
        return not missing

    watched.prometheus.wait_for(none_is_missing, WITHIN_S)
    for query in OURS:
        with subtests.test(str(query)):
            assert query not in missing, f"no data: {query.text()}"


def test_rules_are_evaluated_and_have_results(watched: Watched) -> None:
    missing = {rule["record"] for rule in rules() if "record" in rule} - {ONLY_UNDER_LOAD}

    def none_is_missing() -> bool:
        missing.difference_update([name for name in missing if has_figure(watched.prometheus, name)])
        return not missing

    assert watched.prometheus.wait_for(none_is_missing, WITHIN_S), missing
    found = watched.prometheus.rules()
    assert len(found) == len(rules())
    assert [(rule["name"], rule.get("lastError")) for rule in found if rule["health"] != "ok"] == []


def test_the_other_sources_are_silent_while_the_workers_are_asked(watched: Watched) -> None:
    for query in queries():
        if "vector($source)" in query.expr:
            for source in {1, 2, 3} - {query.source}:
                assert watched.prometheus.query(query.text(source)) == [], query
