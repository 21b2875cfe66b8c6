"""Partitions move to another member and back: nothing is lost, work continues, and no other member's position moves.

The other member is a plain consumer that stores and commits nothing; `tests.faults.test_ownership` has two workers.
"""

import pytest

from tests.faults.scene import Scene, client_of
from tests.faults.stranger import Protocol, Stranger
from tests.faults.topics import PARTITIONS
from tests.faults.worker_process import WorkerProcess

TURNS = 2
A_TURN_RECORDS = 2_000


def _visit(scene: Scene, worker: WorkerProcess, stranger: Stranger) -> set[int]:
    """Keep the stranger until the worker has committed all of its own partitions; return the stranger's partitions."""
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
        assert {p: committed[p] for p in taken} == {p: before[p] for p in taken}, "committed by a member that does not own it"
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
    assert unfinished > 0, "the stranger took only finished partitions"
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()
