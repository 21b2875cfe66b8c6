"""What is encoded comes back as it was, and of any other text is said that it is damaged."""

from base64 import b64decode, b64encode

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from sinks.arrow import as_optional_texts, join_texts, string_column
from sinks.block import BlockColumns, BlockPlace, Head
from sinks.codec import (
    BlockDamaged,
    decode_fields,
    decode_head,
    decode_lines,
    decode_places,
    decode_texts,
    encode_fields,
    encode_head,
    encode_places,
    encode_texts,
    masks_of,
)
from sinks.line import Line
from sinks.lines import all_lines, lines_of
from sinks.row import TemplateText
from tests.sinks.any_lines import any_lines

PLACE = BlockPlace("logs", "0a0b0c0d", 3)
VALID = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**63 - 1)


@given(any_lines())
def test_lines_come_back_as_they_were(lines: list[Line]) -> None:
    columns = lines_of(lines)
    encoded = BlockColumns(encode_places(columns, masks="m1"), encode_texts(join_texts(columns.text)), encode_fields(columns.fields))
    assert all_lines(PLACE, decode_lines(encoded)) == lines
    assert masks_of(encoded.places) == "m1"
    bare = [line._replace(text=None, fields=None) for line in lines]
    assert all_lines(PLACE, decode_places(encoded.places)) == bare


@given(st.lists(st.none() | VALID, min_size=1))
@example([None])
@example([""])
@example(["", ""])
@example(["\n"])
@example(["a\nb", "", "\n\n"])
def test_texts_come_back_as_they_were_and_empty_ones_as_nulls(texts: list[str | None]) -> None:
    assert as_optional_texts(decode_texts(encode_texts(join_texts(string_column(texts))))) == [text or None for text in texts]


@given(st.lists(st.none() | VALID.filter(bool), min_size=1))
def test_fields_come_back_as_they_were(fields: list[str | None]) -> None:
    encoded = encode_fields(string_column(fields))
    assert (encoded == b"") == (not any(fields))
    assert as_optional_texts(decode_fields(encoded, len(fields))) == fields


@st.composite
def heads(draw: st.DrawFn) -> Head:
    rows = draw(st.lists(st.tuples(NUMBERS, st.integers(1, 2**32 - 1), NUMBERS, NUMBERS), min_size=1, unique_by=lambda row: row[0]))
    near = draw(st.sampled_from([None, 2**16, 2**32]))
    names = st.lists(VALID, unique=True).map(sorted).map(tuple)
    keys, pieces, one, other = (np.array(column, np.int64) for column in zip(*sorted(rows), strict=True))
    times = np.sort([one % near, other % near] if near else [one, other], axis=0)
    return Head(keys, pieces, times[0], np.where(pieces > 1, times[1], times[0]), draw(names), draw(names), draw(NUMBERS))


@given(heads())
def test_a_head_comes_back_as_it_was(head: Head) -> None:
    found = decode_head(encode_head(head))
    for one, other in zip(found[:4], head[:4], strict=True):
        assert isinstance(one, np.ndarray)
        assert one.dtype == np.int64
        assert one.tolist() == list(other)
    assert found[4:] == head[4:]


TWO = np.array([1, 2], np.int64)
FRAMES = (
    encode_places(
        lines_of(
            [Line("logs", "", 0, 7, 0, 0, 1, "x", TemplateText("t"), 5, 5), Line("logs", "", 0, 9, 0, 0, 1, "y", TemplateText("u"), 6, 5)]
        ),
        masks="m1",
    ),
    encode_texts(join_texts(string_column(["one", "two\nthree"]))),
)
HEAD = b64decode(encode_head(Head(TWO, TWO, TWO, TWO, ("a",), ("",), 5)))


def check_read_or_damaged(content: bytes) -> None:
    """Decode bytes as each of a block's columns."""
    for decode in (decode_places, decode_texts, lambda head: decode_head(b64encode(head).decode())):
        try:
            decode(content)
        except BlockDamaged as error:
            assert str(error)  # noqa: PT017 - both are right


@given(st.binary())
@example(b"")
@example(b"\x28\xb5\x2f\xfd" + b"\xff" * 14)
def test_any_bytes_are_read_or_damaged(content: bytes) -> None:
    check_read_or_damaged(content)


@given(st.text())
def test_any_text_is_read_as_a_head_or_damaged(text: str) -> None:
    try:
        decode_head(text)
    except BlockDamaged as error:
        assert str(error)  # noqa: PT017 - both are right


@given(st.sampled_from([*FRAMES, HEAD]), st.integers(0), st.integers(0, 255), st.booleans())
def test_a_flipped_or_a_missing_byte_is_read_or_damaged(content: bytes, at: int, byte: int, is_cut: bool) -> None:  # noqa: FBT001 - drawn
    data = bytearray(content)
    at %= len(data)
    data[at:] = b"" if is_cut else bytes([byte]) + data[at + 1 :]
    check_read_or_damaged(bytes(data))
