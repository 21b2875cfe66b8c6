"""What is sent is what pymilvus's own messages say, and what was rounded to fewer bits comes back close and of length 1."""

from typing import Any

import numpy as np
import pytest
from pymilvus import DataType
from pymilvus.grpc_gen import schema_pb2

from sinks.milvus.fields import Field, Kind
from sinks.milvus.packing import fill, pack, unpack

DRAW = np.random.default_rng(11)


@pytest.mark.parametrize("shape", [(1, 1), (3, 8), (700, 384)])
def test_floats_are_sent_as_if_one_by_one(shape: tuple[int, int]) -> None:
    vectors = DRAW.standard_normal(shape).astype(np.float32)
    column = schema_pb2.FieldData()
    fill(column, Field("vector", "vector", shape[1]), np.asfortranarray(vectors))
    assert column.vectors.dim == shape[1]
    assert np.array_equal(np.array(column.vectors.float_vector.data, np.float32), vectors.ravel())


@pytest.mark.parametrize(("kind", "bits", "off"), [("float16", 16, 1e-3), ("bfloat16", 16, 8e-3), ("int8", 8, 2e-2)])
def test_fewer_bits_are_close_and_of_length_one(kind: Kind, bits: int, off: float) -> None:
    vectors = DRAW.standard_normal((50, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    column = schema_pb2.FieldData()
    fill(column, Field("vector", kind, 384), vectors)
    packed = getattr(column.vectors, f"{kind}_vector")
    assert len(packed) == 50 * 384 * bits // 8
    for vector, start in zip(vectors, range(0, len(packed), 384 * bits // 8), strict=True):
        raw = packed[start : start + 384 * bits // 8]
        again = unpack(raw, kind)
        assert np.array_equal(again, unpack([raw], kind))
        assert np.linalg.norm(again) == pytest.approx(1.0, abs=1e-6)
        assert np.linalg.norm(again - vector) < off


def test_bfloat16_rounds_to_the_nearest_and_halves_to_even() -> None:
    exact = np.array([1.0, -2.0, 0.0], np.float32)
    assert [unpack(pack(np.array([value, 0], np.float32), "bfloat16"), "bfloat16")[0] for value in exact] == [1.0, -1.0, 0.0]
    bits = np.array([0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001], "<u4").view("<f4")
    assert np.frombuffer(pack(bits, "bfloat16"), "<u2").tolist() == [0x3F80, 0x3F82, 0x3F80, 0x3F81]


def test_a_vector_of_nothing_stays_one() -> None:
    assert unpack(pack(np.zeros((1, 4), np.float32), "int8"), "int8").tolist() == [0.0] * 4


def test_an_integer_too_large_for_its_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="out of range"):
        fill(schema_pb2.FieldData(), Field("partition", "int32"), [1 << 40])


@pytest.mark.parametrize(
    ("kind", "number", "values", "empty"),
    [
        ("int64s", DataType.INT64, [[-(1 << 63), -1, (1 << 63) - 1], [], [7]], "long_data"),
        ("int32s", DataType.INT32, [[0, (1 << 28) - 1], []], "int_data"),
        ("varchars", DataType.VARCHAR, [["", 'a"b', "\x00"], []], "string_data"),
    ],
)
def test_arrays_are_sent_as_pymilvus_sends_them(kind: Kind, number: DataType, values: list[list[Any]], empty: str) -> None:
    column = schema_pb2.FieldData()
    fill(column, Field("words", kind, 8), values)
    assert column.scalars.array_data.element_type == number
    assert [list(getattr(row, empty).data) for row in column.scalars.array_data.data] == values


def test_an_integer_too_large_for_its_array_is_an_error() -> None:
    with pytest.raises(ValueError, match="out of range"):
        fill(schema_pb2.FieldData(), Field("words", "int32s", 8), [[1 << 40]])
