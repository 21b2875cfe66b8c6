"""How a value names its schema: prefix, header, message indexes, and what is none of them."""

import io
from uuid import UUID

import numpy as np
import pytest
from confluent_kafka.schema_registry.serde import SchemaId
from hypothesis import given
from hypothesis import strategies as st

from consumers.columns import byte_column
from consumers.decode.found import Values
from consumers.decode.registry_wire import VALUE_SCHEMA_ID, Framed, find_framed, find_keys, read_frame, read_indexes
from consumers.record import Header
from consumers.rejection import Rejection

GUID = UUID("8b2a9c5e-0d3f-4b60-9a77-2f4c53a1e9d0")
NUMBERS = st.integers(0, 2**32 - 1)
INDEXES = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=8)
VALUES = st.binary(max_size=12) | st.binary(min_size=4, max_size=8).map(lambda body: b"\0" + body)
CONTENTS = VALUES | st.binary(min_size=16, max_size=18).map(lambda guid: b"\x01" + guid)
HEADERS = st.lists(st.tuples(st.sampled_from(["other", VALUE_SCHEMA_ID]), st.none() | CONTENTS), max_size=3).map(tuple)


def framed(value: bytes, headers: tuple[Header, ...] = ()) -> Framed:
    found = read_frame(value, headers)
    assert isinstance(found, Framed)
    return found


def reason(value: bytes, headers: tuple[Header, ...] = ()) -> str:
    found = read_frame(value, headers)
    assert isinstance(found, Rejection)
    assert (found.stage, found.kind) == ("decode", "undecodable")
    return found.reason


@given(NUMBERS, st.binary())
def test_a_number_before_the_value_is_its_schema(number: int, body: bytes) -> None:
    written = SchemaId("AVRO", number).id_to_bytes() + body
    assert framed(written) == Framed(number, body, None)


@given(st.uuids(), st.binary(min_size=1))
def test_a_guid_in_the_header_is_the_schema_of_the_whole_value(guid: UUID, body: bytes) -> None:
    header = SchemaId("AVRO", guid=str(guid)).guid_to_bytes()
    assert framed(body, (("trace", b"\0"), (VALUE_SCHEMA_ID, header))) == Framed(str(guid), body, b"")


def test_a_number_in_the_header_is_the_schema_of_the_whole_value() -> None:
    assert framed(b"\0\0\0\0\x07x", ((VALUE_SCHEMA_ID, b"\0\0\0\0\x09"),)) == Framed(9, b"\0\0\0\0\x07x", b"")


def test_of_two_headers_the_last_one_counts() -> None:
    headers = ((VALUE_SCHEMA_ID, b"\0\0\0\0\x01"), (VALUE_SCHEMA_ID, b"\0\0\0\0\x02"), (VALUE_SCHEMA_ID, None))
    assert framed(b"x", headers).key == 2


@pytest.mark.parametrize("content", [b"", b"\0", b"\0\0\0\0", b"\x01" + b"x" * 15, b"\x02" + b"x" * 16, b"7"])
def test_a_header_that_is_neither_number_nor_guid_is_a_reason_to_reject(content: bytes) -> None:
    assert "neither a number nor a GUID" in reason(b"\0\0\0\0\x07x", ((VALUE_SCHEMA_ID, content),))


@pytest.mark.parametrize("value", [b"x", b"\0", b"\0\0\0\0", b'{"message":"x"}', b"\x01" + GUID.bytes, b"\x03\x00" + b"x" * 15])
def test_a_value_without_a_schema_id_is_rejected(value: bytes) -> None:
    assert reason(value) == "undecodable: no schema id: neither byte 0 and a number before the value nor a header"


@pytest.mark.parametrize("compression", [b"\x00", b"\x05"])
def test_the_header_of_aws_glue_is_named_as_not_supported(compression: bytes) -> None:
    assert "AWS Glue" in reason(b"\x03" + compression + GUID.bytes + b"x")


@given(st.lists(st.tuples(st.none() | VALUES, HEADERS), max_size=6))
def test_what_is_asked_for_is_what_the_values_name(records: list[tuple[bytes | None, tuple[Header, ...]]]) -> None:
    values, headers = [value for value, _ in records], [own for _, own in records]
    frames = [read_frame(value, own) for value, own in records if value]
    named = {frame.key for frame in frames if isinstance(frame, Framed)}
    asked = find_keys(values, headers)
    assert named <= asked
    # A tombstone may name one too, in its header: that is asked for although nobody reads it.
    assert asked - named <= find_keys([b"x"] * len(values), headers)
    without = [frame.key for value in values if value and isinstance(frame := read_frame(value, ()), Framed)]
    assert find_keys(values, None) == set(without)


@given(st.lists(st.tuples(VALUES, HEADERS), min_size=1, max_size=6))
def test_auto_takes_for_framed_what_names_a_schema_or_has_its_header(records: list[tuple[bytes, tuple[Header, ...]]]) -> None:
    value = [value for value, _ in records]
    values = Values(value, byte_column(value), np.zeros(len(value), np.int64), [own for _, own in records])
    has_header = [any(name == VALUE_SCHEMA_ID and content is not None for name, content in own) for _, own in records]
    expected = [there or isinstance(read_frame(one, ()), Framed) for one, there in zip(value, has_header, strict=True)]
    assert find_framed(values).tolist() == expected


@given(INDEXES, st.binary())
def test_message_indexes_are_read_as_confluent_writes_them(indexes: list[int], body: bytes) -> None:
    written = io.BytesIO()
    SchemaId._encode_varints(written, indexes)  # noqa: SLF001 - the serialiser's own
    encoded = written.getvalue()
    assert read_indexes(encoded + body) == (tuple(indexes), len(encoded))


@pytest.mark.parametrize("encoded", [b"", b"\x80", b"\x04\x02", b"\x01", b"\xff\xff\xff\xff\xff\x01", b"\xd0\x0f" + b"\x02" * 2000])
def test_message_indexes_that_are_cut_negative_or_too_many_are_an_error(encoded: bytes) -> None:
    with pytest.raises(ValueError, match="message indexes"):
        read_indexes(encoded)
