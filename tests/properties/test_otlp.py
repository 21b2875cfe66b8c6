"""OTLP: what is remembered of attributes never changes an answer, and both forms have the same entries."""

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from consumers.columns import byte_column
from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import Values
from consumers.decode.otlp_entry import LogRecord, OtlpEntry, add_attribute, entry_of, origin_of
from consumers.decode.otlp_json import OtlpJsonReader
from consumers.decode.otlp_proto import OtlpProtoReader
from consumers.decode.otlp_wire import Texts, parse_attribute, parse_body
from consumers.decode.rules import DecodeRules, FieldNames
from consumers.decode.source_template import SourceTemplates
from tests.consumers.decode.otlp_messages import log_record, logs_data, otlp_json
from tests.consumers.decode.seen import KAFKA_MS, Seen, decode_values, seen

KEYS = (
    *("k", "a.b", "status", "http.status_code", "http.response.status_code", "host", "hostname", "host.name", "_x", "x", "trace_id"),
    *("logger", "level.original", "service.name", "exception.message", "exception.stacktrace", "\x000\0", "%s", "%", '"', "é", ""),
    *("n" * 256, "n" * 257, "kept"),
)
keys = st.one_of(st.sampled_from(KEYS), st.text(max_size=4))
strings = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["200", "ok", "\x000\0", "x" * 126, "x" * 127, "y" * 256, "y" * 257, "é" * 200, '"\\\n\x1f\x7f\u2028']),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, 127, 128, 200, 404]), st.floats(), strings
)
anything = st.recursive(
    st.one_of(scalars, st.binary(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=5,
)
attributes = st.lists(st.tuples(keys, st.one_of(scalars, scalars, anything)), max_size=8)
times = st.one_of(st.just(0), st.integers(0, 2**64 - 1))
records = st.builds(
    log_record,
    st.one_of(strings, strings, anything),
    attributes,
    time_unix_nano=times,
    observed_time_unix_nano=times,
    severity_number=st.integers(-1, 26),
    severity_text=st.one_of(st.sampled_from(["", "INFO", "warning"]), st.text(max_size=4)),
    trace_id=st.one_of(st.just(b""), st.just(bytes(16)), st.binary(max_size=17), st.binary(min_size=16, max_size=16)),
    span_id=st.one_of(st.just(b""), st.binary(min_size=8, max_size=8)),
    event_name=st.one_of(st.just(""), st.text(max_size=4)),
)
plain_attributes = st.lists(st.tuples(st.sampled_from(KEYS), scalars), max_size=5)
plain_records = st.builds(
    log_record,
    st.sampled_from(["line", "x" * 127, "é" * 64, "y" * 20_000]),
    plain_attributes,
    time_unix_nano=times,
    severity_text=st.sampled_from(["", "INFO", "warning", "100%"]),
    trace_id=st.one_of(st.just(b""), st.binary(min_size=16, max_size=16)),
)
"""Those that mostly go the fast way."""
of_templates = st.sampled_from(["{OriginalFormat}", "message.template", "message_template.text", "SourceContext", "logger", "k"])
templated_records = st.builds(
    log_record,
    st.just("line"),
    st.lists(st.tuples(of_templates, st.sampled_from(["added {A}", "lost {B}", "{A}", "Shop", 5, "y" * 257])), max_size=3),
    event_name=st.sampled_from(["", "", "bought"]),
)
batches = st.builds(
    logs_data,
    st.lists(st.one_of(plain_records, templated_records, records), max_size=3),
    resource=attributes,
    scope=attributes,
    logger=st.one_of(st.just(""), st.text(max_size=4)),
)
rules = st.builds(
    DecodeRules,
    format=st.just("otlp_proto"),
    names=st.builds(
        FieldNames,
        template=st.sampled_from([(), ("k",), ("logger", "trace_id"), ("status", "é")]),
        keep=st.lists(st.sampled_from(("kept", "host.name", "k", "status")), max_size=2, unique=True).map(tuple),
    ),
    source_templates=st.sampled_from([True, True, False]),
    max_other_fields=st.sampled_from([0, 2, 16]),
)


def read_values(reader: OtlpProtoReader | OtlpJsonReader, values: list[bytes]) -> list[Seen]:
    found = reader.read(Values(values, byte_column(values), np.full(len(values), KAFKA_MS)))
    assert not found.failed
    return seen(found.entries)


def by_the_rules(data: LogsData, rules: DecodeRules) -> list[OtlpEntry]:
    """Return the entries of a batch as `entry_of` says, from what OpenTelemetry's own classes parse."""
    texts = Texts(strict=True)

    def plain(pairs: Any) -> dict[str, object]:  # noqa: ANN401
        found: dict[str, object] = {}
        for pair in pairs:
            add_attribute(found, *parse_attribute(pair.SerializeToString(), texts))
        return found

    entries = []
    for group in data.resource_logs:
        for logs in group.scope_logs:
            origin = origin_of(logs.scope.name, plain(logs.scope.attributes), plain(group.resource.attributes))
            for record in logs.log_records:
                plain_record = LogRecord(
                    body=parse_body((record.body if record.HasField("body") else AnyValue()).SerializeToString(), texts),
                    event_name=record.event_name,
                    time_ns=record.time_unix_nano or record.observed_time_unix_nano,
                    severity_text=record.severity_text,
                    severity_number=record.severity_number,
                    trace_id=record.trace_id.hex() if any(record.trace_id) else "",
                    span_id=record.span_id.hex() if any(record.span_id) else "",
                    attributes=plain(record.attributes),
                )
                entries.append(entry_of(plain_record, origin, rules, SourceTemplates(rules)))
    return entries


@settings(deadline=None, max_examples=60)
@given(several=st.lists(batches, min_size=1, max_size=2), rules=rules)
def test_what_is_remembered_never_changes_an_answer(several: list[LogsData], rules: DecodeRules) -> None:
    reader = OtlpProtoReader(rules, DecodeTally())
    values = [data.SerializeToString() for data in several]
    values = [value for value in values if value]
    expected = [entry for data in several for entry in by_the_rules(data, rules)]
    first, again = (read_values(reader, values * times) for times in (1, 2))
    assert [entry[2:] for entry in first] == [entry[2:] for entry in again[: len(first)]] == [entry[2:] for entry in again[len(first) :]]
    assert [(entry.text, entry.service, entry.level, entry.trace, entry.template) for entry in first] == [
        (entry.text, entry.service, entry.level, entry.trace, entry.template) for entry in expected
    ]
    assert [list(entry.fields.items()) for entry in first] == [list(json.loads(entry.fields or "{}").items()) for entry in expected]


@settings(deadline=None, max_examples=40)
@given(data=batches)
def test_both_forms_have_the_same_entries(data: LogsData) -> None:
    proto = read_values(OtlpProtoReader(DecodeRules(), DecodeTally()), [data.SerializeToString()])
    for snake_case in (False, True):
        value = json.dumps(otlp_json(data, snake_case=snake_case)).encode()
        assert read_values(OtlpJsonReader(DecodeRules()), [value]) == proto


@settings(deadline=None, max_examples=60)
@given(data=batches, cut=st.integers(0, 400), noise=st.binary(max_size=4), is_json=st.booleans())
def test_a_value_that_is_cut_or_changed_never_raises_and_its_neighbours_are_as_they_were(
    data: LogsData,
    cut: int,
    noise: bytes,
    is_json: bool,  # noqa: FBT001 - hypothesis passes by name
) -> None:
    good = json.dumps(otlp_json(data)).encode() if is_json else data.SerializeToString()
    rules = DecodeRules(format="otlp_json" if is_json else "otlp_proto")
    decoded = decode_values([good, good[:cut] + noise + good[cut + len(noise) :], good], rules)
    assert [row for row, _ in decoded.rejected] in ([], [1])
    alone = decode_values([good], rules)
    assert not alone.rejected
    for row in (0, 2):
        of_row = decoded.entries.take(np.flatnonzero(decoded.entries.row == row))
        assert of_row.text.to_pylist() == alone.entries.text.to_pylist()
        assert of_row.fields.to_pylist() == alone.entries.fields.to_pylist()
