"""Counts equal a brute-force count of the lines: under load, while workers are killed, and while their small blocks are merged."""

import json
import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from random import Random

import pytest

from tests.faults.counted_lines import Place
from tests.faults.counts_feed import CountsFeed
from tests.faults.counts_watch import CountsWatch
from tests.faults.pages import Pages
from tests.faults.scene import Scene
from tests.faults.worker_process import WorkerProcess
from tests.services.kafka import KafkaServer
from worker.runtime.fail_point import KILLED

MERGING = {"limits__max_in_flight_records": "150", "index__flush_s": "0.02"}
"""So many small blocks that each life merges some."""
LIVES = ("after_blocks:30", "", "after_merged:3")
"""Where each worker is killed; empty: at a random moment."""
LONG_LIVES = (
    "before_commit:3",
    *("resume_read:2", "closed:20", "before_blocks:20", "", "before_merged:2", "after_merged:1", "after_commit:5", ""),
    *("before_inner_delete:1", "after_inner_delete:2", "after_inner_delete:1", "landed:1", "after_templates:2", "", ""),
)
ANSWERS_A_LIFE = 30
"""Where no fail point ends it."""
ASKED_AT_THE_END = 150
LEAST_EXACT = 15
"""Of the answers under load."""
STALE_S = 5.0
"""At Bounded, what was stored so long ago must be there (design: sink)."""

_log = logging.getLogger(__name__)


@pytest.fixture
def places(kafka: KafkaServer, unique: Callable[[str], str]) -> list[Place]:
    """The partitions of two topics."""
    topics = {unique("counted"): 3, unique("counted-too"): 2}
    for topic, partitions in topics.items():
        kafka.create_topic(topic, partitions)
    return [Place(topic, partition) for topic, partitions in topics.items() for partition in range(partitions)]


def run_lives(scene: Scene, places: Sequence[Place], lives: Sequence[str], *, settled_s: float = 0.0, **settings: str) -> None:
    """Kill a worker in each life while lines come and counts are asked for; let the last one finish, and compare everything."""
    scene.members_die()
    chance, merged = Random(len(lives)), 0.0
    topics = json.dumps([{"name": topic} for topic in sorted({place.topic for place in places})])

    def start(point: str = "") -> WorkerProcess:
        return scene.start(topic=topics, test_fail_point=point, **MERGING, **settings)

    with closing(CountsFeed(scene.topics.bootstrap, scene.topics.group, places)) as feed, CountsWatch(feed, settled_s=settled_s) as watch:
        for point in lives:
            with feed.running():
                worker = start(point)
                watch.ask_worker(worker)
                if point:
                    assert watch.wait_for_end(worker) == KILLED, worker.lines
                else:
                    watch.wait_for_answers(ANSWERS_A_LIFE, worker)
                    assert worker.stays_alive(chance.uniform(0.0, 1.0)), worker.lines
                    merged += merges_of(worker)
                    worker.kill()
                watch.ask_worker(None)
        worker = start()
        watch.ask_worker(worker)
        with feed.running():
            watch.wait_for_answers(ANSWERS_A_LIFE, worker, exact=LEAST_EXACT)
        watch.check_all(ASKED_AT_THE_END)
        merged += merges_of(worker)
        _log.info("%d lines, %g merges, answers %s, exact %s", len(feed.sent), merged, dict(watch.outcomes), dict(watch.exact))
    assert merged, "nothing was merged"
    scene.drain(worker)


def merges_of(worker: WorkerProcess) -> float:
    """Return how many merged blocks a worker has written."""
    return Pages(worker).values("vectail_sink_rows_total")["merged",]


@pytest.mark.timeout(900)
def test_in_a_folder_counts_are_those_of_brute_force_whenever_the_worker_is_killed(
    scene: Scene, places: list[Place], *, long: bool
) -> None:
    run_lives(scene, places, LIVES + LONG_LIVES if long else LIVES)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("consistency", "settled_s"), [("Strong", 0.0), ("Bounded", STALE_S)])
def test_on_a_server_counts_are_those_of_brute_force_whenever_the_worker_is_killed(
    server_scene: Scene, places: list[Place], consistency: str, settled_s: float
) -> None:
    run_lives(server_scene, places, LIVES, settled_s=settled_s, milvus__consistency=consistency)
