"""The status pages of a whole service on the embedded broker: their content, and that every metric is right and listed."""

import gzip
import http.client
import json
from collections import Counter
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families as parsed

from tests.fakes.sink import FakeSink
from tests.worker.running import Ended, World, lines_of, wait_until
from worker.runtime.listening import listen
from worker.runtime.process import vectail_version
from worker.service.shutdown import Ending
from worker.settings.masks_version import masks_version
from worker.settings.rule_tables import DropTable, SampleTable
from worker.settings.service_tables import HttpTable, StatusTable
from worker.settings.tables import DecodeTable, IndexTable, MaskTable, RedactTable
from worker.watching import metrics as m

LINES = 40
MASKS = MaskTable(disabled=("email",))
LIVELY = StatusTable(refresh_s=0.5)
Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def ask(running: Ended, path: str, accept: str = "") -> tuple[int, str, str]:
    listening = running.service.connections.http
    assert listening is not None
    client = http.client.HTTPConnection(listening.host, listening.port, timeout=30)
    try:
        client.request("GET", path, headers={"Accept": accept} if accept else {})
        answer = client.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()
    finally:
        client.close()


def page(running: Ended, path: str) -> tuple[int, str, dict[str, str]]:
    status, content_type, body = ask(running, path)
    assert content_type == "application/json"
    document = json.loads(body)
    return status, document["status"], document["checks"]


def families(running: Ended) -> dict[str, Metric]:
    status, content_type, body = ask(running, "/metrics")
    assert status == 200
    assert content_type.startswith("text/plain")
    return {family.name: family for family in parsed(body)}


def values(running: Ended) -> Values:
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families(running).values() for s in family.samples}


def value(found: Values, name: str, **labels: str) -> float:
    return found[name, tuple(sorted(labels.items()))]


def name_of(metric: m.Metric) -> str:
    return metric.name.removesuffix("_total") if metric.type == "counter" else metric.name


@pytest.fixture
def world(world: World) -> World:
    world.http = listen(HttpTable(port=0))
    return world


@pytest.fixture
def fed(world: World) -> Ended:
    """A service that has handled every sort of record and query."""
    world.fake_sink.templates.ranks_words = False
    world.send(lines_of(LINES))
    world.send([b"\xff\xc0", b"", gzip.compress(b'{"message": "mail to ann@example.org", "level": "info"}')], partition=1)
    often = {"commit_interval_s": 0.2}
    settings = world.settings(
        status=LIVELY,
        kafka=often,
        decode=DecodeTable(errors="strict"),
        redact=RedactTable(rules=("email",)),
        mask=MASKS,
        drop=(DropTable(name="probes", pattern="^GET /healthz"),),
        sample=(SampleTable(name="chatty", level=("TRACE",), above_per_s=1),),
    )
    running = world.start(settings).opened()
    wait_until(lambda: running.service.pipeline.indexing.ledger.tally["admitted"] == LINES + 3, "all records")
    wait_until(lambda: not running.service.pipeline.indexing.ledger.tally["in_flight"], "all to be done")
    world.ask({"text": "disk"}, {"text": ""})
    wait_until(lambda: page(running, "/readyz")[1] == "ready", "readiness")
    wait_until(lambda: any(name == "vectail_consumer_committed_offset" for name, _ in values(running)), "what is committed")
    return running


def test_every_metric_is_there_with_its_type_labels_and_help(fed: Ended) -> None:
    found = families(fed)
    always = [metric for metric in m.METRICS if not metric.name.startswith(m.OF_EMBEDDING_SERVICE)]
    for metric in always:
        family = found[name_of(metric)]
        assert (family.type, family.documentation) == (metric.type, metric.help), metric.name
        assert family.samples, metric.name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(metric.labels), metric.name
    shown = ask(fed, "/metrics")[2]
    assert not any(word in shown for word in ("ann@", "disk")), "no figure bears a word of a record"
    ours = {name for name in found if name.startswith("vectail_")}
    assert ours == {name_of(metric) for metric in always}


def test_the_threads_of_the_store_stage_are_its_writers(world: World) -> None:
    running = world.start(world.settings(index=IndexTable(writers=3))).opened()
    found = values(running)
    assert {stage: value(found, "vectail_stage_threads", stage=stage) for stage in ("prepare", "engine", "store")} == {
        "prepare": 1,
        "engine": 1,
        "store": 3,
    }


