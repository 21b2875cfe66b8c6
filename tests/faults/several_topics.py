"""Several topics of one partition each, beside the topic of a scene: what is committed, dead letters, and the entries that are stored."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from sinks.line import Line
from sinks.milvus.milvus_sink import MilvusSettings, MilvusSink
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from tests.faults.group_offsets import WAIT_S
from tests.faults.mixed_records import Wanted
from tests.faults.scene import COLLECTION, Scene, wait_until_committed
from tests.faults.worker_process import WorkerProcess
from worker.connections import vector_space
from worker.embedding.loaded import space_of

EVERYTHING = 1 << 62


class Place(NamedTuple):
    topic: str
    offset: int


def wait_committed(scene: Scene, worker: WorkerProcess, topics: Sequence[str], records: int) -> None:
    """Wait until all records of these topics are committed."""
    group, places = scene.topics.offsets_of(scene.topics.group), [TopicPartition(topic, 0) for topic in topics]

    def committed() -> dict[str, int]:
        return {place.topic: place.offset for place in group.of(places)}

    assert sum(wait_until_committed(worker, committed, lambda found: sum(found.values()) >= records).values()) == records


def dead_letters(scene: Scene) -> dict[Place, list[str]]:
    """Return the reasons of all dead letters, by the place of their record."""
    consumer = Consumer({"bootstrap.servers": scene.topics.bootstrap, "group.id": "nobody", "log_level": 0})
    found: dict[Place, list[str]] = {}
    try:
        for partition in range(2):
            place = TopicPartition(scene.topics.dead_letters, partition, 0)
            end = consumer.get_watermark_offsets(place, timeout=WAIT_S)[1]
            consumer.assign([place])
            while end and (message := consumer.poll(WAIT_S)) is not None:
                pairs = message.headers() or []
                assert isinstance(pairs, list)
                headers = {name: value.decode() for name, value in pairs if isinstance(value, bytes)}
                origin = Place(headers["__connect.errors.topic"], int(headers["__connect.errors.offset"]))
                found.setdefault(origin, []).append(headers["vectail.reason"])
                if (message.offset() or 0) + 1 >= end:
                    break
    finally:
        consumer.close()
    return found


def stored_entries(scene: Scene, topics: Sequence[str]) -> dict[Place, tuple[Wanted, ...]]:
    """Return the entries of each record in the folder that a dead worker left."""
    sink = MilvusSink(
        MilvusSettings(uri=str(scene.milvus), collection=COLLECTION),
        vector_space(space_of(scene.model)),
        consumer_group=scene.topics.group,
    )
    sink.open(create=False)
    try:
        found = [BlockReader(sink).lines_between(RecordRange(topic, 0, 0, EVERYTHING), strong=True) for topic in topics]
    finally:
        sink.close()
    assert all(one.complete for one in found)
    entries: dict[Place, dict[int, list[Line]]] = {}
    for line in (line for one in found for line in one.lines):
        entries.setdefault(Place(line.topic, line.offset), {}).setdefault(line.sub, []).append(line)
    return {place: tuple(_entry(chunks) for _, chunks in sorted(subs.items())) for place, subs in entries.items()}


def _entry(chunks: Sequence[Line]) -> Wanted:
    first, *_ = ordered = sorted(chunks, key=lambda line: line.chunk)
    assert len(ordered) == first.chunks
    text = "".join(line.text or "" for line in ordered)
    return Wanted(text, first.time, first.service, first.level, json.loads(first.fields) if first.fields else {})
