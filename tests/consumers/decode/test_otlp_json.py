"""OTLP as JSON: the same entries as in its other form, whatever way the JSON is written."""

import json
from typing import Any

import pytest

from consumers.decode.rules import DecodeRules
from tests.consumers.decode.otlp_messages import log_record, logs_data, otlp_json
from tests.consumers.decode.seen import Seen, decode_values, seen
from tests.rows import rows

OTLP = DecodeRules(format="otlp_json")
BATCH = logs_data(
    [
        log_record(
            "a line",
            {"n": -(2**63), "d": 1.5, "b": b"\x00\xff", "t": True, "in": {"side": "x"}, "list": [1]},
            time_unix_nano=1_700_000_001_123_000_000,
            severity_number=13,
            severity_text="Warning",
            trace_id=bytes(range(16)),
            span_id=bytes(range(8)),
        ),
        log_record({"message": "in a map", "k": "v"}, observed_time_unix_nano=1_600_000_000_000_000_000),
        log_record(b"bytes", {"exception.stacktrace": "at f"}),
        log_record(None, {"exception.message": "boom"}, event_name="failed"),
        log_record(),
    ],
    resource={"service.name": "cart", "host.name": "node-1"},
    scope={"kind": "manual"},
    logger="shop.Cart",
)


def entries(*documents: object) -> list[Seen]:
    decoded = decode_values([json.dumps(document).encode() for document in documents], OTLP)
    assert not decoded.rejected
    return seen(decoded.entries)


def with_record(**record: object) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}


def reason(value: bytes, rules: DecodeRules = OTLP) -> str:
    ((_, rejection),) = decode_values([value], rules).rejected
    return rejection.reason


@pytest.mark.parametrize("snake_case", [False, True])
def test_it_has_the_entries_of_the_other_form(snake_case: bool) -> None:  # noqa: FBT001 - pytest passes by name
    proto = seen(decode_values([BATCH.SerializeToString()], DecodeRules(format="otlp_proto")).entries)
    assert len(proto) == 4
    assert entries(otlp_json(BATCH, snake_case=snake_case)) == proto


def test_several_batches_are_an_array_or_stand_on_lines_of_their_own() -> None:
    batch = otlp_json(BATCH)
    lines = b"\n".join([json.dumps(batch).encode(), b"", json.dumps(batch).encode() + b"\r\n"])
    assert [entry.sub for entry in entries([batch, batch])] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert seen(decode_values([lines], OTLP).entries) == entries([batch, batch])


def test_nulls_are_as_if_they_were_not_there() -> None:
    record = dict.fromkeys(("timeUnixNano", "severityNumber", "severityText", "traceId", "spanId", "attributes", "eventName"))
    (entry,) = entries(with_record(body={"stringValue": "x", "intValue": None}, **record))
    assert (entry.text, entry.fields) == ("x", {})
    assert entries({"resourceLogs": None}, {"resourceLogs": [{"resource": None, "scopeLogs": None}]}) == []


@pytest.mark.parametrize(("written", "kept"), rows("otlp/trace_ids"))
def test_an_id_is_hexadecimal_or_the_base64_that_some_producers_write(written: str, kept: str | None) -> None:
    (entry,) = entries(with_record(body={"stringValue": "x"}, traceId=written))
    assert entry.fields.get("trace_id") == kept


@pytest.mark.parametrize(("levels", "is_read"), [(99, True), (100, False), (5_000, False)])
def test_values_nested_too_deeply_are_rejected(levels: int, is_read: bool) -> None:  # noqa: FBT001 - pytest passes by name
    value = '{"arrayValue":{"values":[' * levels + '{"stringValue":"deep"}' + "]}}" * levels
    record = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":' + value + "}]}]}]}"
    assert (not decode_values([record.encode()], OTLP).rejected) == is_read
