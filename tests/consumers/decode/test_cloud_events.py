"""CloudEvents: what an event carries is the entry, and its attributes are fields."""

import json
from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.rules import DecodeRules
from consumers.record import Header
from tests.consumers.decode.seen import KAFKA_MS, Seen, decode_values, seen

EVENTS = DecodeRules(format="cloudevents")
ATTRIBUTES = {"specversion": "1.0", "id": "e-7", "source": "/cart", "type": "cart.failed", "time": "2023-11-14T22:13:19.500Z"}
FIELDS = {"cloudevents.event_id": "e-7", "cloudevents.event_source": "/cart", "cloudevents.event_type": "cart.failed"}
TIME_MS = KAFKA_MS - 500
BATCH: Header = ("content-type", b"application/cloudevents-batch+json; charset=UTF-8")
STRUCTURED: Header = ("content-type", b"application/cloudevents+json")


def binary(**others: str) -> tuple[Header, ...]:
    """Return the headers of an event; `content_type` stands for `content-type`."""
    content_type = others.pop("content_type", None)
    headers = [(f"ce_{name}", text.encode()) for name, text in {**ATTRIBUTES, **others}.items()]
    return (*headers, *([] if content_type is None else [("content-type", content_type.encode())]))


def entries(value: bytes, headers: tuple[Header, ...] = (), rules: DecodeRules = EVENTS) -> list[Seen]:
    decoded = decode_values([value], rules, [headers])
    assert not decoded.rejected
    return seen(decoded.entries)


def structured(**others: Any) -> bytes:  # noqa: ANN401
    return json.dumps({**ATTRIBUTES, **others}).encode()


@pytest.mark.parametrize("rules", [EVENTS, DecodeRules()])
def test_a_binary_event_has_its_attributes_in_headers(rules: DecodeRules) -> None:
    value = b'{"message":"it failed","level":"error","host":"h"}'
    (entry,) = entries(value, binary(content_type="application/json", subject="item/3"), rules)
    fields = {**FIELDS, "cloudevents.event_subject": "item/3", "host.name": "h"}
    assert entry == Seen(0, 0, "it failed", TIME_MS, "", "ERROR", fields, None)


@pytest.mark.parametrize("rules", [EVENTS, DecodeRules(), DecodeRules(format="json")])
@pytest.mark.parametrize("headers", [(), (STRUCTURED,)])
def test_a_structured_event_is_one_object(headers: tuple[Header, ...], rules: DecodeRules) -> None:
    (entry,) = entries(structured(data={"message": "it failed", "level": "error", "host": "h"}), headers, rules)
    assert entry == Seen(0, 0, "it failed", TIME_MS, "", "ERROR", {**FIELDS, "host.name": "h"}, None)


def test_a_batch_is_an_array_of_events_which_may_hold_several_entries_each() -> None:
    batch = [{**ATTRIBUTES, "data": data} for data in ("text", [{"msg": "a"}, {"msg": "b"}], {"msg": "c"})]
    for headers in ((), (BATCH,)):
        found = entries(json.dumps(batch).encode(), headers)
        assert [(entry.sub, entry.text) for entry in found] == list(enumerate(["text", "a", "b", "c"]))
        assert all((entry.time_ms, entry.fields) == (TIME_MS, FIELDS) for entry in found)
    assert entries(b"[]", (BATCH,)) == []


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"data": "a line\n"}, "a line"),
        ({"data": '{"msg":"within"}'}, "within"),
        ({"data": "{not JSON", "datacontenttype": "text/plain"}, "{not JSON"),
        ({"data": 5}, "5"),
        ({"data_base64": b64encode(b'{"msg":"coded"}').decode()}, "coded"),
        ({"data_base64": b64encode(b"a line").decode(), "datacontenttype": "text/plain"}, "a line"),
        ({"data_base64": b64encode(b"not \xff").decode()}, "not \ufffd"),
        ({}, "cart.failed"),
        ({"data": None, "subject": "item/3"}, "cart.failed: item/3"),
        ({"data": ""}, "cart.failed"),
    ],
)
def test_data_of_any_type_has_a_text(data: dict[str, Any], text: str) -> None:
    (entry,) = entries(structured(**data))
    assert entry.text == text


@pytest.mark.parametrize(
    ("content_type", "value", "text"),
    [
        ("application/json", b'{"msg":"m"}', "m"),
        ("application/vnd.cart+json; charset=utf-8", b'{"msg":"m"}', "m"),
        ("text/plain", b'{"msg":"m"}', '{"msg":"m"}'),
        (None, b'{"msg":"m"}', "m"),
        (None, b"a line", "a line"),
        ("application/json", b'"a JSON text"', '"a JSON text"'),
    ],
)
def test_the_content_type_says_what_binary_data_is(content_type: str | None, value: bytes, text: str) -> None:
    (entry,) = entries(value, binary() if content_type is None else binary(content_type=content_type))
    assert (entry.text, entry.fields) == (text, FIELDS)


