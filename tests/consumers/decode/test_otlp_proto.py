"""OTLP as Protocol Buffers: each record an entry, with what its resource, its scope and itself say."""

from typing import Any

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from consumers.decode.rules import DecodeRules
from consumers.rejection import Rejection
from tests.consumers.decode.otlp_messages import log_record, logs_data
from tests.consumers.decode.seen import KAFKA_MS, Seen, decode_values, seen

OTLP = DecodeRules(format="otlp_proto")
TRACE_ID, SPAN_ID = bytes(range(16)), bytes(range(8))
NOT_OTLP = Rejection("decode", "undecodable", "undecodable: not OTLP logs")


def entries(*records: LogRecord, rules: DecodeRules = OTLP, **origin: Any) -> list[Seen]:  # noqa: ANN401
    """Return the entries of a value; they are the same when it comes again, and what is remembered of it is used."""
    decoded = decode_values([logs_data(records, **origin).SerializeToString()] * 3, rules)
    assert not decoded.rejected
    first, *others = ([entry._replace(row=0) for entry in seen(decoded.entries) if entry.row == row] for row in range(3))
    assert others == [first] * 2
    return first


def one(*args: Any, rules: DecodeRules = OTLP, origin: dict[str, Any] | None = None, **others: Any) -> Seen:  # noqa: ANN401
    (entry,) = entries(log_record(*args, **others), rules=rules, **(origin or {}))
    return entry


def rejection(value: bytes, rules: DecodeRules = OTLP) -> Rejection:
    ((_, reason),) = decode_values([value], rules).rejected
    return reason


def test_a_record_has_text_time_level_service_and_fields_of_itself_its_scope_and_its_resource() -> None:
    entry = one(
        "GET /cart took 12 ms",
        {"http.response.status_code": 200, "url.path": "/cart", "retry": False, "duration": 12.5},
        time_unix_nano=1_700_000_001_123_999_999,
        observed_time_unix_nano=1,
        severity_number=9,
        severity_text="INFO",
        trace_id=TRACE_ID,
        span_id=SPAN_ID,
        origin={
            "resource": {"service.name": "cart", "k8s.pod.name": "cart-7", "host.name": "node-1", "os.type": "linux"},
            "scope": {"scope.kind": "manual"},
            "logger": "shop.Cart",
        },
    )
    assert entry == Seen(
        row=0,
        sub=0,
        text="GET /cart took 12 ms",
        time_ms=1_700_000_001_123,
        service="cart",
        level="INFO",
        fields={
            "trace_id": TRACE_ID.hex(),
            "span_id": SPAN_ID.hex(),
            "host.name": "node-1",
            "k8s.pod.name": "cart-7",
            "logger": "shop.Cart",
            "http.response.status_code": 200,
            "duration": 12.5,
            "retry": False,
            "os.type": "linux",
            "scope.kind": "manual",
            "url.path": "/cart",
        },
        trace=None,
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a line\n", "a line"),
        ("é" * 100, "é" * 100),
        ("x" * 127, "x" * 127),
        ("x" * 128, "x" * 128),
        ("x" * 20_000, "x" * 20_000),
        (b"bytes \xff", "bytes \ufffd"),
        ({"message": "inside", "n": 1}, "inside"),
        ({"msg": "inside"}, "inside"),
        ({"message": "", "msg": "second"}, "second"),
        ({"log": {"deep": 1}}, '{"log":{"deep":1}}'),
        (["a", 1, None, b"\x01"], '["a",1,null,"AQ=="]'),
        (-5, "-5"),
        (True, "true"),
        (1.5, "1.5"),
    ],
)
def test_a_body_of_any_type_has_a_text(body: Any, text: str) -> None:  # noqa: ANN401
    assert one(body).text == text


def test_members_of_a_body_are_fields_unless_the_whole_body_is_the_text() -> None:
    assert one({"message": "m", "user": {"id": 7}, "host": "h"}).fields == {"host.name": "h", "user.id": 7}
    assert one({"user": {"id": 7}}).fields == {}


def test_a_record_without_a_body_is_its_event_and_exception_or_else_its_attributes() -> None:
    attributes = {"exception.type": "E", "exception.message": "boom", "at": "x"}
    assert one(None, attributes, event_name="failed").text == "failed: boom"
    assert one(None, attributes).text == "boom"
    assert one("", attributes, event_name="failed").text == "failed: boom"
    assert one(None, {"n": 1}, event_name="failed")[2::4] == ("failed", {"n": 1})
    assert one(None, {"n": 1, "b": "c"}, origin={"resource": {"host.name": "h"}})[2::4] == ('{"b":"c","n":1}', {"host.name": "h"})
    assert one("body", event_name="named").fields == {"event.name": "named"}


