"""Topics of records that are joined or hold several entries: what was sent, what is committed, and in which format it was read last."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from confluent_kafka import Message, Producer, TopicPartition

from tests.faults.event_records import EventRecord, Format, Kind, event, is_joined, joined
from tests.faults.group_offsets import WAIT_S
from tests.faults.scene import Scene
from tests.services.kafka import KafkaServer

_PARTITIONS: Mapping[Kind, int] = {"traces": 2, "containers": 1, "otlp": 1, "arrays": 1}


class Place(NamedTuple):
    topic: str
    partition: int


class Entry(NamedTuple):
    place: Place
    offset: int
    sub: int
    text: str


class Reading(NamedTuple):
    """Settings that may change between two workers."""

    max_in_flight_records: int
    """Events of more than a quarter of it are closed early."""
    joins_traces: bool
    batch_format: Format
    """Of OTLP and arrays."""


class EventTopics:
    """A topic of each kind."""

    def __init__(self, scene: Scene, kafka: KafkaServer, unique: Callable[[str], str]) -> None:
        self.kinds: dict[str, Kind] = {unique(kind): kind for kind in _PARTITIONS}
        """By topic."""
        self.records: dict[Place, list[EventRecord]] = {}
        """Everything sent; a record's place in the list is its offset."""
        for topic, kind in self.kinds.items():
            kafka.create_topic(topic, _PARTITIONS[kind])
            self.records |= {Place(topic, partition): [] for partition in range(_PARTITIONS[kind])}
        self._forms: dict[Place, list[Format]] = {place: [] for place in self.records}
        self._rest: dict[Place, deque[EventRecord]] = {place: deque() for place in self.records}
        """Of an event that has begun."""
        self._events = 0
        self._failed: list[object] = []
        self._group = scene.topics.offsets_of(scene.topics.group)
        client = {"bootstrap.servers": scene.topics.bootstrap, "log_level": 0}
        self._producer = Producer({**client, "acks": "all", "enable.idempotence": True})

    @property
    def size(self) -> int:
        """How many records were sent."""
        return sum(len(sent) for sent in self.records.values())

    def tables(self, reading: Reading) -> str:
        tables: list[dict[str, object]] = []
        for topic, kind in self.kinds.items():
            table: dict[str, object] = {"name": topic}
            if kind == "traces" and reading.joins_traces:
                table["multiline"] = {"start": "java"}
            elif kind in ("otlp", "arrays"):
                table["format"] = reading.batch_format
            tables.append(table)
        return json.dumps(tables)

    def send(self, chance: Random, most: int) -> None:
        """Send 1 to `most` records to each partition, whether or not an event ends there."""
        for place in self.records:
            for _ in range(chance.randint(1, most)):
                self._send_next(place)
        self._flush()

    def end_events(self) -> int:
        """Send what is missing of every event, and to each partition of traces a line that ends the last one.

        Returns the time of the first such line: only those may wait for more.
        """
        for place, rest in self._rest.items():
            while rest:
                self._send_next(place)
        until_ms = 0
        for place in [place for place in self.records if self.kinds[place.topic] == "traces"]:
            self._send_next(place)
            until_ms = until_ms or self.records[place][-1].time_ms
        self._flush()
        return until_ms

    def committed(self) -> dict[Place, int]:
        """Return the committed next offsets; 0 where there is none."""
        places = [TopicPartition(*place) for place in self.records]
        return {Place(one.topic, one.partition): one.offset for one in self._group.of(places)}

    def first_time(self, committed: Mapping[Place, int]) -> int:
        """Return the time of the earliest record that is not committed."""
        return min(sent[committed[place]].time_ms for place, sent in self.records.items() if committed[place] < len(sent))

    def is_all_committed(self, committed: Mapping[Place, int]) -> bool:
        """Whether all is that `end_events` has sent, but for the lines that may wait for more."""
        waiting = {place: self.kinds[place.topic] == "traces" for place in self.records}
        return all(committed[place] >= len(sent) - waiting[place] for place, sent in self.records.items())

    def note_read(self, begun: Mapping[Place, int], committed: Mapping[Place, int], form: Format) -> None:
        """Note which records a worker has read and committed, and in which format."""
        for place, end in committed.items():
            self._forms[place][begun[place] : end] = [form] * (end - begun[place])

    def lines_before(self, until_ms: int) -> dict[tuple[Place, int], tuple[str, ...]]:
        """Return the lines of each committed record before this time, by partition and offset."""
        return {
            (place, offset): record.lines_as(form)
            for place, sent in self.records.items()
            for offset, (record, form) in enumerate(zip(sent, self._forms[place], strict=False))
            if record.time_ms < until_ms
        }

    def entries_before(self, until_ms: int) -> list[Entry]:
        """Return the entries before this time, in order, if each was read by `auto` and every event was joined."""
        entries: list[Entry] = []
        for place, sent in sorted(self.records.items()):
            kind = self.kinds[place.topic]
            before = [record for record in sent if record.time_ms < until_ms]
            firsts = [offset for offset, record in enumerate(before) if record.is_first]
            for first, end in zip(firsts, [*firsts[1:], len(before)], strict=True):
                lines = [line for record in sent[first:end] for line in record.lines]
                texts = [joined(kind, lines)] if is_joined(kind) else lines
                entries += [Entry(place, first, sub, text) for sub, text in enumerate(texts)]
        return entries

    def _send_next(self, place: Place) -> None:
        rest = self._rest[place]
        if not rest:
            rest.extend(event(self.kinds[place.topic], self._events))
            self._events += 1
        record, offset = rest.popleft(), len(self.records[place])
        self.records[place].append(record)

        def note(error: object, message: Message) -> None:
            if error is not None or message.offset() != offset:
                self._failed.append((place, offset, error))

        self._producer.produce(place.topic, record.value, partition=place.partition, timestamp=record.time_ms, on_delivery=note)

    def _flush(self) -> None:
        assert (self._producer.flush(WAIT_S), self._failed) == (0, [])
