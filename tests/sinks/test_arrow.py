"""Columns of strings, and what is packed into one text, behave at their edges."""

import io

import numpy as np
import pyarrow as pa
import pytest

from sinks.arrow import (
    MOST_UNPACKED_BYTES,
    as_optional_texts,
    as_texts,
    concat,
    cut_texts,
    has_values,
    join_texts,
    null_column,
    pack,
    packed_texts,
    present,
    string_column,
    take,
    text_at,
    text_bytes,
    unpack,
    utf8_of,
)
from sinks.block import CodedColumn


def test_lone_surrogates_become_question_marks_and_all_else_survives() -> None:
    texts = ["a\ud800b", "", "\0", "日\n志", "\U0010ffff"]
    assert as_texts(string_column(texts)) == ["a?b", *texts[1:]]
    assert as_optional_texts(string_column(["\udfff", None])) == ["?", None]


def test_a_column_knows_which_rows_it_has() -> None:
    column = string_column(["a", None, "c"])
    assert (as_optional_texts(take(column, np.array([2, 1, 1]))), text_at(column, 1), text_at(column, 2)) == (["c", None, None], None, "c")
    assert present(column).tolist() == [True, False, True]
    assert (has_values(column), has_values(null_column(2)), has_values(null_column(0))) == (True, False, False)
    assert as_optional_texts(concat([column, null_column(1), string_column(["d"])])) == ["a", None, "c", None, "d"]
    assert len(concat([])) == 0


def test_the_memory_of_a_column_is_not_copied_and_begins_at_0() -> None:
    column = string_column(["one", "zwölf", None, "vier"])
    data, ends = utf8_of(column)
    assert [data[ends[i] : ends[i + 1]].tobytes().decode() for i in range(4)] == ["one", "zwölf", "", "vier"]
    assert np.shares_memory(data, np.frombuffer(column.buffers()[2], np.uint8))
    data, ends = utf8_of(column[1:])
    assert (data.tobytes().decode(), ends.tolist()) == ("zwölfvier", [0, 6, 6, 10])
    assert [part.tolist() for part in utf8_of(string_column([]))] == [[], [0]]
    assert [part.tolist() for part in utf8_of(null_column(2))] == [[], [0, 0, 0]]
    assert text_bytes(column[1:]).tolist() == [6, 0, 4]


def test_what_lies_in_memory_under_a_null_is_not_joined() -> None:
    ends, valid = pa.py_buffer(np.array([0, 1, 4, 5], np.int32)), pa.py_buffer(b"\x05")
    joined = join_texts(pa.StringArray.from_buffers(3, ends, pa.py_buffer(b"aBBBc"), valid))
    assert (joined.data.tobytes(), joined.ends.tolist()) == (b"a\n\nc", [0, 1, 1, 2])


def test_lengths_are_only_kept_for_texts_with_line_feeds() -> None:
    assert set(packed_texts(join_texts(string_column(["a", "b"])))) == {"text"}
    assert set(packed_texts(join_texts(string_column(["a", "b\n"])))) == {"text", "bytes"}


@pytest.mark.parametrize("lengths", [[1, 2], [1, -1, 3], [], [4]])
def test_lengths_that_do_not_fit_the_texts_are_refused(lengths: list[int]) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        cut_texts({"text": string_column(["a\nb"]), "bytes": np.array(lengths, np.int32)})


def test_a_cut_within_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="line feeds"):
        cut_texts({"text": string_column(["ü\nü"]), "bytes": np.array([1, 3], np.int32)})


def test_columns_of_all_kinds_come_back_from_their_text() -> None:
    coded = CodedColumn(np.array([1, 0, 1], np.int32), ("x", "日志"))
    numbers = np.array([3, 2**40, -1])
    columns, metadata = unpack(pack({"n": numbers, "c": coded, "s": string_column(["a", None, "c"])}, {"key": "välue"}))
    assert columns["n"].tolist() == numbers.tolist()  # type: ignore[union-attr]
    assert (columns["c"].codes.tolist(), columns["c"].values) == ([1, 0, 1], ("x", "日志"))  # type: ignore[union-attr]
    assert as_optional_texts(columns["s"]) == ["a", None, "c"]
    assert metadata == {"key": "välue"}
    assert unpack(pack({}, {"only": "metadata"})) == ({}, {"only": "metadata"})


def test_codes_without_a_value_are_refused() -> None:
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 7], pa.int8()), pa.array(["x"]), safe=False)
    with pytest.raises(ValueError, match="unpacked"):
        unpack(pack({"c": wrong}, {}))


def test_more_than_256_values_need_wider_codes() -> None:
    coded = CodedColumn(np.arange(300, dtype=np.int32), tuple(map(str, range(300))))
    columns, _ = unpack(pack({"c": coded}, {}))
    assert columns["c"].codes.tolist() == list(range(300))  # type: ignore[union-attr]


def test_what_is_packed_is_one_zstd_frame_around_an_arrow_stream() -> None:
    frame = pack({"n": np.arange(3)}, {"key": "value"})
    table = pa.ipc.open_stream(pa.input_stream(io.BytesIO(frame), compression="zstd")).read_all()
    assert table.to_pydict() == {"n": [0, 1, 2]}
    assert table.schema.metadata == {b"key": b"value"}


def _frame(header: bytes) -> bytes:
    return b"\x28\xb5\x2f\xfd" + header


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (b"", "not a zstd frame"),
        (b"PK\3\4 something else", "not a zstd frame"),
        (_frame(b"\x00\x00"), "how much"),
        (_frame(b"\xe0" + (MOST_UNPACKED_BYTES + 1).to_bytes(8, "little")), "how much"),
        (_frame(b"\xa0" + (100).to_bytes(4, "little") + b"\xff" * 20), "ZSTD"),
        (pa.Codec("zstd").compress(b"no arrow", asbytes=True), "unpacked"),
    ],
)
def test_what_cannot_be_unpacked_says_why(frame: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack(frame)


@pytest.mark.parametrize("size", [10, 255, 256, 257, 65_791, 65_792, 1_000_000])
def test_frames_of_every_size_class_are_read(size: int) -> None:
    columns, _ = unpack(pack({"s": string_column(["x" * size])}, {}))
    assert as_texts(columns["s"]) == ["x" * size]


def test_a_list_that_leads_out_of_its_memory_cannot_be_unpacked() -> None:
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, pa.schema([("bytes", pa.list_(pa.int32()))])) as writer:
        writer.write_batch(pa.record_batch({"bytes": pa.array([[1, 2, 3]], pa.list_(pa.int32()))}))
    good = written.getvalue().to_pybytes()
    columns, _ = unpack(pa.Codec("zstd").compress(good, asbytes=True))
    assert np.asarray(columns["bytes"]).tolist() == [1, 2, 3]
    before, offsets, after = good.rpartition(np.array([0, 3], "<i4").tobytes())
    assert offsets
    bad = before + np.array([1 << 27, 3], "<i4").tobytes() + after
    with pytest.raises(ValueError, match="unpacked"):
        unpack(pa.Codec("zstd").compress(bad, asbytes=True))
