"""SIGKILL at any moment: the next start finds everything, loses nothing, and stores nothing twice."""

import random

import pytest

from tests.faults.scene import Scene

KILLED = 137
POINTS = ("polled:3", "before_upsert:3:1", "after_upsert:3:1", "before_commit:1", "after_commit:2", "revoke:1")
"""At the upserts the store thread stands still for a second each time, while the poller goes on: what it commits must be stored."""
RANDOM_KILLS = 3
RANDOM_KILLS_LONG = 20
RECORDS_A_LIFE = 350
SMALL = {"cap__records": "150", "cap__bytes": "200000", "milvus__batch_rows": "100"}


def _live_until_all_partitions_have_begun(scene: Scene) -> None:
    worker = scene.start(**SMALL)
    scene.wait_committed(worker, lambda committed: all(committed.values()))
    worker.kill()


def _live_until_killed(scene: Scene, chance: random.Random) -> None:
    worker = scene.start(**SMALL)
    worker.wait_for("model ready")
    if chance.random() < 0.6:
        scene.wait_progress(worker)
    assert worker.stays_alive(chance.uniform(0.0, 1.5)), worker.lines
    worker.kill()


def _live_until_point(scene: Scene, point: str) -> None:
    worker = scene.start(fail_point=point, **SMALL)
    if point.startswith("revoke"):
        scene.wait_progress(worker)
        worker.terminate()  # leaving the group revokes what it has
    assert worker.wait() == KILLED, worker.lines


@pytest.mark.timeout(1800)  # a dozen starts, each of seconds on a busy machine
def test_killed_at_ten_moments_every_record_is_accounted_for_and_none_twice(scene: Scene, *, long: bool) -> None:
    chance = random.Random(20_261)
    moments = [*POINTS, *[""] * (RANDOM_KILLS_LONG if long else RANDOM_KILLS)]
    chance.shuffle(moments)
    scene.topics.send(RECORDS_A_LIFE)
    _live_until_all_partitions_have_begun(scene)
    read_again = 0
    for point in moments:
        scene.topics.send(RECORDS_A_LIFE)
        if point:
            _live_until_point(scene, point)
        else:
            _live_until_killed(scene, chance)
        committed = scene.topics.committed()
        assert committed != scene.topics.ends(), "it was not killed in the middle"
        verdict = scene.judge()
        assert verdict.lost_below(committed) == []
        read_again += len(verdict.stored_above(committed))
    assert read_again > 0

    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()
