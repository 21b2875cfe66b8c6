"""OTLP as Protocol Buffers: how it is written; what it says is in golden/cases/otlp.jsonl, written as JSON."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from consumers.decode.rules import DecodeRules
from consumers.rejection import Rejection
from tests.consumers.decode.otlp_messages import log_record, logs_data
from tests.consumers.decode.seen import Seen, decode_values, seen

CASES = Path(__file__).parents[2] / "golden" / "cases" / "otlp.jsonl"
OTLP = DecodeRules(format="otlp_proto")
TRACE_ID = bytes(range(16))
NOT_OTLP = Rejection("decode", "undecodable", "undecodable: not OTLP logs")


def rejection(value: bytes, rules: DecodeRules = OTLP) -> Rejection:
    ((_, reason),) = decode_values([value], rules).rejected
    return reason


def as_protobuf(document: dict[str, Any]) -> bytes:
    """Return OTLP's JSON as Protocol Buffers."""
    for record in (one for group in document["resourceLogs"] for logs in group["scopeLogs"] for one in logs["logRecords"]):
        record.update({name: b64encode(bytes.fromhex(record[name])).decode() for name in ("traceId", "spanId") if name in record})
    return bytes(ParseDict(document, LogsData(), ignore_unknown_fields=True).SerializeToString())


def test_what_is_written_as_json_says_the_same_as_protobuf_also_where_it_comes_again() -> None:
    for case in map(json.loads, CASES.read_text(encoding="utf-8").splitlines()):
        value = as_protobuf(json.loads(case["value"]))
        names = ("text", "time_ms", "service", "level", "fields", "trace", "template")
        wanted = [Seen(0, sub, *map(one.get, names)) for sub, one in enumerate(case["expected"])]
        found = seen(decode_values([value] * 3, OTLP).entries)
        assert found == [one._replace(row=row) for row in range(3) for one in wanted], case["name"]


def test_a_record_with_nothing_is_no_entry_but_counts() -> None:
    value = logs_data([log_record("a"), log_record(), log_record("c")]).SerializeToString()
    assert [(entry.sub, entry.text) for entry in seen(decode_values([value], OTLP).entries)] == [(0, "a"), (2, "c")]
    decoded = decode_values([logs_data([log_record()]).SerializeToString(), b"\x0a\x00"], OTLP)
    assert (decoded.empty.tolist(), decoded.rejected) == ([0, 1], [])


def test_all_batches_of_a_value_are_numbered_on() -> None:
    data = LogsData()
    for service in ("a", "b"):
        data.MergeFrom(logs_data([log_record("1"), log_record("2")], resource={"service.name": service}))
    found = seen(decode_values([data.SerializeToString()] * 2, OTLP).entries)
    assert [(entry.row, entry.sub, entry.service) for entry in found] == [
        (row, sub, service) for row in (0, 1) for sub, service in enumerate("aabb")
    ]


def test_a_value_whose_last_record_is_bad_has_no_entries() -> None:
    for bad in (field(5, b"\x0a\x05x"), field(5, field(1, b"x")) + field(6, b"\x0a\x09")):
        assert rejection(logs_data([log_record("good")]).SerializeToString() + with_record(bad)) == NOT_OTLP


def test_spans_are_not_logs() -> None:
    assert rejection(with_record(field(1, TRACE_ID) + field(5, b"GET /cart"))) == NOT_OTLP


def field(number: int, content: bytes) -> bytes:
    size = len(content)
    return bytes([number << 3 | 2, *([size] if size < 0x80 else [size & 0x7F | 0x80, size >> 7])]) + content


def nested(levels: int) -> bytes:
    """Return a value of arrays in arrays, two messages each, with a text inside."""
    value = field(1, b"deep")
    for _ in range(levels):
        value = field(5, field(1, value))
    return value


def with_record(record: bytes) -> bytes:
    return field(1, field(2, field(2, record)))


def test_values_nested_beyond_the_librarys_limit_are_rejected() -> None:
    (entry,) = seen(decode_values([with_record(field(5, nested(40)))], OTLP).entries)
    assert entry.text == "[" * 40 + '"deep"' + "]" * 40
    for record in (field(5, nested(60)), field(5, field(1, b"x")) + field(6, field(1, b"a") + field(2, nested(60)))):
        assert rejection(with_record(record)) == NOT_OTLP


def test_bytes_that_are_not_utf8_are_replaced_or_in_strict_mode_rejected() -> None:
    good = logs_data([log_record("text!", {"key": "value"})], resource={"service.name": "shop"}).SerializeToString()
    for text, fields in ((b"text!", {"key": "value"}), (b"value", {"key": "\ufffdalue"}), (b"shop", {"key": "value"})):
        value = good.replace(text, b"\xff" + text[1:])
        (entry,) = seen(decode_values([value], OTLP).entries)
        assert entry.fields == fields
        assert rejection(value, DecodeRules(format="otlp_proto", strict=True)) == NOT_OTLP
