"""The process that serves a local folder hangs, or is killed, under a real worker: it is seen, and nothing is lost.

A hung process keeps its connections; only a read tells that it does not answer.
"""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.faults.pages import Pages, Readiness
from tests.faults.scene import Scene
from tests.faults.worker_process import WAIT_S, WorkerProcess
from tests.services.processes import children, stopped

CRASHED = 1
KILLS = 3
RECORDS = 400
READY = Readiness(200, "ready", frozenset())
NO_INDEX = Readiness(503, "not_ready", frozenset({"index"}))
USUAL = {"limits__max_in_flight_records": "100", "status__refresh_s": "0.5"}
READ_S = 50.0
"""Of `milvus.timeout_s`: who waits for a read of a hung folder waits longer than any deadline here."""
DEADLINE_MS = 3_000
BUSY_S = 15.0
"""How much longer than its deadline an answer may take on a busy machine."""


def serving(worker: WorkerProcess) -> int:
    """Return the process id of what serves the worker's folder."""
    (pid,) = (one for one in children(worker.pid) if b"lite_server" in Path(f"/proc/{one}/cmdline").read_bytes())
    return pid


@pytest.mark.timeout(600)
def test_while_a_folder_hangs_the_worker_is_not_ready_and_keeps_deadlines_and_then_all_goes_on(scene: Scene) -> None:
    scene.topics.send(RECORDS)
    worker = scene.start(milvus__timeout_s=f"{READ_S}", **USUAL)
    pages = Pages(worker)
    scene.wait_all_committed(worker)
    pages.wait_until("readiness", lambda: pages.readiness() == READY)
    before = scene.topics.committed()
    with stopped(serving(worker)):
        scene.topics.send(RECORDS)
        pages.wait_until("the index to be named", lambda: pages.readiness() == NO_INDEX)
        asked_s = time.monotonic()
        status, answer = pages.post("/api/search", {"text": "socket refused voucher", "deadline_ms": DEADLINE_MS})
        assert (status, json.loads(answer)["error"]["code"]) == (504, "expired")
        assert time.monotonic() - asked_s < DEADLINE_MS / 1000 + BUSY_S < READ_S
        assert pages.is_alive()
        assert scene.topics.committed() != scene.topics.ends(), "it was not in mid-work"
    pages.wait_until("readiness", lambda: pages.readiness() == READY)
    scene.wait_all_committed(worker)
    assert scene.topics.committed() != before
    scene.fresh_record_flows(worker)
    status, answer = pages.post("/api/search", {"text": "socket refused voucher"})
    assert (status, bool(json.loads(answer)["hits"])) == (200, True)
    scene.drain(worker)
    assert worker.events("error") == []
    scene.judge_end()
    assert scene.read().copies == ()


def test_a_worker_ends_with_the_process_of_its_folder_and_the_next_one_finishes_the_work(scene: Scene) -> None:
    for _ in range(KILLS):
        scene.topics.send(RECORDS)
        worker = scene.start(**USUAL)
        scene.wait_progress(worker)
        os.kill(serving(worker), signal.SIGKILL)
        assert worker.wait(WAIT_S) == CRASHED, worker.lines
        committed, _ = scene.check_nothing_lost()
        assert committed != scene.topics.ends(), "it was not in mid-work"
    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()
