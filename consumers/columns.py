"""Columns of strings in Arrow's memory, and columns with few distinct values: what decoding, redaction and masks hand on.

The only file of this room that imports pyarrow; `consumers.text.regex` searches columns. The strings of a column have together less than
2 GiB.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Column = Any
"""n strings (or nulls) in Arrow's memory, a `pyarrow.Array`. The binding has no types."""

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"


class Coded(NamedTuple):
    """A column with few distinct values.

    Thread: any.
    """

    codes: NDArray[np.int32]
    """int32[n]: places in `values`."""
    values: tuple[str, ...]
    """Distinct; every value is used."""

    def text(self, i: int) -> str:
        """Return the value of row `i`."""
        return self.values[int(self.codes[i])]


def string_column(values: Sequence[str | None]) -> Column:
    """Copy n texts into a column; None becomes null. Lone surrogates, which are not valid text, become `?`."""
    try:
        return pa.array(values, type=pa.string())
    except UnicodeEncodeError:
        return pa.array([None if value is None else value.encode("utf-8", "replace").decode() for value in values], type=pa.string())


def null_column(size: int) -> Column:
    """Return n nulls."""
    return pa.nulls(size, type=pa.string())


def byte_column(values: Sequence[bytes | None]) -> Column:
    """Copy n byte strings into a column of bytes, which `as_text` makes one of texts; None becomes null."""
    return pa.array(values, type=pa.binary())


def as_text(column: Column) -> Column | None:
    """Return a column of bytes as one of texts, without a copy; None if one of them is not valid UTF-8."""
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        return None


def bytes_of(column: Column) -> tuple[list[bytes], Column]:
    """Return n texts without nulls as byte strings, one by one and as a column, which is not copied."""
    column = column.cast(pa.binary())
    return column.to_pylist(), column


def as_texts(column: Column) -> list[str]:
    """Return the n texts of a column without nulls."""
    texts: list[str] = column.to_pylist()
    return texts


def find_whole(texts: Sequence[str], pattern: str) -> list[int]:
    """Return the places of the texts, a few short ones, that an RE2 pattern matches from end to end."""
    found: list[int] = pc.indices_nonzero(pc.match_substring_regex(string_column(texts), pattern=rf"\A(?:{pattern})\z")).to_pylist()
    return found


def present(column: Column) -> NDArray[np.bool_]:
    """Return which rows are not null: bool[n]."""
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)


def take(column: Column, rows: NDArray[np.int64]) -> Column:
    """Copy the given rows into a column of their own."""
    return column.take(pa.array(rows))


def concat(columns: Sequence[Column]) -> Column:
    """Copy several columns into one, in their order."""
    return pa.concat_arrays(list(columns)) if columns else string_column(())


def replace_rows(column: Column, rows: NDArray[np.int64], texts: Column) -> Column:
    """Return a copy of a column with other texts in the given rows, which are ascending."""
    chosen = np.zeros(len(column), np.bool_)
    chosen[rows] = True
    return pc.replace_with_mask(column, chosen, texts)


def utf8_of(column: Column) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return a column's memory, uncopied: all its bytes, and int32[n + 1] where each string begins and the last one ends.

    Row i is `data[ends[i]:ends[i + 1]]`, and `ends[0]` is 0. A null is an empty string here, unless Arrow left bytes under it.
    """
    _, offsets, data = column.buffers()
    if not len(column) or offsets is None:
        return np.empty(0, np.uint8), np.zeros(len(column) + 1, np.int32)
    ends = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    utf8 = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return utf8[ends[0] : ends[-1]], ends if ends[0] == 0 else ends - ends[0]


def text_bytes(column: Column) -> NDArray[np.int32]:
    """Return how many bytes each string has, 0 for null: int32[n]."""
    return np.diff(utf8_of(column)[1])


def join_texts(parts: Sequence[Column | str]) -> Column:
    """Join the texts of each row of several columns; a part that is the same in all rows is given once. Null where one is null."""
    return pc.binary_join_element_wise(*parts, "")


def cut_texts(column: Column, begins: NDArray[np.integer], ends: NDArray[np.integer]) -> Column:
    """Copy a stretch of each of n strings: its bytes `begins` to before `ends`, both int[n], which may not lie within a character."""
    data, places = utf8_of(column)
    # Every second of these strings is one that was asked for; those between are what is left over.
    both = np.empty(2 * len(column) + 1, np.int32)
    both[0:-1:2], both[1::2] = places[:-1] + begins, places[:-1] + ends
    both[-1] = places[-1]
    kind = pa.BinaryArray if column.type == pa.binary() else pa.StringArray
    turns = kind.from_buffers(2 * len(column), pa.py_buffer(both), pa.py_buffer(data))
    return take(turns, np.arange(0, 2 * len(column), 2))


def line_column(lines: bytes) -> Column:
    """Make a column of lines of valid UTF-8 that each end with a line feed, which is not part of them."""
    data = np.frombuffer(lines, np.uint8)
    line_ends = np.flatnonzero(data == _LINE_FEED)
    both = np.zeros(2 * len(line_ends) + 1, np.int32)
    both[1::2], both[2::2] = line_ends, line_ends + 1
    turns = pa.StringArray.from_buffers(2 * len(line_ends), pa.py_buffer(both), pa.py_buffer(lines))
    return take(turns, np.arange(0, 2 * len(line_ends), 2))


def strip_line_ends(column: Column) -> Column:
    """Remove one line end from each text: a line feed, and one carriage return before it. The same column if no text has one."""
    data, ends = utf8_of(column)
    filled = np.flatnonzero(np.diff(ends))
    ended = filled[data[ends[filled + 1] - 1] == _LINE_FEED]
    if not len(ended):
        return column
    stripped = ends[1:].copy()
    stripped[ended] -= 1
    ended = ended[stripped[ended] > ends[ended]]
    stripped[ended[data[stripped[ended] - 1] == _CARRIAGE_RETURN]] -= 1
    # Texts and what was removed after them take turns; every second one is a text. Both are valid, being cut before ASCII.
    both = np.empty(2 * len(column) + 1, np.int32)
    both[0::2], both[1::2] = ends, stripped
    turns = pa.StringArray.from_buffers(2 * len(column), pa.py_buffer(both), pa.py_buffer(data))
    return take(turns, np.arange(0, 2 * len(column), 2))


def coded(column: Column) -> Coded:
    """Return the distinct texts of a column without nulls, in the order of their first use."""
    codes, values = distinct_texts(column)
    return Coded(codes, tuple(as_texts(values)))


def distinct_texts(column: Column) -> tuple[NDArray[np.int32], Column]:
    """Return for a column of n texts without nulls int32[n], places in a column of its distinct texts in the order of their first use."""
    encoded = column.dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), encoded.dictionary


def coded_texts(texts: Iterable[str]) -> Coded:
    """Return n strings as codes into their distinct values, in the order of their first use."""
    texts = tuple(texts)
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return Coded(np.fromiter(map(places.__getitem__, texts), np.int32, len(texts)), tuple(places))


def coded_alike(value: str, size: int) -> Coded:
    """Return n times the same string."""
    return Coded(np.zeros(size, np.int32), (value,) if size else ())


def used_values(codes: NDArray[np.int32], values: Sequence[str]) -> Coded:
    """Return a column with those of its values that it uses."""
    used = np.zeros(len(values), np.bool_)
    used[codes] = True
    if used.all():
        return Coded(codes, tuple(values))
    places = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return Coded(places[codes], tuple(values[i] for i in np.flatnonzero(used).tolist()))