def test_the_figures_are_those_of_what_was_fed(fed: Ended, world: World) -> None:
    wait_until(lambda: world.committed() == LINES + 3, "the commit")
    found = values(fed)
    topic = world.topic
    (build,) = (dict(labels) for name, labels in found if name == "vectail_build_info")
    assert (build["version"], build["masks"]) == (vectail_version(), masks_version(MASKS))
    assert value(found, "vectail_records_admitted_total", topic=topic) == LINES + 3
    outcomes = {"indexed": LINES + 1, "dead_letter": 1, "empty": 1, "tombstone": 0, "revoked": 0, "abandoned": 0}
    assert {o: value(found, "vectail_records_total", topic=topic, outcome=o) for o in outcomes} == outcomes
    assert value(found, "vectail_in_flight_records", group="logs") == 0
    assert value(found, "vectail_decode_total", format="text") == LINES
    assert value(found, "vectail_decode_total", format="json") == 1
    assert value(found, "vectail_decode_total", format="none") == 1
    assert [value(found, "vectail_decompressed_records_total", codec=codec) for codec in ("gzip", "zstd")] == [1, 0]
    assert value(found, "vectail_events_closed_early_total") == 0
    assert value(found, "vectail_redactions_total", rule="email") == 1
    assert value(found, "vectail_dlq_total", stage="decode", reason="undecodable") == 1
    assert value(found, "vectail_sink_lines_total") == LINES + 1
    assert value(found, "vectail_searchable_seconds_count") == LINES + 1
    ways = Counter({w: value(found, "vectail_chunks_total", topic=topic, way=w) for w in ("known", "collapsed", "engine", "rejected")})
    assert ways.total() == LINES + 1
    assert ways["engine"] == value(found, "vectail_sink_rows_total", op="templates") == 8
    assert value(found, "vectail_queries_total", outcome="answered") == 1
    assert value(found, "vectail_queries_total", outcome="bad_query") == 1
    assert value(found, "vectail_query_seconds_count", stage="total") == 1
    assert value(found, "vectail_engine_up") == 1
    assert value(found, "vectail_batch_tokens_sum") > 0
    assert value(found, "vectail_rebalances_total", group="logs", event="assign") >= 1


def test_the_lag_and_what_is_committed_are_kafkas_own(fed: Ended, world: World) -> None:
    def lags() -> list[float]:
        found = values(fed)
        return [v for (name, labels), v in found.items() if name == "vectail_consumer_lag_records" and ("topic", world.topic) in labels]

    wait_until(lambda: lags() == [0.0] * 4, "no lag in any of the partitions, two of which never had a record")
    found = values(fed)
    assert value(found, "vectail_consumer_committed_offset", topic=world.topic, partition="0") == LINES
    assert value(found, "vectail_consumer_end_offset", topic=world.topic, partition="1") == 3
    assert value(found, "vectail_consumer_lag_age_seconds") >= 0
    assert ("vectail_consumer_committed_offset", (("partition", "2"), ("topic", world.topic))) not in found


def test_a_worker_that_waits_for_its_index_is_alive_and_says_what_it_waits_for(world: World) -> None:
    assert isinstance(world.sink, FakeSink)
    world.sink.busy_calls = 10**9
    running = world.start(world.settings(status=LIVELY))
    wait_until(lambda: page(running, "/readyz")[2].get("index", "").startswith("the fake sink is busy"), "the reason")
    assert page(running, "/readyz")[:2] == (503, "not_ready")
    assert page(running, "/healthz") == (200, "alive", {"worker": "starting"})
    world.sink.busy_calls = 0
    wait_until(lambda: page(running, "/readyz")[0] == 200, "readiness")
    status, word, checks = page(running, "/healthz")
    assert (status, word, set(checks.values())) == (200, "alive", {"ok"})
    assert value(values(running), "vectail_ready") == 1


def test_the_heartbeat_is_touched_while_it_lives(world: World, tmp_path: Path) -> None:
    file = tmp_path / "alive"
    running = world.start(world.settings(status=StatusTable(refresh_s=0.5, heartbeat_file=file))).opened()
    wait_until(file.exists, "the first beat")
    first_ns = file.stat().st_mtime_ns
    wait_until(lambda: file.stat().st_mtime_ns > first_ns, "the next beat")
    assert running.stop() is Ending.DRAINED