def test_what_the_data_says_comes_before_what_the_event_says() -> None:
    parent = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
    data = {"msg": "m", "time": "2023-11-14T22:13:18Z", "trace_id": "own", "cloudevents.event_id": "other"}
    (entry,) = entries(structured(data=data, traceparent=parent))
    assert (entry.time_ms, entry.fields["trace_id"], entry.fields["cloudevents.event_id"]) == (KAFKA_MS - 2_000, "own", "other")
    (entry,) = entries(structured(data="m", traceparent=parent))
    assert (entry.fields["trace_id"], entry.fields["span_id"]) == ("ab" * 16, "cd" * 8)


def test_attributes_that_are_too_long_are_left_out() -> None:
    (entry,) = entries(structured(data={"msg": "m"}, source="s" * 257, subject="\u00e9" * 256))
    assert entry.fields.keys() == {"cloudevents.event_id", "cloudevents.event_type", "cloudevents.event_subject"}
    (entry,) = entries(structured(data={"msg": "m", **{f"n{i:02}": "x" * 250 for i in range(16)}}, subject="s" * 200))
    assert {*FIELDS, "n14"} <= entry.fields.keys()
    assert not {"cloudevents.event_subject", "n15"} & entry.fields.keys()
    assert len(json.dumps(entry.fields, separators=(",", ":"))) <= 4_096


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (b"a line", ()),
        (b"{}", ()),
        (b"[1]", (BATCH,)),
        (structured(id=5), ()),
        (structured(data_base64="%"), ()),
        (structured(data_base64=5), ()),
        (b"{", (STRUCTURED,)),
        (b"\x00", (("content-type", b"application/cloudevents+avro"),)),
        (b"{bad", binary(content_type="application/json")),
        (b'{"a":' * 300 + b"1" + b"}" * 300, binary(content_type="application/json")),
        (structured(data=json.loads('{"a":' * 300 + "1" + "}" * 300)), ()),
    ],
)
def test_what_is_no_event_is_rejected_and_its_neighbours_are_not(value: bytes, headers: tuple[Header, ...]) -> None:
    for rules in (EVENTS, DecodeRules()) if headers else (EVENTS,):
        decoded = decode_values([b"first", value, b"last"], rules, [binary(), headers, binary()])
        ((row, rejection),) = decoded.rejected
        assert (row, rejection.kind) == (1, "undecodable")
        assert [(entry.row, entry.text) for entry in seen(decoded.entries)] == [(0, "first"), (2, "last")]


def test_one_bad_event_of_a_batch_rejects_all_of_its_value() -> None:
    batch = [{**ATTRIBUTES, "data": "x"}, {**ATTRIBUTES, "data_base64": b64encode(b"{bad").decode(), "datacontenttype": "text/json"}]
    ((_, rejection),) = decode_values([json.dumps(batch).encode()], EVENTS).rejected
    assert rejection.kind == "undecodable"


def test_more_events_or_entries_than_allowed_are_rejected() -> None:
    rules = DecodeRules(format="cloudevents", max_entries=3)
    for batch in ([{**ATTRIBUTES, "data": "x"}] * 4, [{**ATTRIBUTES, "data": [{"msg": "a"}] * 2}] * 2):
        ((_, rejection),) = decode_values([json.dumps(batch).encode()], rules).rejected
        assert rejection.kind == "too_many_entries"


def test_a_null_value_is_empty() -> None:
    decoded = decode_values([None, b""], DecodeRules(), [binary(), binary()])
    assert (decoded.empty.tolist(), decoded.rejected) == ([0, 1], [])


names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20)
messages = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1).filter(lambda text: text[0] not in "{[")


@settings(deadline=None, max_examples=50)
@given(
    event_id=names,
    source=names,
    message=messages,
    moment=st.datetimes(datetime.fromisoformat("1990-01-01"), datetime.fromisoformat("2023-01-01")),
    is_json=st.booleans(),
)
def test_what_the_librarys_encoder_writes_comes_back_in_each_mode(
    event_id: str,
    source: str,
    message: str,
    moment: datetime,
    is_json: bool,  # noqa: FBT001 - hypothesis passes by name
) -> None:
    attributes = {
        "id": event_id,
        "source": source,
        "type": "t",
        "specversion": "1.0",
        "time": moment.replace(tzinfo=UTC),
        "datacontenttype": "application/json" if is_json else "text/plain",
    }
    event = CloudEvent(attributes, {"message": message} if is_json else message)
    written: list[KafkaMessage] = [to_binary_event(event), to_structured_event(event)]
    headers = [tuple(one.headers.items()) for one in written]
    decoded = decode_values([one.value for one in written], DecodeRules(), headers)
    assert not decoded.rejected
    time_ms = int((moment - datetime.fromisoformat("1970-01-01")).total_seconds() * 1_000 + 1e-6)
    fields = {"cloudevents.event_id": event_id, "cloudevents.event_source": source, "cloudevents.event_type": "t"}
    assert [(entry.text, entry.time_ms, entry.fields) for entry in seen(decoded.entries)] == [(message, time_ms, fields)] * 2
