"""The ways of storing lines that `benchmarks.sink` compares, each with its collections in one Milvus.

`Blocks` is the worker's own way: builder, encoding, `MilvusSink`. `Rows` and `ReadyMade` store the same columns of
`benchmarks.row_layout`, one row a line: the first with pymilvus as its documentation says, the second with our own client, which is the
fastest that we know for rows. `Flat` is `ReadyMade` with the template's vector in every line. All three upsert, as a writer has to whose
lines come again after a crash. No side writes templates: all but a few lines of a stream are of known ones.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from pymilvus import MilvusClient

from benchmarks.row_layout import BATCH_ROWS, LineRow, lines_layout, upsert_rows
from sinks.block import BlockId, BlockPlace, Lines, new_run
from sinks.build import Builder, build
from sinks.milvus.backend import backend
from sinks.milvus.client import Client
from sinks.milvus.fields import Layout, templates_name
from sinks.milvus.settings import MilvusSettings, VectorSpace
from sinks.milvus.sink import MilvusSink
from sinks.sink import BlockFilter

TIMEOUT_S = 60.0
BLOCKS_A_CALL = 128
_SPACE = "benchmark"
_NO_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
"""Milvus Lite's server closes the connection of a client that pings while idle."""


class Batch(NamedTuple):
    """Lines in every shape that a side needs; made before the timed part."""

    columns: Sequence[Lines]
    """As batches of the prepare step."""
    rows: Sequence[LineRow]
    """The first of them."""
    vectors: NDArray[np.float32]
    """float32[rows, dim]: for each row that of its template."""
    dicts: list[dict[str, Any]]
    """The rows as pymilvus takes them, with the constant vector."""


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

    def store(self, batch: Batch) -> int:
        """Return how many lines were stored, when all of them are acknowledged."""

    def count(self) -> int:
        """Return how many lines are stored (Strong)."""

    def close(self) -> None:
        """Disconnect; on a server, drop the collections."""


class Blocks:
    """The worker's builder, encoding and sink, in one thread.

    Thread: one.
    """

    name = "blocks"

    def __init__(self, place: Place) -> None:
        """`place.uri` may be a local folder that no other client uses."""
        self._place = place
        self._collection = f"{place.prefix}_blocks"
        settings = MilvusSettings(uri=place.uri, collection=self._collection, bm25="off", timeout_s=TIMEOUT_S)
        self._sink = MilvusSink(settings, VectorSpace(place.dim, _SPACE))
        self._sink.open()
        self._run = new_run(time.time_ns() // 1_000_000, 0)
        self._number = 0
        self._lines = self._bytes = 0
        self._is_open = True

    def store(self, batch: Batch) -> int:
        """From columns to acknowledgement."""
        builder, blocks = Builder(), []
        for lines in batch.columns:
            builder.add(lines, np.arange(lines.size), 0.0)
            is_last = lines is batch.columns[-1]
            for group in builder.take(0.0, flush_s=1.0, everything=is_last):
                for built in build(group.lines, masks="m1", written_ms=0):
                    place = BlockPlace("logs", "e1", 0)
                    blocks.append(built.block._replace(id=BlockId(place, self._run, self._number, self._number)))
                    self._number += 1
            if is_last or len(blocks) >= BLOCKS_A_CALL:
                self._sink.write_blocks(blocks)
                self._bytes += sum(block.size_bytes for block in blocks)
                blocks = []
        stored = sum(lines.size for lines in batch.columns)
        self._lines += stored
        return stored

    def count(self) -> int:
        """Count."""
        return int(self._sink.find_blocks(BlockFilter(), strong=True).heads.lines.sum())

    def bytes_per_line(self) -> float:
        """Return how many bytes of the folder a line takes, and close the sink; on a server, how many of the requests."""
        if not self._place.local:
            return self._bytes / self._lines
        self._close_sink()
        files = Path(self._place.uri).rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file()) / self._lines

    def close(self) -> None:
        """Close the sink."""
        self._close_sink()
        if not self._place.local:
            drop_index(self._place.uri, self._collection, _SPACE)

    def _close_sink(self) -> None:
        if self._is_open:
            self._sink.close()
            self._is_open = False


