"""What the tests of registry formats write, and how they look at what became of it."""

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2, timestamp_pb2, wrappers_pb2
from hypothesis import strategies as st

from consumers.columns import as_texts
from consumers.decode.decoder import Decoder
from consumers.decode.registry_schemas import Schemas
from consumers.decode.rules import DecodeRules, Format
from consumers.record import Header
from tests.consumers.decode.registered import Registered

TIME_MS = 1_700_000_000_000
TYPES = descriptor_pb2.FieldDescriptorProto


class Line(NamedTuple):
    text: str
    level: str = ""
    service: str = ""
    time_ms: int = TIME_MS
    fields: dict[str, Any] | None = None


def decoder(schemas: Schemas | None, form: Format = "registry", **rules: Any) -> Decoder:  # noqa: ANN401 - of DecodeRules
    return Decoder(DecodeRules(format=form, **rules), schemas=schemas)


def lines(reader: Decoder, *values: bytes | None, headers: list[tuple[Header, ...]] | None = None) -> list[Line]:
    """Return the entries of values that can all be decoded."""
    found = reader.decode(values, np.full(len(values), TIME_MS), headers)
    assert not found.rejected
    entries = found.entries
    fields = entries.fields.to_pylist()
    return [
        Line(text, entries.level.text(i), entries.service.text(i), int(entries.time_ms[i]), json.loads(fields[i]) if fields[i] else None)
        for i, text in enumerate(as_texts(entries.text))
    ]


def reasons(reader: Decoder, *values: bytes, headers: list[tuple[Header, ...]] | None = None) -> list[str]:
    """Return why each of several values is rejected."""
    found = reader.decode(values, np.full(len(values), TIME_MS), headers)
    assert [row for row, _ in found.rejected] == list(range(len(values)))
    return [rejection.reason for _, rejection in found.rejected]


def record(*fields: tuple[str, object], name: str = "Log") -> str:
    return json.dumps({"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]})


LOG = record(
    ("message", "string"),
    ("level", {"type": "enum", "name": "Level", "symbols": ["DEBUG", "INFO", "WARNING"]}),
    ("timestamp", {"type": "long", "logicalType": "timestamp-millis"}),
    ("service", ["null", "string"]),
    ("trace_id", ["null", "string"]),
    ("labels", {"type": "map", "values": "string"}),
)
LOGGED_MS = 1_699_999_999_123
VALUE = {
    "message": "disk is full",
    "level": "WARNING",
    "timestamp": datetime.fromtimestamp(LOGGED_MS / 1000, UTC),
    "service": "store",
    "trace_id": "0af7651916cd43dd8448eb211c80319c",
    "labels": {"zone": "b"},
}


def expected(text: str = "disk is full") -> Line:
    fields = {"trace_id": VALUE["trace_id"], "level.original": "WARNING", "labels.zone": "b"}
    return Line(text, "WARN", "store", LOGGED_MS, fields)


def described() -> dict[str, Any]:
    """Return the message classes of two files, one of which imports the other and the library's own."""
    common = descriptor_pb2.FileDescriptorProto(name="common.proto", package="example", syntax="proto3")
    host = common.message_type.add(name="Host")
    host.field.add(name="name", number=1, type=TYPES.TYPE_STRING, label=1)
    file = descriptor_pb2.FileDescriptorProto(name="log.proto", package="example", syntax="proto3")
    file.dependency.extend(
        ["common.proto", "google/protobuf/timestamp.proto", "google/protobuf/struct.proto", "google/protobuf/wrappers.proto"]
    )
    file.message_type.add(name="Other").field.add(name="x", number=1, type=TYPES.TYPE_INT32, label=1)
    severity = file.enum_type.add(name="Severity")
    for number, name in enumerate(("UNSET", "INFO", "ERROR")):
        severity.value.add(name=name, number=number)
    log = file.message_type.add(name="Log")
    log.field.add(name="message", number=1, type=TYPES.TYPE_STRING, label=1)
    log.field.add(name="timestamp", number=2, type=TYPES.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp", label=1)
    log.field.add(name="severity", number=3, type=TYPES.TYPE_ENUM, type_name=".example.Severity", label=1)
    log.field.add(name="host", number=4, type=TYPES.TYPE_MESSAGE, type_name=".example.Host", label=1)
    log.field.add(name="bytes_sent", number=5, type=TYPES.TYPE_INT64, label=1)
    log.field.add(name="more", number=6, type=TYPES.TYPE_MESSAGE, type_name=".google.protobuf.Struct", label=1)
    log.field.add(name="retries", number=7, type=TYPES.TYPE_MESSAGE, type_name=".google.protobuf.Int32Value", label=1)
    entry = log.nested_type.add(name="LabelsEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=TYPES.TYPE_STRING, label=1)
    entry.field.add(name="value", number=2, type=TYPES.TYPE_MESSAGE, type_name=".example.Host", label=1)
    log.field.add(name="labels", number=8, type=TYPES.TYPE_MESSAGE, type_name=".example.Log.LabelsEntry", label=3)
    log.field.add(name="causes", number=9, type=TYPES.TYPE_MESSAGE, type_name=".example.Log", label=3)
    log.nested_type.add(name="Empty")
    log.nested_type.add(name="Inner").field.add(name="message", number=1, type=TYPES.TYPE_STRING, label=1)
    pool = descriptor_pool.DescriptorPool()
    for module in (timestamp_pb2, struct_pb2, wrappers_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    pool.Add(common)
    pool.Add(file)
    names = ("example.Log", "example.Log.Inner", "example.Host")
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}


CLASSES = described()


def a_log() -> Any:  # noqa: ANN401 - classes made at run time
    log = CLASSES["example.Log"](message="sent", severity=2, bytes_sent=1 << 40)
    log.timestamp.FromMilliseconds(LOGGED_MS)
    log.host.name = "web-1"
    log.more.update({"retry": True, "list": [1, 2]})
    log.retries.value = 3
    log.labels["a"].name = "x"
    return log


def _registered() -> Registered:
    registered = Registered()
    registered.avro(LOG, VALUE)
    registered.protobuf(a_log())
    return registered


REGISTERED = _registered()
ANY = decoder(REGISTERED.schemas())
JSON = Decoder(DecodeRules(format="json"))
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=30)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
