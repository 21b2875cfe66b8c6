"""A worker's status pages while its servers go away and come back, and its lag compared with Kafka's own tool."""

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from consumers.record import Partition
from tests.faults.pages import Pages, Readiness
from tests.faults.scene import Scene
from tests.faults.worker_process import WorkerProcess
from tests.services.consumer_groups import describe
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer
from tests.services.proxy import Proxy, kafka_proxy
from tests.services.redis import local_redis

GREEN_S = 30.0
REFRESH = {"status__refresh_s": "0.5"}
READY = Readiness(200, "ready", frozenset())


@pytest.fixture
def milvus_proxy(milvus: MilvusServer) -> Iterator[Proxy]:
    with Proxy(int(milvus.uri.rpartition(":")[2])) as proxy:
        yield proxy


def test_each_thing_that_goes_away_is_named_and_all_is_green_within_30_s_of_its_return(
    server_scene: Scene, kafka: KafkaServer, milvus_proxy: Proxy
) -> None:
    scene = server_scene
    with local_redis() as redis, Proxy(redis.port) as redis_proxy, kafka_proxy(kafka.bootstrap) as broker_proxy:
        worker = scene.start(
            kafka__bootstrap_servers=f"127.0.0.1:{broker_proxy.port}",
            milvus__uri=f"http://127.0.0.1:{milvus_proxy.port}",
            milvus__timeout_s="2",
            redis__url=f"redis://127.0.0.1:{redis_proxy.port}/0",
            **REFRESH,
        )
        pages = Pages(worker)
        pages.wait_until("readiness", lambda: pages.readiness() == READY)
        scene.topics.send(40)
        away = {"kafka": broker_proxy, "index": milvus_proxy, "redis": redis_proxy}
        for name, proxy in away.items():
            status = Readiness(200, "degraded", frozenset({name})) if name == "redis" else Readiness(503, "not_ready", frozenset({name}))
            proxy.refuse()
            pages.wait_until(f"{name} to be named", partial(_is, pages, status))
            assert pages.values("vectail_dependency_up") == {(one,): float(one != name) for one in away}
            assert pages.is_alive()
            proxy.release()
            pages.wait_until(f"{name} to be green", lambda: pages.readiness() == READY, GREEN_S)
        scene.wait_all_committed(worker)
        scene.drain(worker)
    scene.judge_end()


def _is(pages: Pages, readiness: Readiness) -> bool:
    return pages.readiness() == readiness


def _agree(scene: Scene, pages: list[Pages], group: str) -> None:
    """For each partition, the workers' figures of two refreshes enclose those of Kafka's tool in between."""
    before = _shown(pages)
    said = describe(scene.topics.bootstrap, group)
    said_s = time.monotonic()
    for one in pages:
        one.wait_until("a refresh", partial(_looked_after, one, said_s))
    after = _shown(pages)
    assert before.keys() == said.keys() == after.keys()
    for partition, row in said.items():
        first, last = before[partition], after[partition]
        assert row.end_offset is not None
        assert first[1] <= row.end_offset <= last[1]
        assert first[0] <= (row.committed or 0) <= last[0], partition
        if row.lag is not None:
            assert first[1] - last[0] <= row.lag <= last[1] - first[0]


def _looked_after(pages: Pages, at_s: float) -> bool:
    return _looked_s(pages) > at_s


def _shown(pages: list[Pages]) -> dict[Partition, tuple[int, int]]:
    """Return the committed offset (0: none) and the end of each log partition that any of the workers owns."""
    found: dict[Partition, tuple[int, int]] = {}
    for one in pages:
        committed, ends, lags = (one.offsets(f"vectail_consumer_{name}") for name in ("committed_offset", "end_offset", "lag_records"))
        for partition, end in ends.items():
            if partition.topic.startswith("logs"):
                assert partition not in found, "shown by two workers"
                found[partition] = committed.get(partition, 0), end
                assert lags[partition] >= 0
    return found


def _looked_s(pages: Pages) -> float:
    """Return when the worker last asked Kafka about the lag."""
    return time.monotonic() - pages.values("vectail_consumer_lag_age_seconds")[()]


def test_the_lag_is_kafkas_own_under_load_after_a_rebalance_and_where_no_record_ever_was(server_scene: Scene) -> None:
    scene = server_scene
    scene.topics.send(900, partition=0)
    scene.topics.send(900, partition=1)
    slow = {"limits__max_in_flight_records": "50", "test_fail_point": "before_blocks:1000000:1"}
    workers: list[WorkerProcess] = [scene.start(**slow, **REFRESH)]
    pages = [Pages(workers[0])]
    pages[0].wait_until("readiness", lambda: pages[0].readiness() == READY)
    scene.wait_progress(workers[0])
    pages[0].wait_until("all partitions", lambda: len(_shown(pages)) == scene.topics.partitions)
    _agree(scene, pages, scene.topics.group)

    workers.append(scene.start(**slow, **REFRESH))
    pages.append(Pages(workers[1]))
    pages[1].wait_until("its partitions", lambda: pages[1].readiness() == READY and len(_shown([pages[1]])) == 2)
    pages[0].wait_until("to let go of them", lambda: len(_shown([pages[0]])) == 2)
    _agree(scene, pages, scene.topics.group)

    for one in pages:
        for partition, lag in one.offsets("vectail_consumer_lag_records").items():
            assert partition.partition in (0, 1) or lag == 0


def test_every_record_is_counted_once_under_what_became_of_it(scene: Scene) -> None:
    scene.topics.send(400)
    worker = scene.start(**REFRESH)
    pages = Pages(worker)
    scene.wait_all_committed(worker)
    fates = Counter("tombstone" if one.content.value is None else one.content.fate for one in scene.topics.sent)
    outcomes = {outcome: count for (outcome, topic), count in pages.values("vectail_records_total").items() if topic == scene.topics.logs}
    assert outcomes == {
        "indexed": fates["rows"],
        "dead_letter": fates["dead_letter"],
        "tombstone": fates["tombstone"],
        "empty": fates["dropped"],
        "revoked": 0,
        "abandoned": 0,
    }
    assert min(fates.values()) > 0
    assert pages.values("vectail_records_admitted_total")[scene.topics.logs,] == len(scene.topics.sent) == sum(outcomes.values())
    assert pages.values("vectail_in_flight_records")["logs",] == 0
    lines = pages.values("vectail_sink_lines_total")[()]
    scene.drain(worker)
    scene.judge_end()
    index = scene.read()
    assert (lines, index.copies) == (len(index.lines), ())