def drop_index(uri: str, collection: str, space: str) -> None:
    """Drop the collections of an index on a server."""
    with_pymilvus = MilvusClient(uri, timeout=TIMEOUT_S, dedicated=True)
    for name in (collection, templates_name(collection, space)):
        with_pymilvus.drop_collection(name, timeout=TIMEOUT_S)
    with_pymilvus.close()


class _Collection:
    """A collection made with our client, and a client of pymilvus's beside it.

    Thread: one.
    """

    def __init__(self, place: Place, layout: Layout) -> None:
        self.ours = Client(
            place.uri, token="", db="", timeout_s=TIMEOUT_S, write_timeout_s=TIMEOUT_S, consistency="Bounded", pings=not place.local
        )  # fmt: skip
        self.milvus = MilvusClient(place.uri, timeout=TIMEOUT_S, dedicated=True, grpc_options=_NO_PINGS if place.local else {})
        self._name, self._local = layout.name, place.local
        self.ours.create(layout, {})
        self.ours.index(layout.name, layout.vector, "FLAT" if place.local else "AUTOINDEX")
        scalar_index = backend(self.ours.version(), local=place.local).scalar_index
        for field in layout.fields if scalar_index else ():
            if field.indexed:
                self.ours.index(layout.name, field, str(scalar_index))
        self.ours.load(layout.name)

    def close(self) -> None:
        """Disconnect; on a server, drop the collection."""
        if not self._local:
            self.milvus.drop_collection(self._name, timeout=TIMEOUT_S)
        self.milvus.close()
        self.ours.close()


class Rows:
    """A row for each line, written as pymilvus documents it: `upsert` of lists of dicts.

    Thread: one.
    """

    name = "rows"

    def __init__(self, place: Place) -> None:
        self._layout = lines_layout(f"{place.prefix}_rows")
        self._collection = _Collection(place, self._layout)

    def store(self, batch: Batch) -> int:
        """In lists of 2,000."""
        for start in range(0, len(batch.dicts), BATCH_ROWS):
            self._collection.milvus.upsert(self._layout.name, batch.dicts[start : start + BATCH_ROWS], timeout=TIMEOUT_S)
        return len(batch.dicts)

    def count(self) -> int:
        """Count."""
        return self._collection.ours.count(self._layout.name)

    def close(self) -> None:
        """Disconnect."""
        self._collection.close()


class ReadyMade:
    """The same rows, as columns in requests that our own client makes ready: pymilvus visits no value.

    Thread: one.
    """

    name = "ready_made"

    def __init__(self, place: Place) -> None:
        self._layout = lines_layout(f"{place.prefix}_ready_made")
        self._collection = _Collection(place, self._layout)

    def store(self, batch: Batch) -> int:
        """In columns of 2,000 rows."""
        upsert_rows(self._collection.ours, self._layout, batch.rows)
        return len(batch.rows)

    def count(self) -> int:
        """Count."""
        return self._collection.ours.count(self._layout.name)

    def close(self) -> None:
        """Disconnect."""
        self._collection.close()


class Flat:
    """A row for each line with its template's vector in it.

    Thread: one.
    """

    name = "flat"

    def __init__(self, place: Place) -> None:
        self._layout = lines_layout(f"{place.prefix}_flat", place.dim)
        self._collection = _Collection(place, self._layout)

    def store(self, batch: Batch) -> int:
        """As `ReadyMade`."""
        upsert_rows(self._collection.ours, self._layout, batch.rows, batch.vectors)
        return len(batch.rows)

    def count(self) -> int:
        """Count."""
        return self._collection.ours.count(self._layout.name)

    def close(self) -> None:
        """Disconnect."""
        self._collection.close()
