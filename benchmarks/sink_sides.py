"""The ways of storing lines that `benchmarks.sink` compares, each with its collections in one Milvus.

`Ours` is the worker's own `MilvusSink`. `Dicts` is what pymilvus documents, row by row or in lists, into collections with our columns.
`Flat` has the vector in every line; it is written through our client and our columns, so that nothing but the layout is different.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pymilvus import MilvusClient

from sinks.milvus.backend import backend
from sinks.milvus.client import Client
from sinks.milvus.fields import Field, Layout, lines_layout, templates_layout
from sinks.milvus.settings import MilvusSettings, VectorSpace
from sinks.milvus.sink import MilvusSink
from sinks.milvus.writing import line_batches
from sinks.row import LineRow, TemplateRow

TIMEOUT_S = 60.0
_NO_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
"""Milvus Lite's server closes the connection of a client that pings while idle."""


class Batch(NamedTuple):
    """Lines and their new templates, in every shape that a side needs; made before the timed part."""

    templates: Sequence[TemplateRow]
    lines: Sequence[LineRow]
    vectors: Sequence[NDArray[np.float32]]
    """float32[dim] for each line, that of its template."""
    template_rows: list[dict[str, Any]]
    line_rows: list[dict[str, Any]]
    """The same as pymilvus takes them, with the constant vector that lines need without BM25."""


class Place(NamedTuple):
    """Where a side stores."""

    uri: str
    local: bool
    prefix: str
    """Its collections' names begin with it."""
    dim: int


class Side(Protocol):
    """One way of storing."""

    @property
    def name(self) -> str:
        """The side's name in the figures."""

    def store(self, batch: Batch) -> None:
        """Return when all of it is acknowledged."""

    def counts(self) -> tuple[int, int]:
        """Return how many lines and templates are stored (Strong)."""

    def close(self) -> None:
        """Disconnect; on a server, drop the collections."""


class Ours:
    """The worker's sink, two collections, as the store step calls it; on a server it closes before its collections are dropped.

    Thread: one.
    """

    name = "sink"

    def __init__(self, place: Place) -> None:
        """`place.uri` may be a local folder that no other client uses."""
        self._place = place
        self._collection = f"{place.prefix}_sink"
        settings = MilvusSettings(uri=place.uri, collection=self._collection, bm25="off", timeout_s=TIMEOUT_S)
        self._sink = MilvusSink(settings, VectorSpace(place.dim, "benchmark"))
        self._sink.open()

    def store(self, batch: Batch) -> None:
        """Templates first, then lines."""
        self._sink.upsert_templates(batch.templates)
        self._sink.upsert_lines(batch.lines)

    def counts(self) -> tuple[int, int]:
        """Count."""
        counts = self._sink.counts()
        return counts.lines, counts.templates

    def close(self) -> None:
        """Close the sink."""
        self._sink.close()
        if not self._place.local:
            with_pymilvus = MilvusClient(self._place.uri, timeout=TIMEOUT_S, dedicated=True)
            for name in (self._collection, f"{self._collection}_templates"):
                with_pymilvus.drop_collection(name, timeout=TIMEOUT_S)
            with_pymilvus.close()


class _Collections:
    """Collections made with our client, and a client of pymilvus's beside it.

    Thread: one.
    """

    def __init__(self, place: Place, *layouts: Layout) -> None:
        self.ours = Client(
            place.uri, token="", db="", timeout_s=TIMEOUT_S, write_timeout_s=TIMEOUT_S, consistency="Bounded", pings=not place.local
        )  # fmt: skip
        options = _NO_PINGS if place.local else {}
        self.milvus = MilvusClient(place.uri, timeout=TIMEOUT_S, dedicated=True, grpc_options=options)
        self._layouts, self._local = layouts, place.local
        scalar_index = backend(self.ours.version(), local=place.local).scalar_index
        for layout in layouts:
            self.ours.create(layout, {})
            self.ours.index(layout.name, layout.vector, "FLAT" if place.local else "AUTOINDEX")
            for field in layout.fields if scalar_index else ():
                if field.indexed:
                    self.ours.index(layout.name, field, str(scalar_index))
            self.ours.load(layout.name)

    def close(self) -> None:
        """Disconnect; on a server, drop the collections."""
        for layout in self._layouts if not self._local else ():
            self.milvus.drop_collection(layout.name, timeout=TIMEOUT_S)
        self.milvus.close()
        self.ours.close()


class Dicts:
    """What pymilvus documents: `upsert` of a list of dicts, in batches as large as ours, or `insert` of one row.

    The insert has less to do than an upsert: it looks for no row of the same id.

    Thread: one.
    """

    def __init__(self, place: Place, *, name: Literal["list_of_dict", "row_by_row"]) -> None:
        self.name = name
        collection = f"{place.prefix}_{name}"
        self._lines, self._templates = lines_layout(collection), templates_layout(collection, place.dim)
        self._collections = _Collections(place, self._templates, self._lines)

    def store(self, batch: Batch) -> None:
        """Templates first, then lines."""
        milvus = self._collections.milvus
        for layout, rows in ((self._templates, batch.template_rows), (self._lines, batch.line_rows)):
            if self.name == "row_by_row":
                for row in rows:
                    milvus.insert(layout.name, row, timeout=TIMEOUT_S)
            elif rows:
                milvus.upsert(layout.name, rows, timeout=TIMEOUT_S)

    def counts(self) -> tuple[int, int]:
        """Count."""
        ours = self._collections.ours
        return ours.count(self._lines.name), ours.count(self._templates.name)

    def close(self) -> None:
        """Disconnect."""
        self._collections.close()


class Flat:
    """One collection, the vector in every line.

    Thread: one.
    """

    name = "flat"

    def __init__(self, place: Place) -> None:
        self._brought = lines_layout(f"{place.prefix}_flat")
        vector = Field("vector", "vector", place.dim, metric="COSINE")
        self._lines = self._brought._replace(fields=(*self._brought.fields[:-1], vector))
        self._collections = _Collections(place, self._lines)

    def store(self, batch: Batch) -> None:
        """As our sink: checked columns in bounded batches."""
        start = 0
        for columns in line_batches(batch.lines, self._brought):
            vectors = np.stack(batch.vectors[start : start + len(columns[0])])
            start += len(vectors)
            counted = self._collections.ours.upsert(self._lines, (*columns[:-1], vectors))
            if counted != len(vectors) or not np.isfinite(vectors).all():
                raise SystemExit("the flat layout did not take its rows: the figure would be worth nothing")

    def counts(self) -> tuple[int, int]:
        """Count."""
        return self._collections.ours.count(self._lines.name), 0

    def close(self) -> None:
        """Disconnect."""
        self._collections.close()
