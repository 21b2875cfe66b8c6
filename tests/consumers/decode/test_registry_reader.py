"""Values of a Schema Registry, written by Confluent's own serialisers, and what is none of their schemas."""

import base64
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from fastavro import parse_schema, schemaless_writer
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.decoder import Decoder
from consumers.decode.registry_reader import new_schema
from consumers.decode.registry_schemas import NotOfSchema, Schemas, Unknown, Unusable
from consumers.decode.rules import DecodeRules
from consumers.schema import FetchedSchema
from tests.consumers.decode.registered import Registered
from tests.consumers.decode.registry_values import (
    ANY,
    JSON,
    LOG,
    LOGGED_MS,
    PLAIN,
    REGISTERED,
    TEXTS,
    TIME_MS,
    VALUE,
    Line,
    a_log,
    decoder,
    expected,
    lines,
    reasons,
    record,
)


def test_avro_whose_schema_is_in_a_header_is_read_alike() -> None:
    registered = Registered()
    value, headers = registered.avro_in_header(LOG, VALUE)
    assert value[:1] != b"\0"
    assert lines(decoder(registered.schemas()), value, headers=[headers]) == [expected()]
    assert lines(decoder(registered.schemas(), "auto"), value, headers=[headers]) == [expected()]


def test_avro_that_refers_to_another_schema_is_read_by_both() -> None:
    registered = Registered()
    registered.client.register_schema("host", Schema(record(("name", "string"), name="Host"), "AVRO"))
    schema = record(("message", "string"), ("host", "Host"))
    value = registered.avro(schema, {"message": "up", "host": {"name": "web-1"}}, named=[SchemaReference("Host", "host", 1)])
    assert lines(decoder(registered.schemas()), value) == [Line("up", service="web-1", fields={"host.name": "web-1"})]


def test_values_of_avro_that_json_has_no_type_for_are_kept_as_text() -> None:
    registered = Registered()
    schema = record(
        ("message", "string"),
        ("price", {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}),
        ("day", {"type": "int", "logicalType": "date"}),
        ("id", {"type": "string", "logicalType": "uuid"}),
        ("raw", "bytes"),
        ("other", {"type": "fixed", "name": "Two", "size": 2}),
        ("took", {"type": "int", "logicalType": "time-millis"}),
        ("none", "null"),
    )
    value = {
        "message": "sold", "price": Decimal("12.50"), "day": datetime(2026, 11, 23, tzinfo=UTC).date(),
        "id": "8b2a9c5e-0d3f-4b60-9a77-2f4c53a1e9d0", "raw": b"abc", "other": b"\xff\xfe", "took": 1500, "none": None,
    }  # fmt: skip
    encoded = written(registered, schema, value)
    (line,) = lines(decoder(registered.schemas()), encoded)
    assert line.fields == {
        "price": "12.50", "day": "2026-11-23", "id": value["id"], "raw": "abc", "took": 1500,
        "other": base64.b64encode(b"\xff\xfe").decode(),
    }  # fmt: skip


def written(registered: Registered, schema: str, value: object) -> bytes:
    """Return an Avro value as a serialiser without Confluent's conversions writes it: fastavro alone takes a time as a number."""
    key = registered.client.register_schema("logs-value", Schema(schema, "AVRO"))
    stream = io.BytesIO()
    parsed = json.loads(schema)
    for field in parsed["fields"]:
        if isinstance(field["type"], dict) and field["type"].get("logicalType") == "time-millis":
            field["type"] = "int"
    schemaless_writer(stream, parse_schema(parsed), value)
    return b"\0" + key.to_bytes(4, "big") + stream.getvalue()


def test_a_value_that_is_one_string_is_its_text() -> None:
    registered = Registered()
    avro, text = registered.avro('"string"', 'one {"a":1}'), registered.json('{"title":"t","type":"string"}', "hello")
    assert lines(decoder(registered.schemas()), avro, text) == [Line('one {"a":1}'), Line("hello")]


def test_an_empty_string_and_null_are_empty() -> None:
    registered = Registered()
    values = [registered.avro('"string"', ""), registered.avro('["null","string"]', None)]
    found = decoder(registered.schemas()).decode(values, np.zeros(2, np.int64))
    assert (found.empty.tolist(), found.rejected, found.entries.size) == ([0, 1], [], 0)


def test_what_is_not_of_its_schema_is_rejected_and_its_neighbours_are_read() -> None:
    registered = Registered()
    good, proto = registered.avro(LOG, VALUE), registered.protobuf(a_log())
    schemas = registered.schemas()
    values = [good, good[:-3], good + b"x", good[:5], b"plain", proto, proto[:7] + b"\xff", proto[:5] + b"\x7e\x00", good]
    found = decoder(schemas).decode(values, np.full(len(values), TIME_MS))
    assert found.entries.row.tolist() == [0, 5, 8]
    assert {row: rejection.kind for row, rejection in found.rejected} == dict.fromkeys([1, 2, 3, 4, 6, 7], "undecodable")
    assert all("disk" not in rejection.reason for _, rejection in found.rejected)


def test_a_schema_that_the_registry_does_not_have_is_a_kind_of_its_own() -> None:
    schemas = Schemas()
    schemas.add_schema(7, Unknown(0.0))
    found = decoder(schemas).decode([b"\0\0\0\0\x07x", b"\0\0\0\0\x08x"], np.zeros(2, np.int64))
    assert [(row, rejection.kind) for row, rejection in found.rejected] == [(0, "unknown_schema"), (1, "unknown_schema")]
    assert found.rejected[0][1].reason == "unknown_schema: schema 7: the registry does not have it"


