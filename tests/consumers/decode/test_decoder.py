"""Decoding: good and bad records as found in topics; the only exception is `Undecodable`."""

import json
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.decoder import (
    LEVEL_FIELDS,
    MESSAGE_FIELDS,
    SERVICE_FIELDS,
    Decoder,
    Format,
    LogEntry,
    TooLarge,
    TooManyEntries,
    Undecodable,
    strip_line_end,
)
from tests.consumers.records import record

Entry = tuple[int, str, str, str]
FORMATS: list[Format] = ["auto", "text", "json"]


def decode(value: bytes | None, *, form: Format = "auto", strict: bool = False, max_entries: int = 10_000) -> list[LogEntry]:
    return Decoder(form=form, strict=strict, max_entries=max_entries).decode(record(value=value))


def entries(value: bytes | None, form: Format = "auto") -> list[Entry]:
    """Return (sub, text, service, level) of each entry."""
    return [(entry.sub, entry.text, entry.service, entry.level) for entry in decode(value, form=form)]


def texts(value: bytes | None, form: Format = "auto") -> list[str]:
    return [entry.text for entry in decode(value, form=form)]


def as_json(document: Any) -> bytes:  # noqa: ANN401 - any JSON
    return json.dumps(document).encode()


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"disk full", "disk full"),
        (b"disk full\n", "disk full"),
        (b"disk full\r\n", "disk full"),
        (b"disk full\n\n", "disk full\n"),
        (b"disk full\r\r\n", "disk full\r"),
        (b"disk full\r", "disk full\r"),
        (b"\n\tat Main.java:3\nCaused by\n", "\n\tat Main.java:3\nCaused by"),
        (b"  indented  ", "  indented  "),
        (b"nul \x00 inside", "nul \x00 inside"),
        ("käse 語 \U0001f701".encode(), "käse 語 \U0001f701"),
        (b"bad \xff\xfe bytes", "bad �� bytes"),
        (b"cut \xe8\xaa", "cut �"),
        (b"[2024-01-02] starts with a bracket", "[2024-01-02] starts with a bracket"),
        (b"[1, 2, 3]", "[1, 2, 3]"),
        (b'[{"msg": "a"}, 2]', '[{"msg": "a"}, 2]'),
        (b'{"msg": "cut off', '{"msg": "cut off'),
        (b'{"msg": NaN}', '{"msg": NaN}'),
        (rb'{"msg": "lone \ud800 surrogate"}', r'{"msg": "lone \ud800 surrogate"}'),
        (b'{"msg": "\xff"}', '{"msg": "�"}'),
        (b'"a JSON string"', '"a JSON string"'),
        (b"\xef\xbb\xbf{}", "\ufeff{}"),
    ],
)
def test_what_is_not_json_is_one_line_of_text(value: bytes, text: str) -> None:
    assert entries(value) == [(0, text, "", "")]


@pytest.mark.parametrize("value", [None, b"", b"\n", b"\r\n", b"{}", b"[]", b"[{}, {}]", b'{"msg": "\\n"}'])
def test_nothing_to_index_gives_no_entries(value: bytes | None) -> None:
    assert entries(value) == []


def test_an_entry_carries_its_record_and_kafkas_time() -> None:
    two = record(7, b'[{"msg": "a"}, {"msg": "b"}]')
    assert Decoder().decode(two) == [LogEntry(two, sub, text, two.time_ms, "", "") for sub, text in enumerate(["a", "b"])]


@pytest.mark.parametrize("name", MESSAGE_FIELDS)
def test_each_message_field_is_found(name: str) -> None:
    assert texts(as_json({"other": 1, name: "disk full"})) == ["disk full"]
    assert texts(as_json({"other": 1, name: {"stringValue": "disk full"}})) == ["disk full"]


@pytest.mark.parametrize(("earlier", "later"), list(pairwise(MESSAGE_FIELDS)))
def test_an_earlier_message_field_wins_unless_it_is_empty(earlier: str, later: str) -> None:
    assert texts(as_json({later: "later", earlier: "earlier"})) == ["earlier"]
    assert texts(as_json({later: "later", earlier: ""})) == ["later"]
    assert texts(as_json({later: "later", earlier: None})) == ["later"]
    assert texts(as_json({later: "later", earlier: 5})) == ["later"]


