"""Partitions that go to another member and come back: nothing is lost, nothing stands still, nobody's position is moved.

The other member is a plain consumer that stores and commits nothing; two workers are in `tests.faults.test_ownership`.
"""

import pytest

from tests.faults.scene import Scene, client_of
from tests.faults.stranger import Protocol, Stranger
from tests.faults.topics import PARTITIONS
from tests.faults.worker_process import WorkerProcess

TURNS = 2
A_TURN_RECORDS = 600


def _visit(scene: Scene, worker: WorkerProcess, stranger: Stranger) -> set[int]:
    """Let the stranger stay until the worker has committed all of its own partitions; returns the stranger's."""
    while len(stranger.owned) != PARTITIONS // 2:
        stranger.poll()
        assert worker.stays_alive(0.0), worker.lines
    taken = set(stranger.owned)
    before = scene.topics.committed()
    ends = scene.topics.ends()
    kept = set(range(PARTITIONS)) - taken
    while any((committed := scene.topics.committed())[partition] != ends[partition] for partition in kept):
        stranger.poll()
        assert worker.stays_alive(0.0), worker.lines
        assert {p: committed[p] for p in taken} == {p: before[p] for p in taken}, "committed by who does not own it"
    assert stranger.owned == taken
    return taken


@pytest.mark.parametrize(("grace", "protocol"), [pytest.param("none", "classic", marks=pytest.mark.long), ("long", "consumer")])
def test_partitions_are_given_up_and_taken_back_and_nothing_is_lost(scene: Scene, grace: str, protocol: Protocol) -> None:
    max_poll_interval_s = "6" if grace == "none" else "300"
    worker = scene.start(limits__max_in_flight_records="60", kafka__max_poll_interval_s=max_poll_interval_s, **client_of(protocol))
    unfinished = 0
    for _ in range(TURNS):
        scene.topics.send(A_TURN_RECORDS)
        scene.wait_progress(worker)
        stranger = scene.topics.stranger(protocol)
        try:
            taken = _visit(scene, worker, stranger)
            ends, committed = scene.topics.ends(), scene.topics.committed()
            unfinished += sum(committed[partition] < ends[partition] for partition in taken)
        finally:
            stranger.leave()
    assert unfinished > 0, "the stranger only ever took what was finished"
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()
