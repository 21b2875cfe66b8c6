"""Encoded columns are small, say what they are, leave out defaults, and can be read by anyone with pyarrow."""

import base64
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sinks.arrow import join_texts, pack, string_column, unpack
from sinks.block import BlockColumns, BlockPlace, CodedColumn, Head
from sinks.build import build
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
from sinks.milvus.fields import blocks_layout
from sinks.milvus.writing import block_columns
from tests.world import TEMPLATE_TEXT, line

PLACE = BlockPlace("logs", "0a0b0c0d", 0)
TIME = 1_700_000_000_000


def columns_of(lines: list[Line]) -> set[str]:
    return set(unpack(encode_places(lines_of(lines), masks="m1"))[0])


def test_anyone_reads_a_block_in_three_lines() -> None:
    (built,) = build(lines_of([line(5, service="", level=""), line(7, level="", template_text="text <num>")]), masks="m1", written_ms=TIME)
    columns = zip(blocks_layout("vectail").names, block_columns([built.block]), strict=True)
    block = {name: column[0] for name, column in columns if isinstance(column[0], str)}  # what pymilvus answers

    def table(text: str) -> pa.Table:
        return pa.ipc.open_stream(pa.input_stream(io.BytesIO(base64.b64decode(text)), compression="zstd")).read_all()

    places, texts = table(block["places"]), table(block["texts"])["text"][0].as_py().split("\n")
    assert texts == ["line 5", "line 7"]
    assert places.to_pydict() == {"offset": [0, 2], "time": [0, 2_000], "service": ["", "sshd"], "template": [TEMPLATE_TEXT, "text <num>"]}
    metadata = {key.decode(): value.decode() for key, value in places.schema.metadata.items()}
    assert metadata == {
        "vectail.layout": "2",
        "vectail.masks": "m1",
        "vectail.lines": "2",
        "vectail.offset": "5",
        "vectail.time": "5000",
    }


def test_columns_with_nothing_but_defaults_are_left_out() -> None:
    assert columns_of([line(5), line(6)]) == {"time", "template"}, "one service and one level are said once"
    assert columns_of([line(5), line(7)]) == {"time", "template", "offset"}


@pytest.mark.parametrize(("spread", "dtype"), [(2**16 - 1, np.uint16), (2**16, np.uint32), (2**32 - 1, np.uint32), (2**32, np.int64)])
def test_times_and_offsets_are_as_wide_as_they_must_be(spread: int, dtype: type) -> None:
    lines = [line(7, time=TIME), line(7 + spread, time=TIME - 100), line(8, time=TIME - 100 + spread)]
    frame = encode_places(lines_of(lines), masks="")
    columns, metadata = unpack(frame)
    assert {columns["offset"].dtype, columns["time"].dtype} == {np.dtype(dtype)}  # type: ignore[union-attr]
    assert ("vectail.time" in metadata) == (spread < 2**32)
    assert all_lines(PLACE, decode_places(frame)) == [one._replace(text=None) for one in lines]


def test_a_block_of_ten_lines_takes_less_than_a_kilobyte() -> None:
    texts = [f"Failed password for invalid user webmaster from 173.234.31.{i * 37 % 256} port {38_926 + i * 611} ssh2" for i in range(10)]
    template = "Failed password for invalid user <user> from <ip> port <num> ssh2"
    lines = [line(i, text=text, template_text=template, service="sshd", level="INFO") for i, text in enumerate(texts)]
    (built,) = build(lines_of(lines), masks="m1", written_ms=TIME)
    columns = (built.block.places, built.block.texts, base64.b64decode(encode_head(built.block.head)))
    assert sum(map(len, columns)) <= 1_024


def test_texts_and_fields_that_were_not_read_are_null() -> None:
    lines = [line(5, fields='{"a":1}'), line(6)]
    columns = lines_of(lines)
    places, texts, fields = encode_places(columns, masks=""), encode_texts(join_texts(columns.text)), encode_fields(columns.fields)
    assert all_lines(PLACE, decode_lines(BlockColumns(places, texts, fields))) == lines
    bare = decode_lines(BlockColumns(places, b"", b""))
    assert (bare.text.null_count, bare.fields.null_count) == (2, 2)
    assert decode_lines(BlockColumns(places, texts, b"")).fields.null_count == 2
    assert decode_fields(b"", 3).null_count == 3


def test_columns_of_different_blocks_are_damaged() -> None:
    two, three = lines_of([line(1), line(2)]), lines_of([line(1, fields="{}"), line(2), line(3)])
    for columns in (BlockColumns(b"", encode_texts(join_texts(three.text)), b""), BlockColumns(b"", b"", encode_fields(three.fields))):
        with pytest.raises(BlockDamaged, match=r"2 lines and the .* of 3"):
            decode_lines(columns._replace(places=encode_places(two, masks="")))


def places_of(metadata: dict[str, str], **columns: Any) -> bytes:  # noqa: ANN401 - whatever a foreign writer packs
    good = {"time": np.arange(2, dtype=np.uint16), "template": CodedColumn(np.zeros(2, np.int32), ("t",))}
    marks = {"vectail.layout": "2", "vectail.lines": "2", "vectail.offset": "5", "vectail.time": "9"}
    return pack({name: column for name, column in (good | columns).items() if column is not None}, marks | metadata)


def test_places_with_the_smallest_of_columns_are_read() -> None:
    assert decode_places(places_of({})).offset.tolist() == [5, 6]
    assert masks_of(places_of({})) == ""


@pytest.mark.parametrize(
    "frame",
    [
        places_of({"vectail.layout": "3"}),
        places_of({"vectail.lines": "3"}),
        places_of({"vectail.lines": "x"}),
        places_of({"vectail.lines": "-1"}),
        places_of({"vectail.offset": "x"}),
        places_of({}, time=None),
        places_of({}, template=None),
        places_of({}, time=string_column(["a", "b"])),
        places_of({}, template=string_column(["a", "b"])),
        places_of({}, sub=string_column(["a", "b"])),
        places_of({}, service=np.arange(2)),
        pack({}, {"vectail.layout": "2"}),
        pack({"n": np.arange(2)}, {}),
    ],
)
def test_places_that_are_not_ours_are_damaged(frame: bytes) -> None:
    with pytest.raises(BlockDamaged):
        decode_places(frame)
    with pytest.raises(BlockDamaged):
        decode_texts(frame)


def test_a_head_with_one_piece_of_each_template_says_its_times_once() -> None:
    ones, twos = np.ones(100, np.int64), np.full(100, 2, np.int64)
    keys = np.arange(100, dtype=np.int64)
    single = encode_head(Head(keys, ones, keys + TIME, keys + TIME, ("",), ("",), TIME))
    double = encode_head(Head(keys, twos, keys + TIME, keys + TIME, ("",), ("",), TIME))
    assert len(base64.b64decode(double)) - len(base64.b64decode(single)) == 200


def test_a_head_of_another_version_or_length_is_damaged() -> None:
    one = np.ones(1, np.int64)
    head = base64.b64decode(encode_head(Head(one, one, one, one, ("a",), ("b",), TIME)))
    for wrong in (b"\x09" + head[1:], head + b"\0", head[:-1], head[:1] + b"\x03" + head[2:], b"", head[:-1] + b"\xff"):
        with pytest.raises(BlockDamaged):
            decode_head(base64.b64encode(wrong).decode())
    with pytest.raises(BlockDamaged):
        decode_head("ä")