@pytest.mark.parametrize(("field", "names", "value", "found"), [(2, SERVICE_FIELDS, "cart", "cart"), (3, LEVEL_FIELDS, "warning", "WARN")])
def test_service_and_level_are_found_under_each_name_dotted_or_nested(field: int, names: tuple[str, ...], value: str, found: str) -> None:
    for name in names:
        nest: Any = value
        for step in reversed(name.split(".")):
            nest = {step: nest}
        for fields in ({name: value}, nest):
            (entry,) = entries(as_json({"msg": "disk full", **fields}))
            assert (entry[1], entry[field]) == ("disk full", found), fields


def test_the_first_field_that_names_a_level_counts_then_a_number() -> None:
    assert entries(b'{"msg": "x", "severity_text": "?", "level": "warn", "severity": "error"}') == [(0, "x", "", "WARN")]
    assert entries(b'{"msg": "x", "level": "nonsense", "severity_number": 17}') == [(0, "x", "", "ERROR")]
    assert entries(b'{"msg": "x", "level": "nonsense"}') == [(0, "x", "", "")]


def test_a_service_that_is_an_object_gives_its_name_and_a_number_without_a_scale_gives_no_level() -> None:
    assert entries(b'{"msg": "x", "service": {"name": "cart", "version": "2"}, "level": 30}') == [(0, "x", "cart", "")]


def test_the_message_of_elastic_and_of_journald_are_found() -> None:
    assert texts(b'{"event": {"original": "raw line", "dataset": "d"}, "log": {"level": "warn"}}') == ["raw line"]
    assert entries(b'{"MESSAGE": "unit failed", "PRIORITY": "3"}') == [(0, "unit failed", "", "ERROR")]


def test_an_object_without_a_message_is_its_own_text_with_sorted_keys() -> None:
    assert texts(b'{"b": {"d": 1, "c": "\xc3\xa4"}, "a": [1, null]}') == ['{"a":[1,null],"b":{"c":"ä","d":1}}']


def test_an_array_gives_an_entry_an_object_and_empty_ones_keep_their_number() -> None:
    value = as_json([{"msg": "a", "level": "INFO"}, {}, {"msg": "\r\n"}, {"msg": "b\n", "app": "cart"}])
    assert entries(value) == [(0, "a", "", "INFO"), (3, "b", "cart", "")]


def test_white_space_around_json_does_not_matter() -> None:
    assert texts(b' \r\n\t{"msg": "a"}\n') == ["a"]


def test_of_a_key_given_twice_the_last_counts() -> None:
    assert texts(b'{"msg": "first", "msg": "last"}') == ["last"]


def test_nul_and_escapes_in_a_message_are_decoded() -> None:
    assert texts(rb'{"msg": "nul \u0000 tab \t pair \ud83d\udf01"}') == ["nul \x00 tab \t pair \U0001f701"]


def test_numbers_beyond_64_bits_do_no_harm() -> None:
    (text,) = texts(b'{"id": ' + b"9" * 60 + b', "neg": -' + b"9" * 30 + b"}")
    assert orjson.loads(text)["id"] == pytest.approx(1e60)


@pytest.mark.parametrize("depth", [10, 254])
def test_deep_json_is_written_again(depth: int) -> None:
    assert texts(nested(depth)) == [nested(depth).decode()]


@pytest.mark.parametrize("depth", [255, 1000, 1025, 100_000])
def test_json_too_deep_to_write_or_to_read_is_text_or_refused(depth: int) -> None:
    assert texts(nested(depth)) == [nested(depth).decode()]
    assert texts(b"[" + nested(depth) + b"]") == [f"[{nested(depth).decode()}]"]
    with pytest.raises(Undecodable, match="JSON"):
        decode(nested(depth), form="json")
    assert texts(b'{"deep": ' + nested(min(depth, 1000)) + b', "msg": "shallow"}') == ["shallow"]


@pytest.mark.parametrize("value", [b"plain", b"{", b"[1]", b'"text"', b'[{"msg": "a"}, "b"]', b"  ", b"\xff", b'{"a": NaN}'])
def test_the_json_format_refuses_everything_else(value: bytes) -> None:
    with pytest.raises(Undecodable, match="JSON"):
        decode(value, form="json")


def test_the_text_format_never_looks_for_json() -> None:
    assert entries(b'{"msg": "a"}\n', "text") == [(0, '{"msg": "a"}', "", "")]


