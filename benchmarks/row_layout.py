"""The layouts that blocks replaced, for `benchmarks.sink` to compare with: one row in Milvus for every line.

One holds the columns of a line beside the id of its template, and a constant vector, because Milvus loads no collection without any;
the other has the template's vector in every line instead.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.line import LEVEL_BYTES, SERVICE_BYTES, Line
from sinks.milvus.client import Client
from sinks.milvus.fields import ID_BYTES, PAD_DIM, TEMPLATE_BYTES, TOPIC_BYTES, Field, Layout

TEXT_BYTES = 65_535
BATCH_ROWS = 2_000
"""Lines at a time: what the worker's store step took at most."""


class LineRow(NamedTuple):
    """One line as a row; the columns of `lines_layout`, but for its vector."""

    id: str
    template: str
    text: str
    time: int
    service: str
    level: str
    topic: str
    partition: int
    offset: int
    sub: int
    chunk: int
    chunks: int


def row_of(line: Line, template: str) -> LineRow:
    """Return a line as a row."""
    place = (line.topic, line.partition, line.offset, line.sub, line.chunk, line.chunks)
    return LineRow(line.id, template, line.text or "", line.time, line.service, line.level, *place)


def lines_layout(collection: str, dim: int = 0) -> Layout:
    """Return the columns of `LineRow`, and a vector: the template's, or a constant one, because Milvus loads no collection without."""
    vector = Field("vector", "vector", dim, metric="COSINE") if dim else Field("pad", "vector", PAD_DIM, metric="L2")
    return Layout(
        collection,
        (
            Field("id", "varchar", ID_BYTES, key=True),
            Field("template", "varchar", TEMPLATE_BYTES, indexed=True),
            Field("text", "varchar", TEXT_BYTES),
            Field("time", "int64", indexed=True),
            Field("service", "varchar", SERVICE_BYTES),
            Field("level", "varchar", LEVEL_BYTES),
            Field("topic", "varchar", TOPIC_BYTES),
            Field("partition", "int32"),
            Field("offset", "int64"),
            Field("sub", "int32"),
            Field("chunk", "int32"),
            Field("chunks", "int32"),
            vector,
        ),
    )


def upsert_rows(client: Client, layout: Layout, rows: Sequence[LineRow], vectors: NDArray[np.float32] | None = None) -> None:
    """Store rows in batches of columns, each id once, values checked; with the constant vector if none are given.

    Ends the benchmark if a row is not taken.
    """
    columns = list(zip(*{row.id: row for row in rows}.values(), strict=True))
    for field, values in zip(layout.fields, columns, strict=False):
        if field.kind == "varchar" and not all(map(str.isascii, values)) and max(len(text.encode()) for text in values) > field.limit:
            raise SystemExit(f"{layout.name}: {field.name} has a value that its column does not take")
    for start in range(0, len(rows), BATCH_ROWS):
        part = [column[start : start + BATCH_ROWS] for column in columns]
        own = np.zeros((len(part[0]), PAD_DIM), np.float32) if vectors is None else vectors[start : start + BATCH_ROWS]
        if client.upsert(layout, [*part, own]) != len(own):
            raise SystemExit(f"{layout.name} did not take its rows: the figure would be worth nothing")
