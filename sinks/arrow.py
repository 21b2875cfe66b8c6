"""Arrow's part of blocks: columns of strings, and what is packed into one frame. The only file of this room that imports pyarrow.

What is packed is one zstd frame around an uncompressed Arrow IPC stream, so anyone with pyarrow reads it. Threads are off: Arrow's pool
makes small blocks twice as slow (measured).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sinks.block import CodedColumn, Column
from sinks.zstd_frame import content_bytes

ZSTD_LEVEL = 1
"""Of our texts as small as level 3 (17.4 bytes a line, 17.7), and faster."""
MOST_UNPACKED_BYTES = 64_000_000
"""More than any of our blocks; a frame that claims more is damaged."""
_CODEC = pa.Codec("zstd", compression_level=ZSTD_LEVEL)
_OPTIONS = pa.ipc.IpcWriteOptions(use_threads=False)
_READ_OPTIONS = pa.ipc.IpcReadOptions(use_threads=False)
_LINE_FEED = 10

PackedColumn = NDArray[np.generic] | CodedColumn[str] | Column
"""A column that can be packed: numbers, few distinct strings, or strings."""


def give_memory_back() -> None:
    """Return to the system what Arrow keeps for later: worth it after much was read once."""
    pa.default_memory_pool().release_unused()


def string_column(values: Sequence[str | None]) -> Column:
    """Copy n texts into a column; None becomes null. Lone surrogates, which are not valid text, become `?`."""
    try:
        return pa.array(values, type=pa.string())
    except UnicodeEncodeError:
        return pa.array([None if value is None else valid_text(value) for value in values], type=pa.string())


def valid_text(text: str) -> str:
    """Return a text with each lone surrogate replaced by `?`."""
    return text.encode("utf-8", "replace").decode()


def null_column(size: int) -> Column:
    """Return n nulls."""
    return pa.nulls(size, type=pa.string())


def as_texts(column: Column) -> list[str]:
    """Return the strings of a column without nulls."""
    return list(column.to_pylist())


def as_optional_texts(column: Column) -> list[str | None]:
    """Return the strings of a column, None for nulls."""
    return list(column.to_pylist())


def text_at(column: Column, row: int) -> str | None:
    """Return one string of a column, None for null."""
    value: str | None = column[row].as_py()
    return value


def take(column: Column, rows: NDArray[np.int64]) -> Column:
    """Copy the given rows into a column of their own."""
    return column.take(pa.array(rows))


def concat(columns: Sequence[Column]) -> Column:
    """Copy several columns into one, in their order."""
    return pa.concat_arrays(list(columns)) if columns else string_column(())


def has_values(column: Column) -> bool:
    """Whether any row is not null."""
    return bool(column.null_count < len(column))


def distinct_texts(column: Column) -> Column:
    """Return each text of a column once, and null if there is one, in the order of their first use."""
    return column.unique()


def present(column: Column) -> NDArray[np.bool_]:
    """Return which rows are not null: bool[n]."""
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def utf8_of(column: Column) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return a column's memory, uncopied: all its UTF-8 bytes, and int32[n + 1] where each text begins and the last one ends.

    Row i is `data[ends[i]:ends[i + 1]]`, and `ends[0]` is 0. A null is an empty text here, unless Arrow left bytes under it.
    """
    _, offsets, data = column.buffers()
    if not len(column) or offsets is None:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int32)
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    texts = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return texts[ends[0] : ends[-1]], ends if ends[0] == 0 else ends - ends[0]


def text_bytes(column: Column) -> NDArray[np.int32]:
    """Return how many UTF-8 bytes each text has, 0 for null: int32[n]."""
    return np.diff(utf8_of(column)[1])


class JoinedTexts(NamedTuple):
    """n texts, nulls as empty ones, with a line feed between each two.

    Thread: any.
    """

    data: NDArray[np.uint8]
    """All of them."""
    ends: NDArray[np.int32]
    """int32[n + 1], without the line feeds: where each text begins and the last one ends."""


def all_bytes(column: Column) -> int:
    """Return how many UTF-8 bytes all texts have."""
    if column.null_count == len(column):
        return 0
    ends = utf8_of(column)[1]
    return int(ends[-1])


def join_texts(column: Column) -> JoinedTexts:
    """Copy n texts into one; a single one is not copied."""
    filled = column.fill_null("") if column.null_count else column
    if len(filled) == 1:
        return JoinedTexts(*utf8_of(filled))
    one = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), filled), "\n")
    return JoinedTexts(utf8_of(one)[0], utf8_of(filled)[1])


def packed_texts(joined: JoinedTexts) -> dict[str, PackedColumn]:
    """Return n ≥ 1 texts as one row to be packed: `text`.

    If a text holds a line feed itself, the row has `bytes` too, a list of how many UTF-8 bytes each text has.
    """
    size = len(joined.ends) - 1
    row = pa.py_buffer(np.array([0, len(joined.data)], np.int32))
    text = pa.StringArray.from_buffers(1, row, pa.py_buffer(joined.data))
    if np.count_nonzero(joined.data == _LINE_FEED) == size - 1:
        return {"text": text}
    return {"text": text, "bytes": pa.ListArray.from_arrays(pa.array([0, size], pa.int32()), pa.array(np.diff(joined.ends)))}


