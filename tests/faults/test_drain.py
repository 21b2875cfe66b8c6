"""SIGTERM: admitted records are finished and committed in time; unfinished ones are never committed."""

import signal
import time
from pathlib import Path

import pytest

from tests.faults.group_offsets import WAIT_S
from tests.faults.records import strange
from tests.faults.scene import DRAIN_S, Scene

DRAINED, DRAIN_TIMEOUT = 0, 3
LOOK_AGAIN_S = 0.05
LEAVE_S = 15.0
"""More than an exit takes on a busy machine, less than the drain that is cut short here."""


def test_sigterm_in_mid_work_commits_exactly_what_is_stored_and_the_next_start_finishes_the_rest(scene: Scene) -> None:
    scene.topics.send(800)
    worker = scene.start(limits__max_in_flight_records="200")
    scene.wait_progress(worker)
    worker.terminate()
    assert worker.wait(DRAIN_S + LEAVE_S) == DRAINED, worker.lines
    committed = scene.topics.committed()
    assert committed != scene.topics.ends(), "the worker was not stopped while it had work"
    verdict = scene.judge()
    assert verdict.lost_below(committed) == []
    assert verdict.stored_above(committed) == []

    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()
    letters = scene.topics.letters()
    assert len(letters) == len(set(letters)), "a drained worker must leave nothing to be read again"


def test_a_second_sigterm_leaves_at_once_and_a_drain_that_takes_too_long_exits_3(scene: Scene) -> None:
    scene.topics.send(6_000, strange)
    worker = scene.start(limits__drain_timeout_s="600")
    scene.wait_progress(worker)
    worker.terminate()
    worker.wait_for("stopping")
    worker.terminate()
    assert worker.wait(LEAVE_S) == -signal.SIGTERM, worker.lines
    committed = scene.topics.committed()
    assert committed != scene.topics.ends(), "it had nothing left to do"
    assert scene.judge().lost_below(committed) == []

    worker = scene.start(limits__drain_timeout_s="0.1")
    scene.wait_progress(worker)
    worker.terminate()
    assert worker.wait(LEAVE_S) == DRAIN_TIMEOUT, worker.lines
    committed = scene.topics.committed()
    assert committed != scene.topics.ends(), "it had nothing left to do"
    assert scene.judge().lost_below(committed) == []


@pytest.mark.long
@pytest.mark.usefixtures("vllm_installed")
def test_sigterm_while_vllm_loads_leaves_at_once(scene: Scene) -> None:
    """Loading takes up to minutes, and the worker has not read any record yet."""
    scene.topics.send(10)
    worker = scene.start(engine__name="vllm")
    until_s = time.monotonic() + WAIT_S
    while "libtorch" not in Path(f"/proc/{worker.pid}/maps").read_text():
        assert time.monotonic() < until_s, worker.lines
        assert worker.stays_alive(LOOK_AGAIN_S), worker.lines
    worker.terminate()
    assert worker.wait(LEAVE_S) == DRAINED, worker.lines
    assert [event["event"] for event in worker.events("info")] == ["starting", "stopped before the model was loaded; no record was read"]
    assert worker.words() == []
    assert set(scene.topics.committed().values()) == {0}
