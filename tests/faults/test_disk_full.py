"""A full disk under Milvus Lite in a real worker: it stops at once, and the next start with free space finishes the work.

A folder that accepts writes after a failed one loses acknowledged rows, so the failed write must be the last.
"""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.records import strange
from tests.faults.scene import Scene
from tests.services.missing import skip_or_fail

CRASHED = 1
RECORDS = 500
FULL = "600k"
"""Less than half of what the templates' vectors need."""
ROOM = "256m"
MOST_FILE_BYTES = 400_000


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
    def make_room() -> None:
        subprocess.run(["mount", "-o", f"remount,size={ROOM}", str(small_disk)], check=True)

    _fill_up_then_recover(scene, [], "No space left", make_room, again=long)


@pytest.mark.long
def test_a_file_that_may_not_grow_ends_the_worker_in_the_same_way(scene: Scene) -> None:
    """Limit the size of the worker's files; needs no privileges."""
    if shutil.which("prlimit") is None:
        skip_or_fail("there is no prlimit")
    _fill_up_then_recover(scene, ["prlimit", f"--fsize={MOST_FILE_BYTES}"], "File too large", lambda: None, again=True)
