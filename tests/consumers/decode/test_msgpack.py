"""MessagePack: a map is an entry by the rules of JSON objects, an event of the Forward protocol has its time beside it."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.msgpack import Ext, encode

from consumers.decode.rules import DecodeRules
from tests.consumers.decode.seen import KAFKA_MS, Seen, decode_values, seen

MSGPACK = DecodeRules(format="msgpack")


def event_time(seconds: int, nanoseconds: int = 0) -> Ext:
    return Ext(0, seconds.to_bytes(4) + nanoseconds.to_bytes(4))


def entries(document: object, rules: DecodeRules = MSGPACK) -> list[Seen]:
    decoded = decode_values([encode(document)], rules)
    assert not decoded.rejected
    return seen(decoded.entries)


def test_a_map_of_fluent_bit_is_an_entry() -> None:
    kubernetes = {"pod_name": "web-1", "namespace_name": "shop", "container_name": "web", "labels": {"app": "web"}}
    (entry,) = entries(
        {"@timestamp": 1_699_999_999.25, "log": "it failed\n", "stream": "stderr", "level": "warn", "kubernetes": kubernetes}
    )
    assert entry[2:6] == ("it failed", KAFKA_MS - 750, "web", "WARN")
    assert entry.fields["k8s.pod.name"] == "web-1"


@pytest.mark.parametrize(
    ("time", "time_ms"),
    [
        (event_time(1_699_999_999, 250_999_999), KAFKA_MS - 750),
        (datetime.fromtimestamp(1_699_999_999.25, UTC), KAFKA_MS - 750),
        (1_699_999_999, KAFKA_MS - 1_000),
        (1_699_999_999.25, KAFKA_MS - 750),
        ([event_time(1_699_999_999), {}], KAFKA_MS - 1_000),
        ([1_699_999_999.25, {"metadata": 1}], KAFKA_MS - 750),
    ],
)
def test_an_event_has_its_time_beside_it(time: object, time_ms: int) -> None:
    (entry,) = entries([time, {"log": "x"}])
    assert (entry.text, entry.time_ms) == ("x", time_ms)
    (entry,) = entries([time, {"log": "x", "time": "2023-11-14T22:13:18Z"}])
    assert entry.time_ms == KAFKA_MS - 2_000


def test_several_events_and_maps_are_numbered_on() -> None:
    found = entries([[event_time(1_699_999_999), {"log": "a"}], {"log": "b"}, [1_699_999_998, {"log": "c"}]])
    assert [(entry.sub, entry.text, entry.time_ms) for entry in found] == [
        (0, "a", KAFKA_MS - 1_000),
        (1, "b", KAFKA_MS),
        (2, "c", KAFKA_MS - 2_000),
    ]
    assert entries([]) == []


def test_bytes_are_texts_or_base64_and_times_numbers() -> None:
    (entry,) = entries({"log": b"from bytes", "raw": b"\xff", "at": event_time(5), "code": Ext(9, b"nine"), "key": {1: "one"}})
    assert entry.text == "from bytes"
    assert entry.fields == {"raw": "/w==", "at": 5.0, "code": "nine", "key.1": "one"}


values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=9)
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)
keys = st.one_of(st.sampled_from(["log", "message", "level", "time", "host", "service", "stack_trace"]), st.text(max_size=5))


@settings(deadline=None, max_examples=100)
@given(document=st.dictionaries(keys, values, max_size=5))
def test_a_map_has_the_entry_that_the_same_object_of_json_has(document: Mapping[str, Any]) -> None:
    packed = decode_values([encode(document)], MSGPACK)
    written = decode_values([json.dumps(document).encode()], DecodeRules(format="json"))
    assert seen(packed.entries) == seen(written.entries)
    assert len(packed.rejected) == len(written.rejected)
