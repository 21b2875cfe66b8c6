"""A full disk under Milvus Lite in a real worker: it stops at once, and the next start with free space finishes the work.

A folder that accepts writes after a failed one loses acknowledged rows, so the failed write must be the last.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.model_change import Change
from tests.faults.records import strange
from tests.faults.scene import Scene
from tests.services.missing import skip_or_fail
from worker.embedding.model.prepared import PreparedModel

CRASHED = 1
RECORDS = 500
FULL = "600k"
"""Less than half of what the templates' vectors need."""
ROOM = "256m"
MOST_FILE_BYTES = 400_000
LEFT_KB = 400
"""Less than the vectors of another model need."""


@pytest.fixture
def small_disk(scene: Scene) -> Iterator[Path]:
    """A small file system for the index, without free space."""
    if shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        skip_or_fail("a small disk can be mounted by root only")
    scene.milvus.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={FULL}", "tmpfs", str(scene.milvus)], check=True)
    try:
        yield scene.milvus
    finally:
        subprocess.run(["umount", "--lazy", str(scene.milvus)], check=True)


def _resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def _fill_up_then_recover(scene: Scene, through: list[str], reason: str, make_room: Callable[[], None], *, again: bool) -> None:
    """`again`: also start it while the disk is still full."""
    scene.topics.send(RECORDS, strange)
    worker = scene.start(*through, limits__max_in_flight_records="200")
    assert worker.wait() == CRASHED, worker.lines
    (line,) = worker.words()
    assert reason in line, line
    committed, _ = scene.check_nothing_lost()
    assert committed != scene.topics.ends(), "the disk had room for everything"

    if again:
        worker = scene.start(*through, limits__max_in_flight_records="200")
        assert worker.wait() != 0, worker.lines
        scene.check_nothing_lost()

    make_room()
    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.judge_end()


@pytest.mark.long
def test_a_full_disk_ends_the_worker_and_with_room_again_the_next_start_finishes_the_work(
    scene: Scene, small_disk: Path, *, long: bool
) -> None:
    _fill_up_then_recover(scene, [], "No space left", lambda: _resize(small_disk, ROOM), again=long)


@pytest.mark.long
def test_a_file_that_may_not_grow_ends_the_worker_in_the_same_way(scene: Scene) -> None:
    """Limit the size of the worker's files; needs no privileges."""
    if shutil.which("prlimit") is None:
        skip_or_fail("there is no prlimit")
    _fill_up_then_recover(scene, ["prlimit", f"--fsize={MOST_FILE_BYTES}"], "File too large", lambda: None, again=True)


@pytest.mark.long
def test_a_disk_that_fills_while_a_second_view_is_filled_costs_nothing(scene: Scene, small_disk: Path, plain_model: PreparedModel) -> None:
    _resize(small_disk, ROOM)
    cache = str(plain_model.folder.parent)
    worker = scene.start(model__cache=cache)
    scene.topics.send(RECORDS, strange)
    scene.wait_all_committed(worker)
    change = Change(worker, plain_model)
    _resize(small_disk, f"{shutil.disk_usage(small_disk).used // 1024 + LEFT_KB}k")
    change.start()
    assert worker.wait() == CRASHED, worker.lines
    (line,) = worker.words()
    assert "No space left" in line, line

    _resize(small_disk, ROOM)
    worker = scene.start(model__cache=cache)
    after = Change(worker, plain_model)
    after.wait_running()
    after.wait_asked(plain_model)
    after.wait_same()
    scene.fresh_record_flows(worker)
    scene.drain(worker)
    scene.model = plain_model
    scene.judge_end()