def test_a_schema_that_cannot_be_used_says_why() -> None:
    text = {"PROTOBUF": 'syntax = "proto3";', "AVRO": "{", "THRIFT": "x"}
    schemas = Schemas()
    for number, kind in enumerate(text):
        schemas.add_schema(number, new_schema(FetchedSchema(kind, text[kind])))
    protobuf, avro, thrift = reasons(decoder(schemas), *(b"\0" + number.to_bytes(4, "big") + b"x" for number in range(3)))
    assert "ignores format=serialized" in protobuf
    assert "cannot be read" in avro
    assert "neither Avro nor Protobuf nor JSON Schema" in thrift


def test_strings_that_are_not_utf8_are_mended_and_counted_or_rejected() -> None:
    registered = Registered()
    value = registered.avro(record(("message", "string")), {"message": "ab"})[:-2] + b"\xff\xfe"
    tally = DecodeTally()
    reader = Decoder(DecodeRules(format="registry"), tally=tally, schemas=registered.schemas())
    assert [line.text for line in lines(reader, value)] == ["��"]
    assert tally.replaced_records == 1
    assert "not valid UTF-8" in reasons(decoder(registered.schemas(), strict=True), value)[0]


def test_under_auto_byte_0_means_a_schema_only_where_there_is_a_registry() -> None:
    registered = Registered()
    value = registered.avro(LOG, VALUE)
    assert lines(decoder(registered.schemas(), "auto"), value, b"plain", b'{"message":"json"}') == [expected(), Line("plain"), Line("json")]
    assert lines(decoder(None, "auto"), b"\0\0\0\0\x01x")[0].text == b"\0\0\0\0\x01x".decode()


RECURSIVE = json.dumps({"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]})
NULLS = json.dumps({"type": "array", "items": "null"})
EMPTIES = json.dumps({"type": "map", "values": json.loads(record(*((f"f{n}", "null") for n in range(100))))})


@pytest.mark.parametrize(
    ("schema", "reason"),
    [(RECURSIVE, "recursive"), (NULLS, "an array of what takes no space"), (EMPTIES, "a map of what takes no space")],
)
def test_an_avro_schema_that_would_make_much_of_few_bytes_is_not_used(schema: str, reason: str) -> None:
    found = new_schema(FetchedSchema("AVRO", schema))
    assert isinstance(found, Unusable)
    assert reason in found.reason


def test_an_avro_schema_that_doubles_at_each_level_is_not_used() -> None:
    inner: Any = "null"
    for depth in range(20):
        inner = {
            "type": "record",
            "name": f"R{depth}",
            "fields": [{"name": "a", "type": inner}, {"name": "b", "type": f"R{depth - 1}" if depth else "null"}],
        }
    found = new_schema(FetchedSchema("AVRO", json.dumps(inner)))
    assert isinstance(found, Unusable)
    assert "more than 10000 fields" in found.reason


def test_a_value_that_may_hold_far_more_values_than_bytes_is_rejected_before_it_is_read() -> None:
    nulls = json.loads(record(*((f"n{n}", "null") for n in range(12)), ("b", "boolean")))
    schemas = Schemas()
    schemas.add_schema(1, new_schema(FetchedSchema("AVRO", json.dumps({"type": "array", "items": nulls}))))
    few, many = (b"\0\0\0\0\1" + bytes((2 * n,)) + b"\1" * n + b"\0" for n in (10, 60))
    reader = decoder(schemas, max_record_bytes=400)
    assert lines(reader, few)
    assert reasons(reader, many) == ["too_large: 62 bytes of Avro may hold more than 800 values (schema 1)"]


@pytest.mark.parametrize(
    "item",
    [
        ["null", json.loads(record(*((f"f{n}", "string") for n in range(40))))],
        json.loads(record(*((f"f{n}", ["null", "string"]) for n in range(40)))),
        json.loads(record(("labels", {"type": "map", "values": ["null", "string"]}), ("at", "long"))),
        json.loads(
            record(("a", {"type": "record", "name": "Inner", "fields": [{"name": "b", "type": "int"}, {"name": "c", "type": "int"}]}))
        ),
    ],
    ids=["records-or-null", "all-may-be-null", "maps", "nested"],
)
def test_arrays_of_usual_records_are_read_up_to_the_size_limit(item: object) -> None:
    schema = new_schema(FetchedSchema("AVRO", json.dumps({"type": "array", "items": item})))
    assert not isinstance(schema, Unknown | Unusable)
    size = 1_000
    with pytest.raises(NotOfSchema):
        schema.read(b"\xff" * size, None, strict=True, most_values=2 * size)


def test_a_value_that_is_large_only_as_json_is_rejected() -> None:
    registered = Registered()
    schema = json.dumps({"type": "array", "items": json.loads(record(("x" * 200, "boolean")))})
    value = registered.avro(schema, [{"x" * 200: True}] * 100)
    assert len(value) < 200
    assert reasons(decoder(registered.schemas(), max_record_bytes=1024), value)[0].startswith("too_large")


@settings(max_examples=50, deadline=None)
@given(PLAIN, st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_avro_and_json_of_the_same_values_give_the_same_entries(text: str, labels: dict[str, str]) -> None:
    value = {**VALUE, "message": text, "labels": labels}
    avro = REGISTERED.avro(LOG, value)
    as_json = json.dumps({**value, "timestamp": LOGGED_MS}).encode()
    assert lines(ANY, avro) == lines(JSON, as_json)
