"""A Milvus server that is killed right after it acknowledged rows may have lost committed rows; `verify` finds them.

Servers have lost acknowledged data before. The worker cannot notice that; `vectail verify` can, and `--repair` restores the rows.
"""

import time
from collections.abc import Iterator

import pytest

from sinks.milvus.milvus_settings import MilvusSettings
from tests.faults.scene import Scene
from tests.log_topics import log_topics
from tests.services.milvus import OwnMilvus
from tests.services.shared import own_milvus
from worker.cli.screen import Screen
from worker.cli.verify_verb import VerifyOptions, verify_topics
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import Settings
from worker.settings.tables import DecodeTable, EngineTable, KafkaTable, ModelTable
from worker.watching.group_offsets import Target

BACK_S = 90.0
"""Until a restarted server that answers again has loaded its collections."""
KILLS = 2


@pytest.fixture
def milvus() -> Iterator[OwnMilvus]:
    with own_milvus() as server:
        yield server


def _verify(scene: Scene, model: PreparedModel, *, repair: bool) -> tuple[bool, int]:
    """Return whether the index is complete, and the number of problems found."""
    topics = scene.topics
    assert scene.server is not None
    settings = Settings(
        topic=log_topics(topics.logs),
        kafka=KafkaTable(bootstrap_servers=topics.bootstrap, group=topics.group, dead_letter_topic=topics.dead_letters),
        milvus=MilvusSettings(uri=scene.server.uri, collection=scene.collection),
        model=ModelTable(folder=model.folder),
        engine=EngineTable(name="llama"),
        decode=DecodeTable(errors="strict"),
    )
    now_ms = round(time.time() * 1000)
    options = VerifyOptions(repair=repair, begin=Target("earliest"), end=None, patience_s=BACK_S, now_ms=now_ms)
    result = verify_topics(settings, options, Screen(silent=True))
    return bool(result["complete"]), sum(result["problems"].values())


@pytest.mark.long
@pytest.mark.timeout(900)
def test_what_a_server_acknowledged_before_it_was_killed_is_there_or_verify_finds_and_mends_it(
    server_scene: Scene, milvus: OwnMilvus, model: PreparedModel
) -> None:
    scene = server_scene
    scene.topics.send(400)
    worker = scene.start(limits__max_in_flight_records="100", milvus__timeout_s="5")
    for _ in range(KILLS):
        scene.topics.send(800)
        scene.wait_progress(worker)
        milvus.kill()
        committed = scene.topics.committed()
        assert committed != scene.topics.ends(), "it was not in mid-work"
        worker.wait_for("the sink does not take rows")
        assert scene.topics.committed() == committed, "committed without a server to store rows"
        milvus.start()
        scene.wait_all_committed(worker)
    scene.drain(worker)
    lost = scene.judge().lost_below(scene.topics.committed())
    assert _verify(scene, model, repair=False)[0] == (not lost), "verify and the oracle do not agree"
    assert _verify(scene, model, repair=True)[0]
    assert _verify(scene, model, repair=False) == (True, 0)
    scene.judge_end()
