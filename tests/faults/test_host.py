"""Faults of the host, each with a real worker: an unread log, a read-only file system, a frozen process, a shutdown while Kafka hangs.

A port in use is in `tests/worker/cli/test_bad_input.py`.
"""

import shutil
import socket
import subprocess
import time

import pytest

from tests.faults.records import strange
from tests.faults.scene import Scene
from tests.services.missing import skip_or_fail
from tests.services.proxy import kafka_proxy
from worker.service.shutdown import LEAVE_S

DRAINED, DRAIN_TIMEOUT = 0, 3
BUSY_S = 10.0
"""How long a busy machine may take for a short step."""
AWAY_DRAIN_S = 2.0
HELD_S = 1.0
"""After this time a poller counts as hanging in its commit."""
HANG_S = 6.0
UNREAD = 'exec "$@" 3>&2 2> >(head -n 2 >&2)'
"""The log is a pipe whose reader exits after two lines; the test's own pipe stays open until the worker ends."""
STANDING = (
    "exec 4> >(exec tail --pid=$$ -f /dev/null >/dev/null 2>&1); dd if=/dev/zero of=/dev/fd/4 oflag=nonblock bs=4096 2>/dev/null; "
    'exec "$@" 3>&2 2>&4 4>&-'
)
"""The log is a pipe that fills up: its reader does not read while the worker lives."""
FULL = 'exec "$@" 3>&2 2>/dev/full'
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro / && exec "$@"'
"""Only one folder is writable."""


@pytest.mark.parametrize(
    "log",
    [
        pytest.param(UNREAD, id="unread"),
        pytest.param(STANDING, marks=pytest.mark.long, id="standing"),
        pytest.param(FULL, marks=pytest.mark.long, id="full"),
    ],
)
def test_a_log_that_nobody_takes_ends_nothing(scene: Scene, log: str) -> None:
    """Log lines come from the start, from a stage (Redis is away) and from the main thread (stopping)."""
    scene.topics.send(400)
    worker = scene.start("bash", "-c", log, "bash", redis__url="redis://127.0.0.1:1")
    scene.wait_all_committed(worker)
    scene.drain(worker)
    assert len(worker.lines) <= len(["starting", "model ready"])
    scene.judge_end()


def test_a_worker_on_a_read_only_file_system_needs_its_index_only(scene: Scene) -> None:
    if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        skip_or_fail("a file system can be made read-only by root only")
    scene.topics.send(400)
    folder = scene.milvus.parent
    worker = scene.start("unshare", "--mount", "sh", "-c", READ_ONLY, str(folder))
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()


@pytest.mark.long
def test_a_worker_that_was_frozen_for_longer_than_its_engine_may_hang_goes_on(scene: Scene) -> None:
    scene.topics.send(1_500, strange)
    worker = scene.start(engine__watchdog_s=str(HANG_S))
    scene.wait_progress(worker)
    assert scene.topics.committed() != scene.topics.ends(), "the engine had nothing to do"
    worker.pause()
    time.sleep(1.5 * HANG_S)
    worker.resume()
    scene.wait_all_committed(worker)
    scene.drain(worker)
    scene.judge_end()


def test_sigterm_while_kafka_is_a_black_hole_ends_in_time_and_commits_nothing_that_is_not_stored(scene: Scene) -> None:
    scene.topics.send(3_000, strange)
    with kafka_proxy(scene.topics.bootstrap) as proxy:
        worker = scene.start(kafka__bootstrap_servers=f"127.0.0.1:{proxy.port}", limits__drain_timeout_s=str(AWAY_DRAIN_S))
        scene.wait_progress(worker)
        proxy.silence()
        time.sleep(HELD_S)
        worker.terminate()
        assert worker.wait(AWAY_DRAIN_S + LEAVE_S + BUSY_S) == DRAIN_TIMEOUT, worker.lines
    assert scene.topics.committed() != scene.topics.ends(), "it was not stopped in mid-work"
    scene.check_nothing_lost()


def test_sigterm_while_the_index_is_a_black_hole_at_the_start_ends_in_time(scene: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        uri = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        worker = scene.start(milvus__uri=uri, milvus__timeout_s="60", limits__drain_timeout_s=str(AWAY_DRAIN_S))
        worker.wait_for("model ready")
        connection, _ = deaf.accept()
        with connection:
            worker.terminate()
            assert worker.wait(AWAY_DRAIN_S + LEAVE_S + BUSY_S) == DRAINED, worker.lines
