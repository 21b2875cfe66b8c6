"""SIGKILL with the index on a Milvus server and a Redis: Strong reads of what killed workers left.

Both servers outlive the worker: what it sent them may arrive after its death.
"""

import logging
import random
import uuid
from collections.abc import Iterator
from functools import partial

import pytest

from tests.faults.lives import Lives, Proven
from tests.faults.scene import Scene
from tests.faults.stranger import Protocol
from tests.faults.topics import Committed, Topics
from tests.faults.watch import ReaderWatch
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer
from tests.services.redis import LocalRedis, local_redis
from worker.embedding.model.prepared import PreparedModel
from worker.runtime.fail_point import POINTS

LAST_POINT = "after_blocks"
AT_EVERY_RUN = ("cache_written", "landed", "closed", "after_merged")
KILLS = 200
RECORDS = 100_000
LEFT_RECORDS = 5_000
"""At least this many records are left for each worker."""
IN_FULL_EACH = 50
"""After this many kills everything is judged, not only what was committed since the previous kill."""
IN_ITS_START = 0.2
START_S = 5.0
MORE_S = 0.3
PROTOCOLS: tuple[Protocol, ...] = ("classic", "consumer")
FAST = {"limits__max_in_flight_records": "500", "index__flush_s": "0.05"}

_log = logging.getLogger(__name__)


@pytest.fixture(scope="module")
def redis() -> Iterator[LocalRedis]:
    with local_redis() as redis:
        yield redis


@pytest.fixture(scope="module")
def lives(
    kafka: KafkaServer, milvus: MilvusServer, redis: LocalRedis, tmp_path_factory: pytest.TempPathFactory, model: PreparedModel
) -> Iterator[Lives]:
    topics = Topics(kafka, lambda stem: f"{stem}-{uuid.uuid4().hex[:12]}")
    scene = Scene(topics, tmp_path_factory.mktemp("lives"), model, milvus)
    yield Lives(scene, redis__url=redis.url)
    scene.close()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_200_kills_at_random_moments_over_100000_records_lose_nothing_and_store_nothing_twice(server_scene: Scene) -> None:
    """Judge after each kill what was committed since the previous one; judge everything after each 50th and at the end.

    This test comes first in the file: it takes longest.
    """
    scene, chance = server_scene, random.Random(20_261)
    scene.topics.send(RECORDS)
    proven = Proven(scene)
    for death in range(1, KILLS + 1):
        done = sum(proven.below.values())
        if sum(scene.topics.ends().values()) - done < LEFT_RECORDS:  # so that a fast machine does not run out of work
            scene.topics.send(LEFT_RECORDS)
        worker = scene.start_under(chance.choice(PROTOCOLS), **FAST)
        if chance.random() < IN_ITS_START:
            assert worker.stays_alive(chance.uniform(0.0, START_S)), worker.lines
        else:
            a_life = (RECORDS - 2 * LEFT_RECORDS - done) / (KILLS + 1 - death)
            enough = done + chance.uniform(0.0, 2 * max(a_life, 0.0))
            scene.wait_committed(worker, partial(_is_past, enough))
            assert worker.stays_alive(chance.uniform(0.0, MORE_S)), worker.lines
        worker.kill()
        proven.grow()
        assert proven.below != scene.topics.ends(), "the worker was not killed in the middle"
        if death % IN_FULL_EACH == 0:
            scene.check_nothing_lost()
        done, sent = sum(proven.below.values()), sum(scene.topics.ends().values())
        _log.info("%d deaths, %d of %d records are committed and stored", death, done, sent)

    worker = scene.start(**FAST)
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=() if point in AT_EVERY_RUN else pytest.mark.long) for point in POINTS if point != LAST_POINT]
)
def test_killed_at_any_boundary_it_has_lost_nothing(lives: Lives, point: str) -> None:
    """Meanwhile readers get every committed line, none of them twice, and count right: between the kill and the restart, too."""
    with ReaderWatch(lives.scene):
        lives.killed_at(point)


def test_after_its_deaths_every_record_is_accounted_for_and_none_twice_and_redis_was_asked(lives: Lives, redis: LocalRedis) -> None:
    lives.killed_at(LAST_POINT)
    lives.end(vectors=False)
    assert redis.admin().info("stats")["keyspace_hits"] > 0
    assert redis.admin().dbsize() > 0


def _is_past(records: float, committed: Committed) -> bool:
    return sum(committed.values()) > records
