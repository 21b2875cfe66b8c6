"""What holds in every format: bounds on entries, bytes that are not UTF-8, names of the settings, and reasons that quote nothing."""

import json

import pytest
from msgspec.msgpack import encode

from consumers.decode.rules import DecodeRules, FieldNames, Format
from tests.consumers.decode.otlp_messages import log_record, logs_data, otlp_json
from tests.consumers.decode.seen import KAFKA_MS, decode_values, seen

EVENT = {"specversion": "1.0", "id": "1", "source": "/a", "type": "t"}
OTLP = logs_data([log_record("a")])
OF_THREE: list[tuple[Format, bytes]] = [
    ("json", b'{"msg":"a"}\n' * 3),
    ("json", b'{"msg":"a"}' * 3),
    ("auto", b'[{"msg":"a"},{"msg":"a"},{"msg":"a"}]'),
    ("syslog", b"<13>a\n" * 3),
    ("logfmt", b"msg=a\n" * 3),
    ("msgpack", encode([{"log": "a"}] * 3)),
    ("otlp_proto", OTLP.SerializeToString() * 3),
    ("otlp_json", json.dumps([otlp_json(OTLP)] * 3).encode()),
    ("cloudevents", json.dumps([{**EVENT, "data": "a"}] * 3).encode()),
    ("cloudevents", json.dumps([{**EVENT, "data": [{"msg": "a"}] * 2}, {**EVENT, "data": "a"}]).encode()),
]
"""Values of three entries, or of three batches of one."""
NOT_UTF_8: list[tuple[Format, bytes]] = [
    *(("auto", value) for value in (b"bad \xff", b"\xed\xa0\x80", b"\xc0\xaf", b'{"msg": "\xff"}', b'{"\xed\xa0\x80": 1, "msg": "a"}')),
    ("auto", b"\xff\xfea\x00b"),
    ("syslog", b"<13>a\n<13>\xff"),
    ("logfmt", b"msg=\xff"),
]
NAMED: list[tuple[Format, bytes]] = [
    (
        "json",
        b'{"detail":{"what":"x"},"message":"y","when":1699999999,"time":1600000000,"grade":"fatal","who":"api","long":"%b"}' % (b"l" * 300),
    ),
    ("logfmt", b"what=x msg=y when=2023-11-14T22:13:19Z time=2020-01-01T00:00:00Z grade=fatal who=api long=" + b"l" * 300),
    (
        "msgpack",
        encode({"what": "x", "log": "y", "when": 1_699_999_999, "grade": "fatal", "level": "info", "who": "api", "long": "l" * 300}),
    ),
    (
        "otlp_proto",
        logs_data(
            [log_record("y", {"what": "x", "when": "2023-11-14T22:13:19Z", "grade": "fatal", "who": "api", "long": "l" * 300})]
        ).SerializeToString(),
    ),
]


@pytest.mark.parametrize(("form", "value"), OF_THREE)
def test_more_entries_than_allowed_are_refused(form: Format, value: bytes) -> None:
    assert [entry.sub for entry in seen(decode_values([value], DecodeRules(format=form, max_entries=3)).entries)] == [0, 1, 2]
    decoded = decode_values([value, value], DecodeRules(format=form, max_entries=2))
    assert [(row, rejection.kind) for row, rejection in decoded.rejected] == [(0, "too_many_entries"), (1, "too_many_entries")]
    assert "more than 2" in decoded.rejected[0][1].reason


@pytest.mark.parametrize(("form", "value"), NOT_UTF_8)
def test_strict_rules_reject_what_is_not_utf_8_and_others_replace_and_count_it(form: Format, value: bytes) -> None:
    good = {"auto": b"a", "syslog": b"<13>a", "logfmt": b"msg=a"}[form]
    replacing = decode_values([good, value, good], DecodeRules(format=form))
    assert any("\ufffd" in entry.text + str(entry.fields) for entry in seen(replacing.entries) if entry.row == 1)
    strict = decode_values([good, value, good], DecodeRules(format=form, strict=True))
    ((row, rejection),) = strict.rejected
    assert (row, rejection.kind) == (1, "undecodable")
    assert "not valid" in rejection.reason
    assert {entry.row for entry in seen(strict.entries)} == {0, 2}


@pytest.mark.parametrize(("form", "value"), NAMED, ids=[form for form, _ in NAMED])
def test_names_of_the_settings_come_first(form: Format, value: bytes) -> None:
    names = FieldNames(text=("none", "what", "detail.what"), time=("when",), level=("grade",), service=("who",), keep=("long",))
    for copies in (1, 20):
        for entry in seen(decode_values([value] * copies, DecodeRules(format=form, names=names)).entries):
            assert entry[2:6] == ("x", KAFKA_MS - 1_000, "api", "FATAL")
            assert entry.fields["long"] == "l" * 300


@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("text", b"secret \xff"),
        ("json", b"secret"),
        ("json", b'{"secret'),
        ("logfmt", b"secret"),
        ("otlp_json", b'{"secret":1}'),
        ("otlp_json", json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"intValue": "secret"}}]}]}]}).encode()),
    ],
)
def test_the_reason_holds_nothing_of_the_value(form: Format, value: bytes) -> None:
    ((_, rejection),) = decode_values([value], DecodeRules(format=form, strict=True)).rejected
    assert "secret" not in rejection.reason


@pytest.mark.parametrize(("form", "value"), [("logfmt", b"level=info msg=a"), ("otlp_proto", OTLP.SerializeToString())])
def test_auto_never_guesses_what_any_text_may_look_like(form: Format, value: bytes) -> None:
    assert [entry.text for entry in seen(decode_values([value], DecodeRules(format=form)).entries)] == ["a"]
    assert [entry.text for entry in seen(decode_values([value]).entries)] != ["a"]
