"""Two workers share Kafka, Redis and Milvus, and get the same templates at once; then new workers, with only the index.

Lines go to partitions of both, so that each worker gets every template. What a worker computed is read from its log.
"""

import itertools
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tests.faults.index import drop_index, read_server
from tests.faults.records import Content, Entry
from tests.faults.scene import COLLECTION, Scene
from tests.faults.worker_process import WAIT_S, WorkerProcess
from tests.services.milvus import MilvusServer
from tests.services.redis import LocalRedis, local_redis

TEMPLATES = 1_000
_LOOK_AGAIN_S = 0.1
_LEFT = ("amber", "brisk", "candid", "dusty", "eager", "frosty", "gentle", "humble", "ivory", "jolly")
_MIDDLE = ("otter", "panther", "quail", "raven", "salmon", "turtle", "urchin", "viper", "walrus", "yak")
_RIGHT = ("jumps", "knits", "laughs", "moves", "naps", "orders", "paints", "queues", "rests", "sings")
LINES = [" ".join(words) for words in itertools.product(_LEFT, _MIDDLE, _RIGHT)]


@pytest.fixture
def redis() -> Iterator[LocalRedis]:
    server = local_redis()
    yield server
    server.close()


@pytest.fixture
def collection(milvus: MilvusServer, unique: Callable[[str], str]) -> Iterator[str]:
    name = unique(COLLECTION).replace("-", "_")
    yield name
    drop_index(milvus.uri, name)


def owners(admin: AdminClient, group: str) -> list[set[int]]:
    """Return the partitions of each member of a group; none while the group has no coordinator yet."""
    try:
        described = admin.describe_consumer_groups([group])[group].result(WAIT_S)
    except KafkaException:
        return []
    return [{place.partition for place in member.assignment.topic_partitions} for member in described.members]


def wait_shared(scene: Scene) -> tuple[int, int]:
    """Wait until two members share the partitions; return one partition of each."""
    admin = AdminClient({"bootstrap.servers": scene.topics.bootstrap, "log_level": 0})
    until_s = time.monotonic() + WAIT_S
    while not (len(owned := owners(admin, scene.topics.group)) == 2 and all(owned)):
        assert time.monotonic() < until_s, owned
        time.sleep(_LOOK_AGAIN_S)
    return min(owned[0]), min(owned[1])


def saved(worker: WorkerProcess) -> dict[str, int]:
    """Return the savings that a drained worker logged last."""
    told: dict[str, int] = [event for event in worker.events("info") if event["event"] == "work saved"][-1]
    return told


def send_lines(scene: Scene, partition: int) -> None:
    """Send each line once to a partition."""
    scene.topics.send(
        TEMPLATES, lambda n: Content(LINES[n % TEMPLATES].encode(), "rows", (Entry(0, LINES[n % TEMPLATES]),)), partition=partition
    )


def finish(*workers: WorkerProcess) -> None:
    for worker in workers:
        worker.terminate()
    for worker in workers:
        assert worker.wait() == 0, worker.lines


def test_each_kind_is_computed_once_a_worker_and_never_again(
    scene: Scene, milvus: MilvusServer, redis: LocalRedis, collection: str
) -> None:
    shared = {"milvus__uri": milvus.uri, "milvus__collection": collection, "redis__url": redis.url, "engine__threads": "1"}
    workers = [scene.start(**shared) for _ in range(2)]
    here, there = wait_shared(scene)
    for partition in (here, there):
        send_lines(scene, partition)
    scene.wait_all_committed(workers[0], (here, there))
    finish(*workers)
    for figures in map(saved, workers):
        assert figures["chunks"] == TEMPLATES
        assert sum(figures[part] for part in ("from_engine", "from_redis", "from_index", "from_memory")) == TEMPLATES
    index = read_server(milvus.uri, collection, scene.topics.ends())
    assert (len(index.lines), len(index.copies), len(index.templates)) == (2 * TEMPLATES, 0, TEMPLATES)

    redis.admin().flushall()
    for again in (shared, shared | {"redis__url": ""}):
        send_lines(scene, here)
        worker = scene.start(**again)
        scene.wait_all_committed(worker, (here,))
        finish(worker)
        figures = saved(worker)
        assert (figures["chunks"], figures["from_engine"], figures["from_index"]) == (TEMPLATES, 0, TEMPLATES)
