"""A Milvus server that is unreachable, silent or slow under a real worker: lines are held, no record is blamed, and work resumes by itself.

The worker reaches the server through a proxy; the oracle bypasses it, so commits are judged during the fault.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient

from tests.faults.records import strange
from tests.faults.scene import FLOWS_S, Scene
from tests.faults.topics import Committed
from tests.faults.watch import CommitWatch
from tests.faults.worker_process import WAIT_S, WorkerProcess
from tests.services.milvus import MilvusServer
from tests.services.proxy import Proxy
from worker.service.shutdown import LEAVE_S

DRAIN_TIMEOUT = 3
AT_START_S = 2.0
POLL_INTERVAL_S = 6.0
AWAY_S = 7.0
"""Longer than the poll interval, so a worker that did not poll would leave the group."""
REFUSED_S = 3.0
REFUSED_LONG_S = 130.0
"""By default gRPC would wait for another 50 s before it reconnects."""
SLOW_S = 1.0
SLOW_LONG_S = 5.0
DRAIN_S = 2.0
BUSY_S = 10.0
"""How long a busy machine may take for a short step."""
LOOK_S = 0.5
MOST_KINDS, SAID_AGAIN_S = 7, 60.0
"""Log lines about all three faults and their ends: each is logged once, and again after a minute."""
CAP_BYTES = 16 * 1024 * 1024
USUAL = {
    "limits__max_in_flight_records": "300",
    "limits__max_in_flight_bytes": str(CAP_BYTES),
    "milvus__timeout_s": "2",
}
REVOCATION_INTERVAL_S = 60.0
"""The worker may take 12 s of it to release partitions. Otherwise the others get them only at its end."""


@pytest.fixture
def proxy(milvus: MilvusServer) -> Iterator[Proxy]:
    with Proxy(int(milvus.uri.rpartition(":")[2])) as proxy:
        yield proxy


def behind(proxy: Proxy) -> dict[str, str]:
    return {"milvus__uri": f"http://127.0.0.1:{proxy.port}"}


def _outlive(scene: Scene, worker: WorkerProcess, fault: Callable[[], None], end: Callable[[], None], away_s: float) -> None:
    """The index goes away during work: nothing unstored is committed, memory is stable, polling continues; then everything is stored."""
    scene.topics.send(400)
    scene.wait_progress(worker)
    before_bytes, members = worker.own_bytes(), _members(scene)
    fault()
    scene.topics.send(400)
    assert scene.topics.committed() != scene.topics.ends(), "it was not in mid-work"
    until_s = time.monotonic() + away_s
    while time.monotonic() < until_s:
        scene.check_nothing_lost()
        assert worker.stays_alive(LOOK_S), worker.lines
    assert worker.own_bytes() - before_bytes < 2 * CAP_BYTES
    assert _members(scene) == members != set(), "it did not poll, and was out of the group"
    end()
    since_s = time.monotonic()
    scene.wait_progress(worker)
    assert time.monotonic() - since_s < FLOWS_S, worker.lines
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)


@pytest.mark.long
@pytest.mark.timeout(600)  # on a busy machine, with `--long`
def test_an_index_that_is_away_at_the_start_then_refuses_and_then_is_silent_is_waited_for_each_time(
    server_scene: Scene, proxy: Proxy, *, long: bool
) -> None:
    scene = server_scene
    proxy.refuse()
    scene.topics.send(800)  # enough for the memory of a worker under load
    began_s = time.monotonic()
    worker = scene.start(**USUAL, **behind(proxy), kafka__max_poll_interval_s=str(POLL_INTERVAL_S))
    worker.wait_for("the index cannot be opened yet")
    assert worker.stays_alive(AT_START_S), worker.lines
    assert set(scene.topics.committed().values()) == {0}
    proxy.release()
    scene.wait_all_committed(worker)
    _outlive(scene, worker, proxy.refuse, proxy.release, REFUSED_LONG_S if long else REFUSED_S)
    _outlive(scene, worker, proxy.silence, proxy.release, AWAY_S)
    scene.drain(worker)
    told = Counter(event["event"].partition(" (")[0].partition(" after")[0] for event in worker.events("warning"))
    assert told["the index cannot be opened yet"] == 1, told
    assert told["the sink does not take rows"] <= 2, told
    assert len(told) <= MOST_KINDS, told
    assert max(told.values()) <= 1 + (time.monotonic() - began_s) // SAID_AGAIN_S, told
    assert worker.events("error") == []
    scene.judge_end()


@pytest.mark.long
def test_with_a_slow_index_rows_come_slower_queries_are_answered_and_then_all_is_as_before(
    server_scene: Scene, proxy: Proxy, *, long: bool
) -> None:
    scene = server_scene
    scene.topics.send(200)
    worker = scene.start(**USUAL | {"milvus__timeout_s": "30"}, **behind(proxy))
    scene.wait_all_committed(worker)
    proxy.delay(SLOW_LONG_S if long else SLOW_S, "answers")
    scene.topics.send(400)
    asked = scene.topics.ask(b'{"text": "socket refused voucher"}')
    scene.wait_progress(worker)
    assert scene.topics.committed() != scene.topics.ends(), "it was not slowed down"
    answer = scene.topics.replies_to([asked])[asked]
    assert answer["hits"] or not answer["complete"], "what could not be read in time is not passed over in silence"
    scene.check_nothing_lost()
    proxy.release()
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)
    asked = scene.topics.ask(b'{"text": "socket refused voucher"}')
    answer = scene.topics.replies_to([asked])[asked]
    assert (bool(answer["hits"]), answer["complete"]) == (True, True), answer
    scene.drain(worker)
    assert worker.events("error") == []
    scene.judge_end()


def test_in_a_black_hole_a_revocation_and_a_drain_end_in_time_and_the_other_member_goes_on(server_scene: Scene, proxy: Proxy) -> None:
    scene = server_scene
    # So few records are in flight that no partition is done when the hole opens.
    few = {"limits__max_in_flight_records": "40"}
    usual = {**USUAL, **few, "kafka__max_poll_interval_s": str(REVOCATION_INTERVAL_S), "milvus__timeout_s": "30"}
    scene.topics.send(500, strange)
    stuck = scene.start(**usual, **behind(proxy), limits__drain_timeout_s=str(DRAIN_S))
    scene.wait_progress(stuck)
    proxy.silence()
    with CommitWatch(scene.topics):
        other = scene.start(**usual)
        other.wait_for("model ready")
        held = scene.topics.committed()
        assert held != scene.topics.ends(), "it was not in mid-work"
        since_s = time.monotonic()
        scene.wait_progress(other)
        assert time.monotonic() - since_s < REVOCATION_INTERVAL_S, "the revocation had no budget"
        scene.check_nothing_lost()
        scene.wait_committed(other, lambda committed: len(_moved(committed, held)) == scene.topics.partitions // 2)
        assert stuck.lives, stuck.lines

        scene.topics.send(scene.topics.partitions, strange)
        stuck.terminate()
        assert stuck.wait(DRAIN_S + LEAVE_S + BUSY_S) == DRAIN_TIMEOUT, stuck.lines
        scene.check_nothing_lost()
        scene.wait_all_committed(other)
    scene.drain(other)
    scene.judge_end()


def _members(scene: Scene) -> set[str]:
    admin = AdminClient({"bootstrap.servers": scene.topics.bootstrap, "log_level": 0})
    described = admin.describe_consumer_groups([scene.topics.group])[scene.topics.group].result(WAIT_S)
    return {member.member_id for member in described.members}


def _moved(committed: Committed, before: Committed) -> set[int]:
    return {partition for partition, offset in committed.items() if offset != before[partition]}
