"""`verify` on a real Kafka and Milvus server: of a complete index, with copies, with every kind of damage, during work and after a kill."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sinks.block import BlockColumns, BlockId, new_run
from sinks.build import build
from sinks.codec import decode_lines, masks_of
from sinks.line import Line
from sinks.lines import all_lines, lines_of
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import BlockFilter
from tests.faults.index import drop_index
from tests.faults.scene import COLLECTION, Scene
from tests.faults.topics import Topics
from tests.log_topics import log_topics
from tests.services.kafka import KafkaServer
from tests.services.milvus import MilvusServer, connected
from worker.cli.screen import Screen
from worker.cli.verify_verb import VerifyOptions, verify_topics
from worker.connections import vector_space
from worker.embedding.loaded import space_of
from worker.embedding.model.prepared import PreparedModel
from worker.settings.settings import Settings
from worker.settings.tables import DecodeTable, EngineTable, KafkaTable, ModelTable
from worker.watching.group_offsets import Target

RECORDS = 400


class Kept:
    """A scene on a server, with the outcome of its records."""

    def __init__(self, scene: Scene, uri: str, model: PreparedModel) -> None:
        self.scene = scene
        self.uri = uri
        self.collection = f"{COLLECTION}_{uuid.uuid4().hex[:12]}"
        topics = scene.topics
        self._settings = Settings(
            topic=log_topics(topics.logs),
            kafka=KafkaTable(bootstrap_servers=topics.bootstrap, group=topics.group, dead_letter_topic=topics.dead_letters),
            milvus=MilvusSettings(uri=uri, collection=self.collection),
            model=ModelTable(folder=model.folder),
            engine=EngineTable(name="llama"),
            decode=DecodeTable(errors="strict"),
        )
        self.space = vector_space(space_of(model))
        self.on_server = {"milvus__uri": uri, "milvus__collection": self.collection}
        topics.send(RECORDS)
        worker = scene.start(**self.on_server)
        scene.wait_all_committed(worker)
        scene.drain(worker)

    def verify(self, *, repair: bool = False, begin: Target = Target("earliest"), end: Target | None = None) -> dict[str, Any]:  # noqa: B008
        now_ms = round(time.time() * 1000)
        options = VerifyOptions(repair=repair, begin=begin, end=end, patience_s=30.0, look_again_s=1.0, now_ms=now_ms)
        result = verify_topics(self._settings, options, Screen(silent=True))
        return result | {"kinds": {kind: number for kind, number in result["problems"].items() if number}}

    @contextmanager
    def sink(self) -> Iterator[MilvusSink]:
        """Yield the index for the test to damage."""
        sink = MilvusSink(self._settings.milvus, self.space, consumer_group=self.scene.topics.group)
        sink.open(create=False)
        try:
            yield sink
        finally:
            sink.close()

    def block_at(self, partition: int, offset: int) -> tuple[BlockId, list[Line], str]:
        """Return a block that covers an offset: its id, its lines, its masks."""
        with self.sink() as sink:
            only = BlockFilter(partition=partition, first_offset=offset, end_offset=offset + 1)
            heads = sink.find_blocks(only, strong=True).heads
            block = max(heads.ids, key=lambda one: (one.run, one.last - one.first))
            columns: BlockColumns = sink.read_columns([block], ("places", "texts", "fields"), strong=True)[block]
            return block, all_lines(block.place, decode_lines(columns)), masks_of(columns.places)

    def write(self, like: BlockId, lines: list[Line], masks: str, run: str = "") -> BlockId:
        """Write lines as a block of a run of their own; by default it is the latest."""
        now_ms = round(time.time() * 1000)
        (built,) = build(lines_of(lines), masks=masks, written_ms=now_ms)
        block = built.block._replace(id=BlockId(like.place, run or new_run(now_ms, 0, like.run), 0, 0))
        with self.sink() as sink:
            sink.write_blocks([block])
        return block.id

    def remove(self, block: BlockId) -> None:
        """Remove a block and all inside it."""
        with self.sink() as sink:
            only = BlockFilter((block.place.topic,), block.place.epoch, block.place.partition)
            ids = sink.find_blocks(only, strong=True).heads.ids
            sink.delete_blocks([one for one in ids if one == block or one.is_inside(block)])

    def drop_template(self, template: str) -> None:
        with connected(self.uri) as client:
            (name,) = [name for name in client.list_collections() if name.startswith(f"{self.collection}_templates")]
            client.delete(name, filter=f'template == "{template}"')


@pytest.fixture(scope="module")
def kept(kafka: KafkaServer, milvus: MilvusServer, model: PreparedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    topics = Topics(kafka, lambda stem: f"{stem}-{uuid.uuid4().hex[:12]}")
    scene = Scene(topics, tmp_path_factory.mktemp("verify"), model)
    kept = Kept(scene, milvus.uri, model)
    yield kept
    scene.close()
    drop_index(milvus.uri, kept.collection)


def test_what_a_worker_left_is_complete_and_its_dead_letters_are_counted(kept: Kept) -> None:
    result = kept.verify()
    assert (result["complete"], result["kinds"], result["records"]) == (True, {}, len(kept.scene.topics.sent))
    assert result["dead_letter_pieces"] == len(kept.scene.topics.letters()) > 0
    assert result["lines"] == result["sound_lines"] > 300


def test_copies_are_counted_and_are_no_problem(kept: Kept) -> None:
    block, lines, masks = kept.block_at(0, 4)
    before = kept.verify()
    copy = kept.write(block, lines, masks)
    found = kept.verify(repair=True)
    assert (found["complete"], found["kinds"], found["copies"]) == (True, {}, before["copies"] + len(lines))
    assert found["lines"] == found["sound_lines"] == before["lines"]
    kept.remove(copy)


def test_a_time_bounds_what_is_looked_at(kept: Kept) -> None:
    kafka_ms = [sent.time_ms for sent in kept.scene.topics.sent]
    middle = Target("time", sorted(kafka_ms)[len(kafka_ms) // 2])
    before, after = kept.verify(end=middle), kept.verify(begin=middle)
    assert before["records"] + after["records"] == len(kafka_ms)
    assert min(before["records"], after["records"]) > len(kafka_ms) // 3


def test_every_kind_of_damage_on_a_server_is_mended(kept: Kept) -> None:
    block, lines, masks = kept.block_at(2, 3)
    single = [line for line in lines if line.chunks == 1 and line.sub == 0]
    gone, changed, foreign, lone = single[0], single[1], single[2]._replace(sub=8), single[-1]
    damaged = [line._replace(service="nobody") if line == changed else line for line in lines if line != gone]
    kept.remove(block)
    kept.write(block, [*damaged, foreign], masks)
    kept.write(block, [lone._replace(text="of yesterday")], masks, run="0" * 20)
    kept.drop_template(lone.template)
    found = kept.verify()
    kinds = found["kinds"]
    assert kinds.pop("template") >= 1
    assert kinds == {"gap": 1, "changed": 1, "foreign": 1, "left_over": 1}
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
