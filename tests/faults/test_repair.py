"""The next start rebuilds index files that a killed worker left half-written."""

import os

import pytest

from tests.faults.scene import Scene


@pytest.mark.long
def test_half_written_index_files_are_repaired_at_start(scene: Scene) -> None:
    scene.topics.send(400)
    scene.members_die()
    worker = scene.start()
    scene.wait_all_committed(worker)
    scene.drain(worker)  # writes the rows to segments; the next start builds their indexes

    scene.topics.send(400)
    worker = scene.start(limits__max_in_flight_records="50")
    scene.wait_progress(worker)
    worker.kill()
    indexes = list(scene.milvus.rglob("*.idx"))
    assert indexes, "the templates have one"
    for path in indexes:
        os.truncate(path, path.stat().st_size // 2)

    worker = scene.start()
    scene.wait_all_committed(worker)
    asked = scene.topics.ask(b'{"text": "socket refused voucher", "k": 3}')
    assert len(scene.topics.replies_to([asked])[asked]["hits"]) == 3
    scene.drain(worker)
    scene.judge_end()
