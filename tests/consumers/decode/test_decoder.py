"""Decoding: good and bad records as found in topics; what cannot be decoded is rejected with a reason."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.columns import as_texts
from consumers.decode.decoder import Decoder
from consumers.decode.entries import Decoded
from consumers.decode.json_names import LEVEL_NAMES, SERVICE_NAMES, TEXT_NAMES
from consumers.decode.rules import DecodeRules, Format
from consumers.rejection import Rejection

Entry = tuple[int, str, str, str]
FORMATS: list[Format] = ["auto", "text", "json"]
TIME_MS = 1_700_000_000_000


def decode_all(values: Sequence[bytes | None], decoder: Decoder | None = None) -> Decoded:
    """Decode several values at once and check that every one became entries, empty or rejected, once."""
    decoded = (decoder or Decoder()).decode(values, TIME_MS + np.arange(len(values)))
    found, rejected = decoded.entries, [row for row, _ in decoded.rejected]
    assert sorted({*found.row.tolist(), *decoded.empty.tolist(), *rejected}) == list(range(len(values)))
    assert len(set(found.row.tolist())) + len(decoded.empty) + len(rejected) == len(values)
    assert sorted(rejected) == rejected
    assert sorted(decoded.empty.tolist()) == decoded.empty.tolist()
    assert {len(column) for column in (found.row, found.sub, found.text, found.time_ms, found.fields)} == {found.size}
    assert found.time_ms.tolist() == (TIME_MS + found.row).tolist()
    for labels in (found.service, found.level):
        assert sorted(set(labels.codes.tolist())) == list(range(len(labels.values)))
    return decoded


def entries_of(decoded: Decoded) -> list[tuple[int, *Entry]]:
    """Return (row, sub, text, service, level) of each entry."""
    found = decoded.entries
    texts = as_texts(found.text)
    return [(int(found.row[i]), int(found.sub[i]), texts[i], found.service.text(i), found.level.text(i)) for i in range(found.size)]


def entries(value: bytes | None, form: Format = "auto", *, strict: bool = False, max_entries: int = 10_000) -> list[Entry]:
    """Return (sub, text, service, level) of each entry of a value that can be decoded."""
    decoded = decode_all([value], Decoder(DecodeRules(format=form, strict=strict, max_entries=max_entries)))
    assert not decoded.rejected
    return [entry[1:] for entry in entries_of(decoded)]


def texts(value: bytes | None, form: Format = "auto") -> list[str]:
    return [text for _, text, _, _ in entries(value, form)]


def rejection(value: bytes, form: Format = "auto", *, strict: bool = False, max_entries: int = 10_000) -> Rejection:
    """Return why a value cannot be decoded."""
    decoder = Decoder(DecodeRules(format=form, strict=strict, max_entries=max_entries))
    ((_, reason),) = decode_all([value], decoder).rejected
    assert decoder.tally.records["none"] == 1
    return reason


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
        (b"\xef\xbb\xbfdisk full", "disk full"),
    ],
)
def test_what_is_not_json_is_one_line_of_text(value: bytes, text: str) -> None:
    assert entries(value) == [(0, text, "", "")]


@pytest.mark.parametrize("value", [None, b"", b"\n", b"\r\n", b"{}", b"[]", b"[{}, {}]", b'{"msg": "\\n"}'])
def test_nothing_to_index_gives_no_entries(value: bytes | None) -> None:
    assert entries(value) == []


def test_an_entry_says_which_value_it_is_of_and_when_that_was_sent() -> None:
    found = Decoder().decode([b'[{"msg": "a"}, {"msg": "b"}]', None, b"c"], np.array([5, 6, 7])).entries
    assert as_texts(found.text) == ["a", "b", "c"]
    assert (found.row.tolist(), found.sub.tolist(), found.time_ms.tolist()) == ([0, 0, 2], [0, 1, 0], [5, 5, 7])
    assert [str(column.dtype) for column in (found.row, found.sub, found.time_ms)] == ["int64", "int32", "int64"]
    assert found.fields.null_count == 3


def test_entries_of_text_and_json_are_in_the_order_of_their_records() -> None:
    values = [b"a\n", b'{"msg": "b"}', b"", b'[{"msg": "c", "app": "x"}, {}, {"msg": "d"}]', b" e", b"[f]", None, b"{}", b'{"n": 1}', b"g"]
    decoded = decode_all(values)
    assert entries_of(decoded) == [
        *((0, 0, "a", "", ""), (1, 0, "b", "", ""), (3, 0, "c", "x", ""), (3, 2, "d", "", ""), (4, 0, " e", "", "")),
        *((5, 0, "[f]", "", ""), (8, 0, '{"n":1}', "", ""), (9, 0, "g", "", "")),
    ]
    assert decoded.empty.tolist() == [2, 6, 7]


def test_no_values_give_no_entries() -> None:
    for form in FORMATS:
        assert decode_all([], Decoder(DecodeRules(format=form))).entries.size == 0


def test_bad_values_do_no_harm_to_their_neighbours() -> None:
    values = [b"a", b"\xff", b'{"msg": "b"}', b'{"msg": "\xff"}', b"x" * 21, b"c\n", b"\xff" * 21, b'[{"msg":1},{"a":1}]']
    replacing, strict, only_json = (
        Decoder(DecodeRules(max_record_bytes=20)),
        Decoder(DecodeRules(strict=True, max_record_bytes=20, max_entries=1)),
        Decoder(DecodeRules(format="json", max_record_bytes=20)),
    )
    assert [(row, text) for row, _, text, _, _ in entries_of(decode_all(values, replacing))] == [
        *((0, "a"), (1, "�"), (2, "b"), (3, '{"msg": "�"}'), (5, "c"), (7, '{"msg":1}'), (7, '{"a":1}')),
    ]
    assert (
        replacing.tally.records["text"],
        replacing.tally.records["json"],
        replacing.tally.replaced_records,
        replacing.tally.records["none"],
    ) == (4, 2, 2, 2)
    decoded = decode_all(values, strict)
    assert [(row, text) for row, _, text, _, _ in entries_of(decoded)] == [(0, "a"), (2, "b"), (5, "c")]
    assert [(row, reason.kind) for row, reason in decoded.rejected] == [
        *((1, "undecodable"), (3, "undecodable"), (4, "too_large"), (6, "too_large"), (7, "too_many_entries")),
    ]
    assert (strict.tally.records["text"], strict.tally.records["json"], strict.tally.replaced_records, strict.tally.records["none"]) == (
        2,
        1,
        0,
        5,
    )
    decoded = decode_all(values, only_json)
    assert [(row, text) for row, _, text, _, _ in entries_of(decoded)] == [(2, "b"), (7, '{"msg":1}'), (7, '{"a":1}')]
    assert [row for row, _ in decoded.rejected] == [0, 1, 3, 4, 5, 6]


@pytest.mark.parametrize("name", TEXT_NAMES)
def test_each_message_field_is_found(name: str) -> None:
    assert texts(as_json({"other": 1, name: "disk full"})) == ["disk full"]


@pytest.mark.parametrize(("earlier", "later"), [(one, other) for one, other in pairwise(TEXT_NAMES) if other != "full_message"])
def test_an_earlier_message_field_wins_unless_it_is_empty(earlier: str, later: str) -> None:
    assert texts(as_json({later: "later", earlier: "earlier"})) == ["earlier"]
    assert texts(as_json({later: "later", earlier: ""})) == ["later"]
    assert texts(as_json({later: "later", earlier: None})) == ["later"]
    assert texts(as_json({later: "later", earlier: 5})) == ["later"]


@pytest.mark.parametrize(("field", "names", "value", "found"), [(2, SERVICE_NAMES, "cart", "cart"), (3, LEVEL_NAMES, "warning", "WARN")])
def test_service_and_level_are_found_under_each_name_dotted_or_nested(field: int, names: tuple[str, ...], value: str, found: str) -> None:
    for name in names:
        if name == "name":  # pino's and bunyan's only
            continue
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
    assert "JSON" in rejection(nested(depth), "json").reason
    assert texts(b'{"deep": ' + nested(min(depth, 1000)) + b', "msg": "shallow"}') == ["shallow"]


@pytest.mark.parametrize("number", ["1e309", "-1e309", "1E+400", "0.1e0311", "9" * 310, "2" + "0" * 308, "9" * 250 + ".5e60"])
@pytest.mark.parametrize("form", ['{"msg": "x", "n": N}', '{"n":\t-N,"msg":"x"}', '{"a":[1, N],"msg":"x"}', '{"a":{"b":[\nN]},"msg":"x"}'])
def test_json_with_a_number_beyond_a_doubles_range_is_text(number: str, form: str) -> None:
    text = form.replace("-N", "N").replace("N", number)
    assert texts(text.encode()) == [text]


@pytest.mark.parametrize("number", ["1e308", "-1.7e+308", "1e-400", "0e999", "0.000e+310", "9" * 300, "0." + "9" * 400, "1" * 60])
def test_a_large_number_in_range_does_no_harm(number: str) -> None:
    assert texts(f'{{"msg": "x", "n": {number}}}'.encode()) == ["x"]


@pytest.mark.parametrize(
    "value", [b"plain", b"{", b"[1]", b'"text"', b'[{"msg": "a"}, "b"]', b"  ", b"\xff", b'{"a": NaN}', b'{"\xff": 1}']
)
def test_the_json_format_refuses_everything_else(value: bytes) -> None:
    assert "JSON" in rejection(value, "json").reason


def test_the_text_format_never_looks_for_json() -> None:
    assert entries(b'{"msg": "a"}\n', "text") == [(0, '{"msg": "a"}', "", "")]


def test_the_json_format_reads_what_auto_reads() -> None:
    value = b'[{"msg": "a", "service": "cart"}]'
    assert entries(value, "json") == entries(value) == [(0, "a", "cart", "")]


@pytest.mark.parametrize("value", [b"bad \xff", b"\xed\xa0\x80", b"\xc0\xaf", b'{"msg": "\xff"}', b'{"\xed\xa0\x80": 1, "msg": "a"}'])
def test_bytes_that_are_not_utf8_are_replaced_and_counted_or_refused(value: bytes) -> None:
    decoder = Decoder()
    ((_, _, text, _, _),) = entries_of(decode_all([value], decoder))
    assert "�" in text
    assert decoder.tally.replaced_records == 1
    assert "UTF-8" in rejection(value, strict=True).reason


def test_good_records_are_not_counted_as_replaced() -> None:
    decoder = Decoder(DecodeRules(strict=True))
    decode_all([b"plain", "ä".encode(), b"", None, b"{}"], decoder)
    assert decoder.tally.replaced_records == 0


def test_more_entries_than_allowed_are_refused() -> None:
    value = as_json([{"msg": "a"}] * 3)
    assert len(entries(value, max_entries=3)) == 3
    refused = rejection(value, max_entries=2)
    assert (refused.kind, refused.reason) == ("too_many_entries", "too_many_entries: more than 2 entries in one record")


def test_the_reason_holds_nothing_of_the_body() -> None:
    cases: list[tuple[bytes, Format, bool]] = [(b"secret \xff", "auto", True), (b"secret", "json", False), (b'{"secret', "json", False)]
    for value, form, strict in cases:
        assert "secret" not in rejection(value, form, strict=strict).reason


documents = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from([*TEXT_NAMES, *SERVICE_NAMES, *LEVEL_NAMES]), st.text(max_size=5)), inner, max_size=5),
    ),
    max_leaves=12,
)
values = st.one_of(
    st.binary(),
    documents.map(as_json),
    st.lists(st.dictionaries(st.sampled_from(TEXT_NAMES), documents)).map(as_json),
    st.tuples(st.sampled_from([b"{", b"[", b'{"msg":"', b"[{"]), st.binary()).map(b"".join),
)


@settings(deadline=None, max_examples=500)
@given(several=st.lists(values, max_size=4), form=st.sampled_from(FORMATS), strict=st.booleans())
def test_any_bytes_are_entries_with_a_text_or_rejected_and_neighbours_change_nothing(
    several: list[bytes],
    form: Format,
    strict: bool,  # noqa: FBT001 - hypothesis passes by name
) -> None:
    def new_decoder() -> Decoder:
        return Decoder(DecodeRules(format=form, strict=strict, max_entries=3))

    decoded = decode_all(several, new_decoder())
    found = entries_of(decoded)
    assert all(text for _, _, text, _, _ in found)
    assert [(row, sub) for row, sub, _, _, _ in found] == sorted({(row, sub) for row, sub, _, _, _ in found})
    if form != "json" and not strict:
        others = [reason for _, reason in decoded.rejected if reason.kind != "too_many_entries"]
        assert all("compressed" in reason.reason for reason in others), others
    alone = [decode_all([value], new_decoder()) for value in several]
    assert found == [(row, *entry[1:]) for row, one in enumerate(alone) for entry in entries_of(one)]
    assert decoded.rejected == [(row, reason) for row, one in enumerate(alone) for _, reason in one.rejected]


@settings(deadline=None, max_examples=200)
@given(
    line=st.text(min_size=1).filter(
        lambda text: text.lstrip()[:1] not in ("{", "[", "\ufeff") and "\x1b" not in text and not text.endswith(("\n", "\r", "\0"))
    )
)
def test_a_line_comes_back_as_it_was_whatever_line_end_it_had(line: str) -> None:
    ends = ["", "\n", "\r\n"]
    assert as_texts(decode_all([(line + end).encode() for end in ends]).entries.text) == [line] * 3


@pytest.mark.parametrize("form", FORMATS)
def test_a_value_above_the_limit_is_refused_before_it_is_looked_at_and_one_at_the_limit_is_not(form: Format) -> None:
    decoder = Decoder(DecodeRules(format=form, strict=True, max_record_bytes=20))
    fits = b'{"msg": "disk full"}'
    assert len(fits) == 20
    decoded = decode_all([b"\xff" * 21, fits], decoder)
    assert decoded.entries.size == 1
    assert decoded.rejected == [(0, Rejection("decode", "too_large", "too_large: 21 bytes, 20 are allowed"))]


def test_the_reason_of_what_cannot_be_decoded_says_so() -> None:
    assert rejection(b"\xff", strict=True) == Rejection("decode", "undecodable", "undecodable: not valid UTF-8")
