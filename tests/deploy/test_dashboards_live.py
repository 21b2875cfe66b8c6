"""Every query of every panel on our metrics has data in a real Prometheus that scrapes a real worker under load; so has every rule."""

import math
import shutil
import subprocess
from collections.abc import Iterator
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
EXPORTERS = [query for query in queries() if query.source == 2]
NO_FIGURE = ("Time to drain", "Time to drain by partition")
"""Without a lag it is 0 / 0, and +Inf while the lag grows."""


class Watched(NamedTuple):
    """A worker under load, and who watches it."""

    prometheus: Prometheus
    worker: WorkerProcess
    topics: Topics
    exporter_port: int


@pytest.fixture(scope="module")
def watched(kafka: KafkaServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    topics = Topics(kafka, lambda stem: f"{stem}-{uuid4().hex[:12]}")
    scene = Scene(topics, folder, shallow_model())
    port, exporter_port = free_port(), free_port()
    try:
        with local_redis() as redis:
            worker = scene.start(
                http__port=str(port),
                redis__url=redis.url,
                redact__rules='["all"]',
                status__refresh_s="1",
                status__canary_interval_s="5",
            )
            with Feeding(topics), Prometheus(folder, {"vectail": port, "kafka-exporter": exporter_port}) as prometheus:
                assert prometheus.wait_for(lambda: has_figure(prometheus, "vectail_ready == 1"), WAIT_S), worker.lines
                yield Watched(prometheus, worker, topics, exporter_port)
            assert worker.lives, worker.lines
    finally:
        scene.close()


@pytest.fixture(scope="module")
def exporter(watched: Watched, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    binary = shutil.which("kafka_exporter")
    if binary is None:
        pytest.skip("kafka_exporter is not on the path: its panels are tested on its recorded figures only")
    options = {
        "kafka.server": watched.topics.bootstrap,
        "web.listen-address": f"127.0.0.1:{watched.exporter_port}",
    }
    log = tmp_path_factory.mktemp("exporter") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [binary, *(f"--{name}={value}" for name, value in options.items())], stdout=output, stderr=subprocess.STDOUT
        )
    yield
    process.terminate()
    process.wait(10)


def has_figure(prometheus: Prometheus, expr: str) -> bool:
    return any(math.isfinite(float(series["value"][1])) for series in prometheus.query(expr))


def look(watched: Watched, query: Query) -> None:
    """Wait until it returns something; a figure, where it must have one by now."""
    any_series = query.panel in NO_FIGURE

    def is_there() -> bool:
        assert watched.worker.lives, watched.worker.lines
        found = watched.prometheus.query(query.text())
        return bool(found) if any_series else has_figure(watched.prometheus, query.text())

    assert watched.prometheus.wait_for(is_there, WITHIN_S), f"no data: {query.text()}"


@pytest.mark.parametrize("query", OURS, ids=str)
def test_a_query_on_our_metrics_has_data(watched: Watched, query: Query) -> None:
    look(watched, query)


@pytest.mark.parametrize("query", EXPORTERS, ids=str)
@pytest.mark.usefixtures("exporter")
def test_a_query_on_kafka_exporter_has_data(watched: Watched, query: Query) -> None:
    look(watched, query)


def test_rules_are_evaluated_and_have_results(watched: Watched) -> None:
    recorded = [rule["record"] for rule in rules() if "record" in rule]

    def all_there() -> bool:
        return all(has_figure(watched.prometheus, name) for name in recorded)

    assert watched.prometheus.wait_for(all_there, WITHIN_S)
    found = watched.prometheus.rules()
    assert len(found) == len(rules())
    assert [(rule["name"], rule.get("lastError")) for rule in found if rule["health"] != "ok"] == []


def test_the_other_sources_are_silent_while_the_workers_are_asked(watched: Watched) -> None:
    for query in queries():
        if "vector($source)" in query.expr:
            for source in {1, 2, 3} - {query.source}:
                assert watched.prometheus.query(query.text(source)) == [], query
