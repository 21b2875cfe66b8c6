"""Rows become columns: bounded batches, each id once, every value checked before anything is sent.

Pure functions, called by the sink's two upserts. A value that no column takes is the row's fault (`SinkRejected`); a vector
that is not finite or has another dimension is ours (`ValueError`). Whole columns are checked at C speed, and a value is
looked at alone only where its column looks suspicious.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.client import Client
from sinks.milvus.faults import MilvusFault
from sinks.milvus.fields import PAD_DIM, Field, Layout
from sinks.milvus.packing import ColumnValues
from sinks.row import LineRow, TemplateRow
from sinks.sink import SinkRejected

BATCH_ROWS = 2_000
BATCH_BYTES = 16 * 1024 * 1024
_ROW_BYTES = 1_536
"""Counted for all of a row but its text and its vector: the bounds of the other columns together, rounded up."""
_CHARACTER_BYTES = 4
"""The most that one character takes in UTF-8."""
_INTEGER_BOUND = {"int32": 1 << 31, "int64": 1 << 63}


def line_batches(rows: Sequence[LineRow], layout: Layout) -> Iterator[tuple[ColumnValues, ...]]:
    """Yield the columns of `layout`, at most `BATCH_ROWS` rows and `BATCH_BYTES` bytes at a time.

    Raises SinkRejected before the first batch if a row has a value that its column cannot hold.
    """
    last = {row.id: row for row in rows}
    columns = dict(zip(LineRow._fields, zip(*last.values(), strict=True), strict=False))
    brought = layout.fields[:-1]
    for field in brought if columns else ():
        check = _check_texts if field.kind == "varchar" else _check_integers
        check(field, columns[field.name], columns["id"])
    for start, end in _parts(columns.get("text", ()), 4 * PAD_DIM):
        pad = () if layout.vector.computed_from else (np.zeros((end - start, PAD_DIM), np.float32),)
        yield *(columns[field.name][start:end] for field in brought), *pad


def template_batches(rows: Sequence[TemplateRow], layout: Layout) -> Iterator[tuple[ColumnValues, ...]]:
    """Yield the columns of `layout` in bounded batches, as `line_batches` does.

    Raises ValueError for a vector that is not float32[dim] and finite, SinkRejected for a text that does not fit.
    """
    last = {row.digest: row for row in rows}
    dim = layout.vector.limit
    for row in last.values():
        check_vector(row.vector, dim, f"template {row.digest}")
    if not last:
        return
    digests, texts = tuple(last), tuple(row.text for row in last.values())
    _check_texts(layout.fields[0], digests, digests)
    _check_texts(layout.fields[1], texts, digests)
    vectors = [row.vector for row in last.values()]
    for start, end in _parts(texts, 4 * dim):
        yield digests[start:end], texts[start:end], np.stack(vectors[start:end])


def check_vector(vector: NDArray[np.float32], dim: int, whose: str) -> None:
    """Raise ValueError unless `vector` is [dim] and finite: Milvus Lite takes NaN without a word."""
    if vector.shape != (dim,):
        raise ValueError(f"the vector of {whose} has shape {vector.shape}, expected ({dim},)")
    if not np.isfinite(vector).all():
        raise ValueError(f"the vector of {whose} is not finite")


def _parts(texts: Sequence[str], vector_bytes: int) -> Iterator[tuple[int, int]]:
    """Cut rows into batches, by rows and by bytes; a row larger than a batch would be one of its own."""
    start = taken_bytes = 0
    for index, text in enumerate(texts):
        size_bytes = (len(text) if text.isascii() else len(text.encode())) + vector_bytes + _ROW_BYTES
        if index - start == BATCH_ROWS or (index > start and taken_bytes + size_bytes > BATCH_BYTES):
            yield start, index
            start, taken_bytes = index, 0
        taken_bytes += size_bytes
    if texts:
        yield start, len(texts)


def _check_texts(field: Field, values: Sequence[str], keys: Sequence[str]) -> None:
    """Raise SinkRejected for the first text that does not fit the column."""
    if max(map(len, values)) * _CHARACTER_BYTES > field.limit or not all(map(str.isascii, values)):
        for value, key in zip(values, keys, strict=True):
            _check_text(field, value, key)


def _check_integers(field: Field, values: Sequence[int], keys: Sequence[str]) -> None:
    """Raise SinkRejected for the first integer that does not fit the column."""
    bound = _INTEGER_BOUND[field.kind]
    if max(values) >= bound or min(values) < -bound:
        key = next(key for value, key in zip(values, keys, strict=True) if not -bound <= value < bound)
        raise SinkRejected(f"row {key!r}: {field.name} does not fit an {field.kind}")


def _check_text(field: Field, text: str, key: str) -> None:
    """Raise SinkRejected unless the column takes this text; its length counts in bytes, as on a server (Milvus Lite counts characters)."""
    try:
        size_bytes = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise SinkRejected(f"row {key!r}: {field.name} is no Unicode text (a lone surrogate)") from None
    if size_bytes > field.limit:
        raise SinkRejected(f"row {key!r}: {field.name} has {size_bytes} bytes, its column takes {field.limit}")


def upsert_in_parts(client: Client, layout: Layout, columns: tuple[ColumnValues, ...], *, splits: bool) -> None:
    """Store one batch; `splits` halves it for as long as it is too large. Raises MilvusFault, also for rows that were not counted."""
    parts = [columns]
    while parts:
        part = parts.pop()
        rows = len(part[0])
        try:
            counted = client.upsert(layout, part)
        except MilvusFault as fault:
            if not splits or rows == 1 or not fault.may_be_size:
                raise
            middle = rows // 2
            parts += [tuple(column[middle:] for column in part), tuple(column[:middle] for column in part)]
            continue
        if counted != rows:
            raise MilvusFault("upsert", -1, f"{counted} of {rows} rows of {layout.name} were acknowledged")
