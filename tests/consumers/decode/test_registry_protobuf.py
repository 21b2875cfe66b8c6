"""Protobuf values of a Schema Registry, written by Confluent's own serialiser."""

import base64
import json

from google.protobuf import descriptor_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import Schemas
from consumers.schema import FetchedSchema
from tests.consumers.decode.registered import Registered
from tests.consumers.decode.registry_values import (
    ANY,
    CLASSES,
    JSON,
    PLAIN,
    REGISTERED,
    TEXTS,
    TYPES,
    Line,
    decoder,
    lines,
)


def test_a_nested_message_is_found_by_its_indexes() -> None:
    registered = Registered()
    value = registered.protobuf(CLASSES["example.Log.Inner"](message="inner"))
    assert [line.text for line in lines(decoder(registered.schemas()), value)] == ["inner"]


def test_protobuf_that_imports_a_file_of_options_only_is_read_without_it() -> None:
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", syntax="proto3", dependency=["confluent/meta.proto"])
    file.message_type.add(name="Log").field.add(name="message", number=1, type=TYPES.TYPE_STRING, label=1)
    schemas = Schemas()
    schemas.add_schema(7, new_schema(FetchedSchema("PROTOBUF", base64.b64encode(file.SerializeToString()).decode())))
    assert [line.text for line in lines(decoder(schemas), b"\0\0\0\0\x07\0\x0a\x02hi")] == ["hi"]


def test_a_descriptor_whose_fields_name_a_type_without_its_kind_is_read() -> None:
    """Redpanda's do."""
    file = descriptor_pb2.FileDescriptorProto(name="x.proto", package="p", syntax="proto3")
    file.enum_type.add(name="Level").value.add(name="NONE", number=0)
    file.enum_type[0].value.add(name="ERROR", number=1)
    log = file.message_type.add(name="Log")
    log.field.add(name="message", number=1, type=TYPES.TYPE_STRING, label=1)
    log.field.add(name="level", number=2, type_name=".p.Level", label=1)
    log.field.add(name="pod", number=3, type_name=".p.Pod", label=1)
    file.message_type.add(name="Pod").field.add(name="x", number=1, type=TYPES.TYPE_STRING, label=1)
    schemas = Schemas()
    schemas.add_schema(7, new_schema(FetchedSchema("PROTOBUF", base64.b64encode(file.SerializeToString()).decode())))
    (line,) = lines(decoder(schemas), b"\0\0\0\0\x07\0\x0a\x02hi\x10\x01\x1a\x03\x0a\x01y")
    assert line == Line("hi", "ERROR", fields={"pod.x": "y"})


@settings(max_examples=50, deadline=None)
@given(PLAIN, st.integers(0, 4), st.integers(1, 2**63 - 1), st.dictionaries(TEXTS, PLAIN, max_size=3), st.integers(1, 4_000_000_000_000))
def test_protobuf_and_json_of_the_same_values_give_the_same_entries(
    text: str, severity: int, sent: int, labels: dict[str, str], logged_ms: int
) -> None:
    log = CLASSES["example.Log"](message=text, severity=severity, bytes_sent=sent)
    log.timestamp.FromMilliseconds(logged_ms)
    for label, name in labels.items():
        log.labels[label].name = name
    as_json = {
        "message": text,
        "bytes_sent": sent,
        "timestamp": log.timestamp.ToJsonString(),
        "labels": {label: {"name": name} for label, name in labels.items()},
        **({"severity": {1: "INFO", 2: "ERROR"}.get(severity, severity)} if severity else {}),
    }
    assert lines(ANY, REGISTERED.protobuf(log)) == lines(JSON, json.dumps(as_json).encode())
