"""Writes golden files of messages: CloudEvents by their library, and Avro, JSON Schema and Protocol Buffers by Confluent's serialisers.

Run it with what the tests need installed (cloudevents 2.2.0, confluent-kafka 2.16.1 with its registry in memory):
`PYTHONPATH=. python tests/golden/make/python_messages.py`. What is expected is written here from what is sent; nothing of it is taken from a
decoder.
"""

import json
import sys
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from cloudevents.core.bindings.kafka import KafkaMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from consumers.record import Header
from tests.consumers.decode.registered import Registered

KAFKA_MS = 1_780_000_000_000
LOGGED_MS = 1_779_999_000_125
TRACE = 'Traceback (most recent call last):\n  File "/srv/cart.py", line 1, in <module>\nValueError: no such sku'
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
LOGGED: tuple[dict[str, Any], ...] = (
    {"level": "INFO", "message": "added 3 of sku-77", "left": 2},
    {"level": "WARN", "message": "stock is low: é 語 🛒", "left": 1, "trace_id": TRACE_ID},
    {"level": "ERROR", "message": "could not add", "left": 0, "stack_trace": TRACE},
    {"level": "DEBUG", "message": "a query:\nselect *\n  from carts", "left": 9},
    {"level": "FATAL", "message": "out of memory", "left": 9},
)
"""What is sent, besides time and service; what is not there is null or empty."""
AVRO = {
    "type": "record",
    "name": "Log",
    "namespace": "shop",
    "fields": [
        {"name": "timestamp", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "level", "type": {"type": "enum", "name": "Level", "symbols": ["DEBUG", "INFO", "WARN", "ERROR", "FATAL"]}},
        {"name": "service", "type": "string"},
        {"name": "message", "type": "string"},
        {"name": "left", "type": "int"},
        {"name": "trace_id", "type": ["null", "string"], "default": None},
        {"name": "stack_trace", "type": ["null", "string"], "default": None},
        {"name": "labels", "type": {"type": "map", "values": "string"}},
    ],
}
JSON_SCHEMA = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Log", "type": "object"}


def line(value: bytes, headers: Sequence[Header], form: str, expected: dict[str, Any]) -> dict[str, Any]:
    """Return a line of a golden file."""
    return {
        "value_base64": b64encode(value).decode(),
        "headers": [[name, None if content is None else b64encode(content).decode()] for name, content in headers],
        "kafka_ms": KAFKA_MS,
        "format": form,
        "expected": [expected],
    }


def expected(sent: dict[str, Any], **fields: object) -> dict[str, Any]:
    """Return the entry of what is sent."""
    trace = sent.get("stack_trace")
    kept = {"left": sent["left"], **({"trace_id": TRACE_ID} if "trace_id" in sent else {}), **fields}
    return {
        "text": sent["message"],
        "time_ms": LOGGED_MS,
        "level": sent["level"],
        "service": "cart",
        "fields": kept,
        "trace": trace and f"\n{trace}",
    }


def of_cloudevents() -> list[dict[str, Any]]:
    """Return events in both modes; their time is that of the entry."""
    lines = []
    for number, sent in enumerate(LOGGED):
        attributes: dict[str, Any] = {
            "specversion": "1.0",
            "id": f"e-{number}",
            "source": "/cart",
            "type": "shop.logged",
            "time": datetime.fromtimestamp(LOGGED_MS / 1000, UTC),
            "datacontenttype": "application/json",
            "subject": "carts/7",
        }
        names = {"event_id": f"e-{number}", "event_source": "/cart", "event_type": "shop.logged", "event_subject": "carts/7"}
        entry = expected(sent, **{f"cloudevents.{name}": text for name, text in names.items()})
        event = CloudEvent(attributes=attributes, data={**sent, "service": "cart"})
        for message in (to_binary_event(event), to_structured_event(event)):
            lines.append(line(message.value, headers_of(message), "auto", entry))
    return lines


def headers_of(message: KafkaMessage) -> list[Header]:
    """Return the headers of a message."""
    return [(name, content if isinstance(content, bytes) else str(content).encode()) for name, content in message.headers.items()]


def log_class() -> Any:  # noqa: ANN401 - a class made at run time
    """Return the class of messages of Protocol Buffers."""
    file = descriptor_pb2.FileDescriptorProto(name="shop_log.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Log")
    types = {"timestamp": 3, "level": 9, "service": 9, "message": 9, "left": 5, "trace_id": 9, "stack_trace": 9}
    for number, (name, kind) in enumerate(types.items(), start=1):
        message.field.add(name=name, number=number, type=kind, label=1, json_name=name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Log"))


def of_confluent() -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return values of all three formats, Avro with its schema's id in a header too; and the schemas."""
    registered = Registered()
    made = log_class()
    lines = []
    for sent in LOGGED:
        whole = {"timestamp": LOGGED_MS, "service": "cart", **sent}
        avro = {**whole, "labels": {"k8s.pod.name": "cart-1"}}
        entry = expected(sent)
        with_labels = expected(sent, **{"labels.k8s.pod.name": "cart-1"})
        schema = json.dumps(AVRO)
        lines.append(line(registered.avro(schema, avro), (), "registry", with_labels))
        lines.append(line(*registered.avro_in_header(schema, avro), "registry", with_labels))
        lines.append(line(registered.json(json.dumps(JSON_SCHEMA), whole), (), "registry", entry))
        message = made(**whole)
        set_only = {**entry, "fields": {name: one for name, one in entry["fields"].items() if one != 0}}  # 0 is not sent
        lines.append(line(registered.protobuf(message), (), "registry", set_only))
        lines.append(line(*registered.protobuf_in_header(message), "registry", set_only))
    store = registered.client._store  # type: ignore[attr-defined]  # noqa: SLF001 - the mock has no list
    keys = [*store.schema_id_index, *store.schema_guid_index]
    fetched = [(key, registered.fetch(key)) for key in keys]
    return lines, [{"key": str(key), "kind": one.type, "text": one.text} for key, one in fetched]


def main() -> None:
    """Write the files."""
    registered, schemas = of_confluent()
    for name, producer, lines in (
        ("cloudevents", f"cloudevents {version('cloudevents')}", of_cloudevents()),
        ("confluent", f"confluent-kafka {version('confluent-kafka')}, serialisers", registered),
    ):
        head: dict[str, Any] = {
            "producer": producer,
            "made_by": "tests/golden/make/python_messages.py",
            "written_from_documentation": False,
        }
        if lines is registered:
            head["schemas"] = schemas
        path = Path(__file__).parents[1] / f"{name}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in (head, *lines)))
        sys.stdout.write(f"{name}: {len(lines)} records\n")


if __name__ == "__main__":
    main()
