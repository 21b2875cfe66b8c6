"""Decoding: good and bad records as found in topics; what cannot be decoded is rejected with a reason."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
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


def entries(value: bytes) -> list[Entry]:
    """Return (sub, text, service, level) of each entry of a value that can be decoded."""
    decoded = decode_all([value])
    assert not decoded.rejected
    return [entry[1:] for entry in entries_of(decoded)]


def texts(value: bytes) -> list[str]:
    return [text for _, text, _, _ in entries(value)]


def tallied(decoder: Decoder) -> tuple[int, int, int, int]:
    """Return how many records were text, JSON, with bytes replaced, and rejected."""
    records = decoder.tally.records
    return records["text"], records["json"], decoder.tally.replaced_records, records["none"]


def as_json(document: Any) -> bytes:  # noqa: ANN401 - any JSON
    return json.dumps(document).encode()


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def test_entries_of_text_and_json_are_in_the_order_of_their_records() -> None:
    values = [b"a\n", b'{"msg": "b"}', b"", b'[{"msg": "c", "app": "x"}, {}, {"msg": "d"}]', b" e", b"[f]", None, b"{}", b'{"n": 1}', b"g"]
    decoded = decode_all(values)
    assert entries_of(decoded) == [
        *((0, 0, "a", "", ""), (1, 0, "b", "", ""), (3, 0, "c", "x", ""), (3, 2, "d", "", ""), (4, 0, " e", "", "")),
        *((5, 0, "[f]", "", ""), (8, 0, '{"n":1}', "", ""), (9, 0, "g", "", "")),
    ]
    assert decoded.empty.tolist() == [2, 6, 7]


def test_bad_values_do_no_harm_to_their_neighbours() -> None:
    values = [b"a", b"\xff", b'{"msg": "b"}', b'{"msg": "\xff"}', b"x" * 21, b"c\n", b"\xff" * 21, b'[{"msg":1},{"a":1}]']
    replacing, strict, only_json = (
        Decoder(DecodeRules(max_record_bytes=20)),
        Decoder(DecodeRules(strict=True, max_record_bytes=20, max_entries=1)),
        Decoder(DecodeRules(format="json", max_record_bytes=20)),
    )
    assert [(row, text) for row, _, text, _, _ in entries_of(decode_all(values, replacing))] == [
        *((0, "a"), (1, "�"), (2, "b"), (3, "�"), (5, "c"), (7, '{"msg":1}'), (7, '{"a":1}')),
    ]
    assert tallied(replacing) == (3, 3, 2, 2)
    decoded = decode_all(values, strict)
    assert [(row, text) for row, _, text, _, _ in entries_of(decoded)] == [(0, "a"), (2, "b"), (5, "c")]
    assert [(row, reason.kind) for row, reason in decoded.rejected] == [
        *((1, "undecodable"), (3, "undecodable"), (4, "too_large"), (6, "too_large"), (7, "too_many_entries")),
    ]
    assert tallied(strict) == (2, 1, 0, 5)
    decoded = decode_all(values, only_json)
    assert [(row, text) for row, _, text, _, _ in entries_of(decoded)] == [(2, "b"), (3, "�"), (7, '{"msg":1}'), (7, '{"a":1}')]
    assert [row for row, _ in decoded.rejected] == [0, 1, 4, 5, 6]


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


@pytest.mark.parametrize("depth", [10, 254])
def test_deep_json_is_written_again(depth: int) -> None:
    assert texts(nested(depth)) == [nested(depth).decode()]


@pytest.mark.parametrize("depth", [255, 1000, 1025, 100_000])
def test_json_too_deep_to_write_or_to_read_is_text_or_refused(depth: int) -> None:
    assert texts(nested(depth)) == [nested(depth).decode()]
    assert texts(b"[" + nested(depth) + b"]") == [f"[{nested(depth).decode()}]"]
    ((_, rejection),) = decode_all([nested(depth)], Decoder(DecodeRules(format="json"))).rejected
    assert "JSON" in rejection.reason
    assert texts(b'{"deep": ' + nested(min(depth, 1000)) + b', "msg": "shallow"}') == ["shallow"]


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
