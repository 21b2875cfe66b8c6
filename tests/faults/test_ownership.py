"""Partition ownership when members freeze, come back or start twice, and when the topic changes under a worker."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient

from tests.faults.scene import Scene, client_of
from tests.faults.stranger import Protocol
from tests.faults.topics import PARTITIONS
from tests.faults.watch import CommitWatch, ReaderWatch
from tests.faults.worker_process import WorkerProcess

CRASHED = 1
FROZEN_S = 8.0
"""Longer than a session (3 s), than the poll interval (6 s) and than a batch may take (6 s)."""
SMALL = {"limits__max_in_flight_records": "60"}
LOOK_S = 0.05
ANSWER_S = 60.0


def _await(worker: WorkerProcess, happened: Callable[[], bool], most_s: float = 60.0) -> None:
    until_s = time.monotonic() + most_s
    while not happened():
        assert time.monotonic() < until_s, worker.lines
        assert worker.stays_alive(LOOK_S), worker.lines


def _one_member_owns_all(admin: AdminClient, group: str) -> bool:
    """Return whether the group is stable, with a single member, which has all partitions."""
    described = admin.describe_consumer_groups([group], request_timeout=ANSWER_S)[group].result()
    owned = [len(member.assignment.topic_partitions) for member in described.members]
    return described.state == ConsumerGroupState.STABLE and owned == [PARTITIONS]


@pytest.mark.timeout(900)  # three starts and two workers on a server: minutes on a busy machine
@pytest.mark.parametrize("protocol", ["classic", pytest.param("consumer", marks=pytest.mark.long)])
def test_a_frozen_worker_that_comes_back_moves_nobodys_position_and_goes_on(server_scene: Scene, protocol: Protocol) -> None:
    scene = server_scene
    usual = {**SMALL, "kafka__max_poll_interval_s": "6", "engine__watchdog_s": "6", **client_of(protocol)}
    scene.topics.send(600)
    scene.members_die()
    frozen = scene.start(**usual)
    scene.wait_progress(frozen)
    frozen.pause()
    since_s = time.monotonic()
    committed = scene.topics.committed()
    assert committed != scene.topics.ends(), "it was not frozen in mid-work"
    with CommitWatch(scene.topics), ReaderWatch(scene):
        other = scene.start(**usual)
        scene.wait_all_committed(other)
        assert other.stays_alive(max(0.0, FROZEN_S - (time.monotonic() - since_s))), other.lines
        scene.topics.send(200)
        scene.wait_progress(other)
        frozen.resume()
        scene.wait_all_committed(other)
        scene.fresh_record_flows(other)
        scene.drain(other)
        scene.fresh_record_flows(frozen)  # it owns all partitions again
    scene.drain(frozen)
    scene.judge_end()


@pytest.mark.long
def test_a_static_member_that_is_killed_and_started_again_in_its_session_takes_nothing_from_others(scene: Scene) -> None:
    static = client_of("classic", group__instance__id="one", session__timeout__ms="45000")
    scene.topics.send(200)
    worker = scene.start(**SMALL, **static)
    scene.wait_progress(worker)
    stranger = scene.topics.stranger()
    stranger.stay()
    try:
        _await(worker, lambda: len(stranger.owned) == PARTITIONS // 2)
        own, turns = set(range(PARTITIONS)) - stranger.owned, stranger.turns
        worker.kill()
        scene.check_nothing_lost()
        worker = scene.start(**SMALL, **static)
        scene.topics.send(200)
        scene.wait_all_committed(worker, own)
        assert stranger.turns == turns, "its partitions changed"
    finally:
        stranger.leave()
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()


@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.long), "consumer"])
def test_of_two_with_one_static_id_one_ends_with_exit_code_1_and_the_other_goes_on(
    scene: Scene, tmp_path: Path, protocol: Protocol
) -> None:
    static = client_of(protocol, group__instance__id="one")
    scene.topics.send(100)
    first = scene.start(**SMALL, **static)
    scene.wait_all_committed(first)
    second = scene.start(**SMALL, **static, milvus__uri=str(tmp_path / "other"))
    fenced, other = (first, second) if protocol == "classic" else (second, first)  # the old one, the new one
    assert fenced.wait() == CRASHED, fenced.lines
    (line,) = fenced.words()
    assert line.startswith("vectail: stopped, nothing was lost: "), line
    assert "instance" in line, line
    assert ("start again then" in line) is (protocol == "consumer"), line
    assert not fenced.events("error"), "a traceback of what is nobody's mistake"
    scene.fresh_record_flows(other)
    scene.drain(other)
    if other is first:
        scene.judge_end()


def test_after_a_change_of_protocol_it_says_what_to_wait_for_and_goes_on_where_the_killed_one_stopped(scene: Scene) -> None:
    """When a classic member that has an assignment rejoins, the broker refuses the switch to KIP-848.

    The member reports that assignment, and the group's leader copies the report into the next one as user data, which the broker cannot
    convert (`ConsumerGroup.fromClassicGroup`). An assignment without user data is converted: the new worker would join and wait.
    """
    admin = AdminClient({"bootstrap.servers": scene.topics.bootstrap, "log_level": 0})
    scene.topics.send(200)
    session_ms = "30000"  # longer than the next worker takes to start on a busy machine
    classic = scene.start(**SMALL, **client_of("classic", session__timeout__ms=session_ms))
    scene.wait_progress(classic)  # it has an assignment to report when the stranger makes it rejoin
    stranger = scene.topics.stranger()
    stranger.stay()
    try:
        _await(classic, lambda: len(stranger.owned) == PARTITIONS // 2)
    finally:
        stranger.leave()
    _await(classic, lambda: _one_member_owns_all(admin, scene.topics.group))  # a rebalance cut short would drop the user data
    scene.topics.send(200)
    scene.wait_progress(classic)
    classic.kill()
    scene.topics.send(40)
    too_early = scene.start(**SMALL, **client_of("consumer"))
    assert too_early.wait() == CRASHED, too_early.lines
    (line,) = too_early.words()
    assert line.startswith("vectail: stopped, nothing was lost: "), line
    assert "members of the classic protocol" in line, line
    assert not too_early.events("error"), "a traceback of what is nobody's mistake"
    scene.check_nothing_lost()
    scene.topics.wait_without_members()
    worker = scene.start(**SMALL, **client_of("consumer"))
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()


def test_what_was_aborted_is_never_stored_and_partitions_that_are_added_are_read_from_their_beginning(scene: Scene) -> None:
    topics = scene.topics
    topics.send(60)
    topics.send_transaction(60, aborted=True)
    topics.send_transaction(60, aborted=False)
    worker = scene.start(**SMALL, **client_of("classic", topic__metadata__refresh__interval__ms="500"))
    scene.wait_all_committed(worker)
    behind_markers = topics.watermarks()
    assert behind_markers != topics.ends(), "the topic has no transaction markers"
    scene.wait_committed(worker, lambda committed: committed == behind_markers)
    topics.add_partitions(2)
    topics.send(120)
    topics.send_transaction(60, aborted=True)
    scene.fresh_record_flows(worker)
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()


@pytest.mark.parametrize("frozen", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_topic_made_anew_under_a_running_worker_is_read_from_its_beginning(scene: Scene, *, frozen: bool) -> None:
    topics = scene.topics
    topics.send(200)
    worker = scene.start(**SMALL)
    scene.wait_all_committed(worker)
    if frozen:
        worker.pause()  # otherwise it may notice the missing topic
    topics.make_anew()
    topics.send(400)  # more than before
    if frozen:
        worker.resume()
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()
