"""Whatever defects stand in JSON, what is read is the document without them; text and what was cut off is no JSON after a repair either."""

import json
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.json_repair import CONTROL, ESCAPE, LINE, NUMBER, SEPARATOR, SURROGATE, UTF_8, JsonRepairs, replace_defects
from consumers.decode.json_text import NotJson, parse_json
from consumers.decode.json_values import documents_in, repaired_value
from consumers.decode.rules import DecodeRules


class Part(NamedTuple):
    """A part of JSON as it is written, what it means, and which defects it has."""

    written: bytes
    meant: object
    what: frozenset[str] = frozenset()


NO_NUMBERS = (
    b"NaN",
    b"nan",
    b"-nan",
    b"-nan(ind)",
    b"Infinity",
    b"-Infinity",
    b"+inf",
    b"-INF",
    b"1.#QNAN",
    b"1e999",
    b"-1E+400",
    b"9" * 400,
)
IN_STRINGS = (
    *((b"\t", "\t", CONTROL), (b"\n", "\n", CONTROL), (b"\r\n", "\r\n", CONTROL), (b"\x00", "\x00", CONTROL), (b"\x1e", "\x1e", CONTROL)),
    *((b"\xff", "\ufffd", UTF_8), (b"\xe9", "\ufffd", UTF_8), (b"\xe8\xaa", "\ufffd", UTF_8)),
    *((rb"\ud800", "\ufffd", SURROGATE), (rb"\uDFFF", "\ufffd", SURROGATE), (rb"\udabc\udabc", "\ufffd\ufffd", SURROGATE)),
    *((rb"\x41", r"\x41", ESCAPE), (rb"\u12g4", r"\u12g4", ESCAPE), (rb"\'", r"\'", ESCAPE)),
)
plain = st.text(st.characters(codec="utf-8"), max_size=6).flatmap(
    lambda text: st.booleans().map(lambda ascii_only: Part(json.dumps(text, ensure_ascii=ascii_only).encode()[1:-1], text))
)
pieces = st.one_of(plain, plain, st.sampled_from([Part(written, meant, frozenset({what})) for written, meant, what in IN_STRINGS]))


def string_of(parts: list[Part]) -> Part:
    """Return a string of parts with a blank between them, so that no two halves of surrogates meet."""
    written, meant = b" ".join(part.written for part in parts), " ".join(str(part.meant) for part in parts)
    return Part(b'"' + written + b'"', meant, frozenset().union(*(part.what for part in parts)))


strings = st.lists(pieces, max_size=4).map(string_of)
leaves = st.one_of(
    strings,
    st.sampled_from([Part(written, None, frozenset({NUMBER})) for written in NO_NUMBERS]),
    st.one_of(st.none(), st.booleans(), st.integers(-(1 << 63), 1 << 63), st.floats(allow_nan=False, allow_infinity=False)).map(
        lambda value: Part(json.dumps(value).encode(), value)
    ),
)
spaces = st.sampled_from([b"", b"", b" ", b"\n\t"])


def object_of(pairs: list[tuple[Part, Part, bytes]]) -> Part:
    written = b",".join(space + key.written + space + b":" + value.written + space for key, value, space in pairs)
    meant = {str(key.meant): value.meant for key, value, _ in pairs}
    return Part(b"{" + written + b"}", meant, frozenset().union(*(part.what for key, value, _ in pairs for part in (key, value))))


def array_of(parts: list[Part]) -> Part:
    written = b", ".join(part.written for part in parts)
    return Part(b"[" + written + b"]", [part.meant for part in parts], frozenset().union(*(part.what for part in parts)))


def objects(values: st.SearchStrategy[Part]) -> st.SearchStrategy[Part]:
    return st.lists(st.tuples(strings, values, spaces), max_size=4).map(object_of)


documents = objects(st.recursive(leaves, lambda inner: st.one_of(objects(inner), st.lists(inner, max_size=3).map(array_of)), max_leaves=8))
borders = st.sampled_from([b"\n", b"\r\n", b"\0", b"\x1e", b"\n\x1e", b"\0\n", b"\n\xef\xbb\xbf"])


@settings(deadline=None)
@given(document=documents)
def test_a_document_with_defects_is_the_document_without_them(document: Part) -> None:
    tally = DecodeTally()
    assert JsonRepairs(DecodeRules(), tally).parse(document.written, parse_json) == document.meant
    assert tally.repaired == dict.fromkeys(document.what, 1)
    assert tally.replaced_records == (UTF_8 in document.what)
    if not document.what:
        assert replace_defects(document.written) is None


@settings(deadline=None)
@given(several=st.lists(documents, min_size=1, max_size=4), border=borders)
def test_defects_between_objects_and_in_them_spoil_none(several: list[Part], border: bytes) -> None:
    value = border.join(one.written for one in several) + border
    what = frozenset().union(*(one.what for one in several)) | ({SEPARATOR} if border.strip() else set())
    if not what:
        assert documents_in(value, max_entries=9) == [one.meant for one in several]
        return
    repaired = repaired_value(value, max_entries=9, strict=False, keeps_lines=False)
    assert repaired is not None
    assert repaired.what == what
    assert documents_in(repaired.value, max_entries=9) == [one.meant for one in several]


@settings(deadline=None)
@given(document=documents, share=st.floats(0, 1, exclude_max=True), keeps_lines=st.booleans())
def test_what_was_cut_off_is_no_json_after_a_repair(document: Part, share: float, keeps_lines: bool) -> None:  # noqa: FBT001
    cut = document.written[: int(share * len(document.written))]
    repaired = repaired_value(cut, max_entries=9, strict=False, keeps_lines=keeps_lines)
    with pytest.raises(NotJson):
        documents_in(repaired.value if repaired else cut, max_entries=9)


@settings(deadline=None)
@given(
    good=st.lists(documents, min_size=2, max_size=3), bad=st.sampled_from([b'{"a":1', b'{"a" 1}', b'{"a":"b', b'{"a":1}}']), data=st.data()
)
def test_a_bad_line_is_text_and_spoils_no_other(good: list[Part], bad: bytes, data: st.DataObject) -> None:
    lines = [one.written.replace(b"\n", b" ").replace(b"\0", b" ").replace(b"\x1e", b" ") for one in good]
    expected = [JsonRepairs(DecodeRules()).parse(line, parse_json) for line in lines]
    place = data.draw(st.integers(0, len(lines)))
    value = b"\n".join([*lines[:place], bad, *lines[place:]])
    repaired = repaired_value(value, max_entries=9, strict=False, keeps_lines=True)
    assert repaired is not None
    assert documents_in(repaired.value, max_entries=9) == [*expected[:place], {"body": bad.decode()}, *expected[place:]]
    assert LINE in repaired.what


@given(value=st.one_of(st.text().map(str.encode), st.binary(max_size=64), st.from_regex(rb"[{\[\"a:,\\\x00\tN]{1,40}")))
def test_bytes_of_any_kind_are_repaired_or_not(value: bytes) -> None:
    repaired = replace_defects(value)
    if repaired is not None:
        again = replace_defects(repaired.value)
        assert repaired.what
        assert again is None
