"""`verify` on a real Kafka and Milvus server: of a complete index, during work, after a kill, and with duplicate rows."""

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from sinks.milvus.settings import MilvusSettings
from sinks.row import row_id
from tests.faults.scene import COLLECTION, Scene
from tests.faults.topics import Topics
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer, connected, drop
from worker.cli.screen import Screen
from worker.cli.verify import VerifyOptions, verify_topics
from worker.embedding.model.prepared import PreparedModel
from worker.groups.offsets import Target
from worker.settings.settings import Settings
from worker.settings.tables import DecodeTable, EngineTable, KafkaTable, ModelTable

RECORDS = 400
_ROW = {"id", "template", "text", "time", "service", "level", "topic", "partition", "offset", "sub", "chunk", "chunks"}


class Kept:
    """A scene on a server, with the outcome of its records.

    Thread: the test's.
    """

    def __init__(self, scene: Scene, uri: str, model: PreparedModel) -> None:
        self.scene = scene
        self.uri = uri
        self.collection = f"{COLLECTION}_{uuid.uuid4().hex[:12]}"
        topics = scene.topics
        self._settings = Settings(
            kafka=KafkaTable(
                bootstrap_servers=topics.bootstrap, topics=(topics.logs,), group=topics.group, dead_letter_topic=topics.dead_letters
            ),
            milvus=MilvusSettings(uri=uri, collection=self.collection),
            model=ModelTable(folder=model.folder),
            engine=EngineTable(name="llama"),
            decode=DecodeTable(errors="strict"),
        )
        self.on_server = {"milvus__uri": uri, "milvus__collection": self.collection}
        topics.send(RECORDS)
        worker = scene.start(**self.on_server)
        scene.wait_all_committed(worker)
        scene.drain(worker)

    def verify(self, *, repair: bool = False, begin: Target = Target("earliest"), end: Target | None = None) -> dict[str, Any]:  # noqa: B008
        now_ms = round(time.time() * 1000)
        options = VerifyOptions(repair=repair, begin=begin, end=end, patience_s=30.0, now_ms=now_ms)
        result = verify_topics(self._settings, options, Screen(silent=True))
        return result | {"kinds": {kind: number for kind, number in result["problems"].items() if number}}

    def rows(self, expression: str) -> list[dict[str, Any]]:
        with connected(self.uri) as client:
            found = client.query(self.collection, expression, output_fields=sorted(_ROW), consistency_level="Strong", limit=100)
            return [{name: row[name] for name in _ROW} for row in found]

    def insert(self, *rows: dict[str, Any]) -> None:
        """Insert rows without a check for existing ids."""
        with connected(self.uri) as client:
            fields = {field["name"] for field in client.describe_collection(self.collection)["fields"]}
            pad = {"pad": [0.0, 0.0]} if "pad" in fields else {}
            client.insert(self.collection, [row | pad for row in rows])


@pytest.fixture(scope="module")
def kept(kafka: KafkaServer, milvus: MilvusServer, model: PreparedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    topics = Topics(kafka, lambda stem: f"{stem}-{uuid.uuid4().hex[:12]}")
    scene = Scene(topics, tmp_path_factory.mktemp("verify"), model)
    kept = Kept(scene, milvus.uri, model)
    yield kept
    scene.close()
    drop(milvus.uri, kept.collection, f"{kept.collection}_templates")


def test_what_a_worker_left_is_complete_and_its_dead_letters_are_counted(kept: Kept) -> None:
    result = kept.verify()
    assert (result["complete"], result["kinds"], result["records"]) == (True, {}, RECORDS)
    assert result["dead_letter_pieces"] == len(kept.scene.topics.letters()) > 0
    assert result["rows"] == result["sound_rows"] > 300


def test_rows_stored_twice_under_one_id_are_found_at_their_offset_and_folded(kept: Kept) -> None:
    (row,) = kept.rows("partition == 0 and offset == 4")
    (other,) = kept.rows("partition == 1 and offset == 7 and sub == 0")
    kept.insert(row, row, other | {"text": "a lie"})
    found = kept.verify()
    assert found["kinds"]["duplicate"] == 3
    told = [(one["partition"], one["offset"], one["number"]) for one in found["findings"] if one["kind"] == "duplicate"]
    assert told == [(0, 4, 2), (1, 7, 1)]
    mended = kept.verify(repair=True)
    assert (mended["complete"], mended["problems"]["duplicate"]) == (True, 3)
    again = kept.verify()
    assert (again["complete"], again["kinds"]) == (True, {})
    assert (kept.rows("partition == 0 and offset == 4"), kept.rows("partition == 1 and offset == 7 and sub == 0")) == ([row], [other])


def test_a_time_bounds_what_is_looked_at(kept: Kept) -> None:
    kafka_ms = [sent.time_ms for sent in kept.scene.topics.sent]
    middle = Target("time", sorted(kafka_ms)[RECORDS // 2])
    before, after = kept.verify(end=middle), kept.verify(begin=middle)
    assert before["records"] + after["records"] == RECORDS
    assert min(before["records"], after["records"]) > RECORDS // 3


def test_every_kind_of_damage_on_a_server_is_mended(kept: Kept) -> None:
    topic = kept.scene.topics.logs
    (row,) = kept.rows("partition == 2 and offset == 3")
    epoch = row["id"].partition("@")[2].partition("/")[0]
    with connected(kept.uri) as client:
        client.delete(kept.collection, filter="partition == 3 and offset == 5")
        client.delete(f"{kept.collection}_templates", filter=f'digest == "{row["template"]}"')
    kept.insert(row | {"id": row_id(topic, epoch, 2, 3, 8, 0), "sub": 8}, row | {"id": "foreign"})
    found = kept.verify()
    lines = len(kept.rows(f'template == "{row["template"]}" and id != "foreign" and sub != 8'))
    assert found["kinds"] == {"gap": 1, "template": lines, "foreign": 2}
    assert kept.verify(repair=True)["complete"]
    assert kept.verify()["kinds"] == {}


def test_while_a_worker_works_and_after_it_was_killed_all_that_is_committed_is_there(kept: Kept) -> None:
    kept.scene.topics.send(RECORDS)
    kept.scene.members_die()
    worker = kept.scene.start(limits__max_in_flight_records="50", **kept.on_server)
    kept.scene.wait_progress(worker)
    at_work = kept.verify()
    worker.kill()
    killed = kept.verify()
    assert (at_work["kinds"], killed["kinds"]) == ({}, {})
    assert RECORDS < at_work["records"] <= killed["records"]
    assert killed["records"] + killed["not_committed"] == 2 * RECORDS