def test_the_json_format_reads_what_auto_reads() -> None:
    value = b'[{"msg": "a", "service": "cart"}]'
    assert entries(value, "json") == entries(value) == [(0, "a", "cart", "")]


@pytest.mark.parametrize("value", [b"bad \xff", b"\xed\xa0\x80", b"\xc0\xaf", b'{"msg": "\xff"}'])
def test_bytes_that_are_not_utf8_are_replaced_and_counted_or_refused(value: bytes) -> None:
    decoder = Decoder()
    assert "�" in decoder.decode(record(value=value))[0].text
    assert decoder.replaced_records == 1
    with pytest.raises(Undecodable, match="UTF-8"):
        decode(value, strict=True)


def test_good_records_are_not_counted_as_replaced() -> None:
    decoder = Decoder(strict=True)
    for value in (b"plain", "ä".encode(), b"", None, b"{}"):
        decoder.decode(record(value=value))
    assert decoder.replaced_records == 0


def test_more_entries_than_allowed_are_refused() -> None:
    value = as_json([{"msg": "a"}] * 3)
    assert len(decode(value, max_entries=3)) == 3
    with pytest.raises(TooManyEntries, match="more than 2 entries"):
        decode(value, max_entries=2)


def test_the_reason_holds_nothing_of_the_body() -> None:
    for value, form, strict in ((b"secret \xff", "auto", True), (b"secret", "json", False), (b'{"secret', "json", False)):
        with pytest.raises(Undecodable) as refused:
            decode(value, form="json" if form == "json" else "auto", strict=strict)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "stripped"), [("", ""), ("\n", ""), ("\r\n", ""), ("\r", "\r"), ("a\r\n\r\n", "a\r\n"), ("a\n\r", "a\n\r")]
)
def test_one_line_end_is_stripped(text: str, stripped: str) -> None:
    assert strip_line_end(text) == stripped


documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.one_of(st.sampled_from([*MESSAGE_FIELDS, *SERVICE_FIELDS, *LEVEL_FIELDS]), st.text(max_size=5)), inner, max_size=5
        ),
    ),
    max_leaves=12,
)
values = st.one_of(
    st.binary(),
    documents.map(as_json),
    st.lists(st.dictionaries(st.sampled_from(MESSAGE_FIELDS), documents)).map(as_json),
    st.tuples(st.sampled_from([b"{", b"[", b'{"msg":"', b"[{"]), st.binary()).map(b"".join),
)


@settings(deadline=None, max_examples=500)
@given(value=values, form=st.sampled_from(FORMATS), strict=st.booleans())
def test_any_bytes_are_entries_with_a_text_or_undecodable(value: bytes, form: Format, strict: bool) -> None:  # noqa: FBT001 - hypothesis passes by name
    try:
        found = decode(value, form=form, strict=strict, max_entries=3)
    except Undecodable:
        if form != "json" and not strict:
            with pytest.raises(Undecodable, match="entries"):
                decode(value, form=form, max_entries=3)
        return
    assert all(entry.text for entry in found)
    assert [entry.sub for entry in found] == sorted({entry.sub for entry in found})
    assert all(entry.text.encode() for entry in found), "a lone surrogate has got through"


@settings(deadline=None, max_examples=200)
@given(line=st.text(min_size=1).filter(lambda text: text.lstrip()[:1] not in ("{", "[") and not text.endswith(("\n", "\r"))))
def test_a_line_comes_back_as_it_was_whatever_line_end_it_had(line: str) -> None:
    for end in ("", "\n", "\r\n"):
        assert texts((line + end).encode()) == [line]


@pytest.mark.parametrize("form", FORMATS)
def test_a_value_above_the_limit_is_refused_before_it_is_looked_at_and_one_at_the_limit_is_not(form: Format) -> None:
    decoder = Decoder(form=form, strict=True, max_record_bytes=20)
    with pytest.raises(TooLarge) as refused:
        decoder.decode(record(value=b"\xff" * 21))
    assert refused.value.rejection.reason == "too_large: 21 bytes, 20 are allowed"
    fits = b'{"msg": "disk full"}'
    assert len(fits) == 20
    assert len(decoder.decode(record(value=fits))) == 1


def test_the_reason_of_what_cannot_be_decoded_says_so() -> None:
    with pytest.raises(Undecodable) as refused:
        decode(b"\xff", strict=True)
    assert refused.value.rejection.reason == "undecodable: not valid UTF-8"
