"""Topics of all formats through a real worker: every entry is right, every refused record is one dead letter, and nothing is missing."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pytest
from confluent_kafka import Message, Producer

from consumers.decode.rules import Format
from tests.faults.group_offsets import WAIT_S
from tests.faults.mixed_records import DROP, Mixed, all_records, registry_records
from tests.faults.scene import Scene
from tests.faults.several_topics import Place, dead_letters, stored_entries, wait_committed
from tests.services.kafka import KafkaServer
from tests.services.schema_registry import SchemaRegistryStub

MAX_MESSAGE_BYTES = 16_777_216


@pytest.fixture
def registry() -> Iterator[SchemaRegistryStub]:
    with SchemaRegistryStub() as registry:
        yield registry


def send(bootstrap: str, topics: Mapping[Format, str], records: Sequence[Mixed]) -> dict[Place, Mixed]:
    """Send each record to the topic of its format; return where each lies."""
    sent: dict[Place, Mixed] = {}

    def delivered(error: object, message: Message, one: Mixed) -> None:
        assert error is None, (one.name, error)
        sent[Place(message.topic() or "", message.offset() or 0)] = one

    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "acks": "all", "message.max.bytes": MAX_MESSAGE_BYTES})
    for one in records:
        producer.produce(
            topics[one.format],
            one.value,
            one.name.encode(),  # a key of its own: each is judged by itself, and pieces of one line would join
            headers=list(one.headers),
            partition=0,
            timestamp=one.kafka_ms,
            on_delivery=partial(delivered, one=one),
        )
    assert producer.flush(WAIT_S) == 0
    assert len(sent) == len(records)
    return sent


def test_every_entry_is_right_every_refused_record_a_dead_letter_and_the_totals_are_conserved(
    scene: Scene, kafka: KafkaServer, unique: Callable[[str], str], registry: SchemaRegistryStub
) -> None:
    more, schemas = registry_records()
    for number, schema in schemas:
        registry.add_schema(number, schema)
    records = all_records(more)
    topics = {form: unique(f"mixed-{form.replace('_', '-')}") for form in dict.fromkeys(one.format for one in records)}
    for topic in topics.values():
        kafka.create_topic(topic, 1, {"max.message.bytes": str(MAX_MESSAGE_BYTES)})
    sent = send(scene.topics.bootstrap, topics, records)
    tables = [{"name": topic, "format": form} for form, topic in topics.items()]
    worker = scene.start(topic=json.dumps(tables), drop=json.dumps(DROP), registry__url=registry.url)
    wait_committed(scene, worker, list(topics.values()), len(records))
    scene.drain(worker)

    letters, stored = dead_letters(scene), stored_entries(scene, list(topics.values()))
    wrong = {
        one.name: stored.get(place)
        for place, one in sent.items()
        if stored.get(place, ()) != tuple(entry._replace(fields=dict(entry.fields)) for entry in one.entries)
    }
    assert wrong == {}
    unexplained = {
        one.name: letters.get(place)
        for place, one in sent.items()
        if len(reasons := letters.get(place, [])) != bool(one.reason) or not "".join(reasons).startswith(one.reason)
    }
    assert unexplained == {}
    assert (stored.keys() | letters.keys()) <= sent.keys()
    dropped = [one for one in records if not one.entries and not one.reason]
    assert len(records) == len(stored) + len(letters) + len(dropped)


def test_our_own_records_are_of_every_format() -> None:
    forms = {one.format for one in all_records(registry_records()[0])}
    assert forms >= {"auto", "text", "json", "logfmt", "syslog", "msgpack", "otlp_proto", "otlp_json", "cloudevents", "registry"}