def test_a_record_with_nothing_is_no_entry_but_counts() -> None:
    assert [(entry.sub, entry.text) for entry in entries(log_record("a"), log_record(), log_record("c"))] == [(0, "a"), (2, "c")]
    decoded = decode_values([logs_data([log_record()]).SerializeToString(), b"\x0a\x00"], OTLP)
    assert (decoded.empty.tolist(), decoded.rejected) == ([0, 1], [])


def test_a_stack_trace_follows_the_text_and_is_no_field() -> None:
    attributes = {"exception.type": "E", "exception.message": "boom", "exception.stacktrace": "E: boom\n  at f"}
    entry = one("it failed", attributes)
    assert (entry.trace, entry.fields) == ("\nE: boom\n  at f", {"exception.type": "E", "exception.message": "boom"})
    assert one("it failed: E: boom\n  at f", attributes).trace is None
    assert one(None, {"exception.stacktrace": "E: boom\n  at f"})[2:8:5] == ("E: boom\n  at f", None)


@pytest.mark.parametrize(
    ("written", "number", "level", "original"),
    [
        ("", 0, "", None),
        ("", 17, "ERROR", None),
        ("", -1, "", None),
        ("error", 9, "ERROR", None),
        ("Warning", 13, "WARN", "Warning"),
        ("Audit", 9, "INFO", "Audit"),
        ("Audit", 0, "", "Audit"),
    ],
)
def test_a_level_is_what_the_text_names_else_the_number(written: str, number: int, level: str, original: str | None) -> None:
    entry = one("x", severity_text=written, severity_number=number)
    assert (entry.level, entry.fields.get("level.original")) == (level, original)


@pytest.mark.parametrize(
    ("logged", "observed", "time_ms"),
    [(1_700_000_000_500_000_000, 7, 1_700_000_000_500), (0, 1_600_000_000_000_000_000, 1_600_000_000_000), (0, 0, KAFKA_MS)],
)
def test_the_time_is_when_it_was_logged_else_observed_else_kafkas(logged: int, observed: int, time_ms: int) -> None:
    assert one("x", time_unix_nano=logged, observed_time_unix_nano=observed).time_ms == time_ms


def test_ids_of_zeros_or_of_odd_lengths_are_what_they_are() -> None:
    assert one("x", trace_id=bytes(16), span_id=bytes(8)).fields == {}
    assert one("x", trace_id=b"\x01\x02").fields == {"trace_id": "0102"}
    assert one("x", trace_id=b"\x01" * 129).fields == {}


def test_what_is_nearest_to_a_record_counts() -> None:
    origin = {"resource": {"a": "resource", "b": "resource", "c": "resource"}, "scope": {"a": "scope", "b": "scope"}}
    assert one("x", [("a", "record"), ("a", "again")], origin=origin).fields == {"a": "record", "b": "scope", "c": "resource"}


def test_a_record_may_name_the_service_that_its_resource_does_not() -> None:
    assert one("x", {"service.name": "own"})[4:7:2] == ("own", {})
    assert one("x", {"service.name": "own"}, origin={"resource": {"service.name": "all"}}).service == "all"


def test_all_batches_of_a_value_are_numbered_on() -> None:
    data = LogsData()
    for service in ("a", "b"):
        data.MergeFrom(logs_data([log_record("1"), log_record("2")], resource={"service.name": service}))
    found = seen(decode_values([data.SerializeToString()] * 2, OTLP).entries)
    assert [(entry.row, entry.sub, entry.service) for entry in found] == [
        (row, sub, service) for row in (0, 1) for sub, service in enumerate("aabb")
    ]


def test_long_and_many_fields_are_bounded() -> None:
    assert one("x", {"fits": "y" * 256, "long": "y" * 257}).fields == {"fits": "y" * 256}
    assert len(one("x", {f"n{i:03}": i for i in range(100)}).fields) == 16
    assert list(one("x", {f"n{i:02}": "é" * 250 for i in range(16)}).fields) == [f"n{i:02}" for i in range(8)]


def test_fields_that_nearly_reach_the_bound_are_all_kept() -> None:
    resource = {f"name-{i:05}": "x" * 256 for i in range(15)}
    assert one("x", {"z": 1}, origin={"resource": resource}).fields == {**resource, "z": 1}


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