def cut_texts(columns: Mapping[str, PackedColumn]) -> Column:
    """Undo `packed_texts`. Raises ValueError."""
    data, _ = utf8_of(columns["text"])
    lengths: NDArray[np.int32] | None = columns.get("bytes")  # type: ignore[assignment]  # as `packed_texts` made it
    if lengths is None:
        breaks = np.flatnonzero(data == _LINE_FEED)
    else:
        breaks = np.cumsum(lengths[:-1], dtype=np.int64) + np.arange(len(lengths) - 1)
        if not len(lengths) or lengths.min() < 0 or int(lengths.sum(dtype=np.int64)) + len(breaks) != len(data):
            raise ValueError("the lengths of the texts do not fit their bytes")
        if (data[breaks] != _LINE_FEED).any():
            raise ValueError("the lengths of the texts do not fit its line feeds")
    # Texts and what stands between them take turns; every second one is a text.
    ends = np.zeros(2 * len(breaks) + 2, np.int32)
    ends[1:-1:2] = breaks
    ends[2:-1:2] = breaks + 1
    ends[-1] = len(data)
    both = pa.StringArray.from_buffers(2 * len(breaks) + 1, pa.py_buffer(ends), pa.py_buffer(data))
    return both.take(pa.array(np.arange(0, len(ends) - 1, 2)))  # valid, for the whole is and each cut is at a line feed


def nulls_for_empty(column: Column) -> Column:
    """Return the column with null instead of each empty text."""
    if text_bytes(column).all():
        return column
    return pc.if_else(pc.equal(pc.binary_length(column), 0), pa.scalar(None, pa.string()), column)


def grouped(
    keys: Sequence[NDArray[np.int64]], sums: NDArray[np.int64], least: NDArray[np.int64], most: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Return the distinct keys of n rows, column by column, and of each the sum, the least and the greatest of three columns."""
    names = [str(number) for number in range(len(keys))]
    rows = pa.table([*keys, sums, least, most], [*names, "sums", "least", "most"])
    groups = rows.group_by(names, use_threads=False).aggregate([("sums", "sum"), ("least", "min"), ("most", "max")])
    return [groups[name].to_numpy() for name in (*names, "sums_sum", "least_min", "most_max")]


def pack(columns: Mapping[str, PackedColumn], metadata: Mapping[str, str]) -> bytes:
    """Return columns of one length, and what the schema says of them, as a zstd frame."""
    arrays = [_array(column) for column in columns.values()]
    schema = pa.schema([pa.field(name, array.type) for name, array in zip(columns, arrays, strict=True)], metadata=dict(metadata))
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, schema, options=_OPTIONS) as writer:
        if arrays:
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    frame: bytes = _CODEC.compress(stream.getvalue(), asbytes=True)
    return frame


def unpack(frame: bytes) -> tuple[dict[str, PackedColumn], dict[str, str]]:
    """Undo `pack`. Numbers, and the one list of a row, come back as numpy arrays. Raises ValueError for what cannot be read."""
    try:
        data = _CODEC.decompress(frame, content_bytes(frame, MOST_UNPACKED_BYTES))
        with pa.ipc.open_stream(data, options=_READ_OPTIONS) as stream:
            metadata = {key.decode(): value.decode() for key, value in (stream.schema.metadata or {}).items()}
            if not stream.schema.names:
                return {}, metadata
            batch = stream.read_next_batch()
        return {name: _column(array) for name, array in zip(batch.schema.names, batch.columns, strict=True)}, metadata
    except (ValueError, OSError, StopIteration, TypeError, KeyError, NotImplementedError) as error:
        # Arrow's own errors are ValueError, KeyError, TypeError, OSError or NotImplementedError as well.
        raise ValueError(f"cannot be unpacked: {error}") from error


def _array(column: PackedColumn) -> Column:
    if isinstance(column, CodedColumn):
        codes = column.codes.astype(np.min_scalar_type(max(len(column.values) - 1, 0)))
        return pa.DictionaryArray.from_arrays(pa.array(codes), _distinct_column(column.values))
    return pa.array(column) if isinstance(column, np.ndarray) else column


def _distinct_column(values: Sequence[str]) -> Column:
    """Copy texts without lone surrogates; five times as fast as `pa.array` if all are ASCII."""
    joined = "".join(values)
    if not joined.isascii():
        return string_column(values)
    ends = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=ends[1:])
    return pa.StringArray.from_buffers(len(values), pa.py_buffer(ends), pa.py_buffer(joined.encode()))


def _column(array: Column) -> PackedColumn:
    array.validate(full=True)  # Arrow checks no list's offsets when it reads them, and ends the process when they are followed
    if pa.types.is_dictionary(array.type):
        return CodedColumn(array.indices.to_numpy(zero_copy_only=True).astype(np.int32), tuple(array.dictionary.to_pylist()))
    if pa.types.is_string(array.type):
        return array
    return (array.flatten() if pa.types.is_list(array.type) else array).to_numpy(zero_copy_only=True)
