"""The two ways of storing lines that `benchmarks.sink` compares, each with a collection of its own in one Milvus."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from pymilvus import DataType, MilvusClient

from sinks.block import BlockId, BlockPlace, Lines, new_run
from sinks.build import Builder, build
from sinks.index_spaces import VectorSpace
from sinks.line import LEVEL_BYTES, SERVICE_BYTES, Line
from sinks.milvus.backend import backend
from sinks.milvus.fields import COLUMN_BYTES, ID_BYTES, PAD_DIM, TEMPLATE_BYTES, TOPIC_BYTES, templates_name
from sinks.milvus.milvus_settings import MilvusSettings
from sinks.milvus.milvus_sink import MilvusSink
from sinks.sink import BlockFilter

TIMEOUT_S = 60.0
BLOCKS_A_CALL = 128
BATCH_ROWS = 2_000
"""Rows at a time."""
_SPACE = "benchmark"
_NO_PINGS = {"grpc.keepalive_time_ms": 2**31 - 1, "grpc.keepalive_permit_without_calls": False}
"""Milvus Lite's server closes the connection of a client that pings while idle."""
_TEXTS = {"id": ID_BYTES, "template": TEMPLATE_BYTES, "text": COLUMN_BYTES, "topic": TOPIC_BYTES}
_TEXTS |= {"service": SERVICE_BYTES, "level": LEVEL_BYTES}
_NUMBERS = {"time": DataType.INT64} | dict.fromkeys(("partition", "offset", "sub", "chunk", "chunks"), DataType.INT32)


class Batch(NamedTuple):
    """Lines in the shape that each side needs; made before the timed part."""

    columns: Sequence[Lines]
    """As batches of the prepare step."""
    rows: list[dict[str, Any]]
    """The first of them, as pymilvus takes them, with a constant vector, because Milvus loads no collection without any."""


def row_of(line: Line) -> dict[str, Any]:
    """Return a line as a row."""
    texts = {"id": line.id, "template": line.template, "text": line.text or "", "service": line.service, "level": line.level}
    place = {"topic": line.topic, "partition": line.partition, "offset": line.offset, "sub": line.sub}
    return texts | place | {"time": line.time, "chunk": line.chunk, "chunks": line.chunks, "pad": [0.0] * PAD_DIM}


class Place(NamedTuple):
    """Where a side stores."""

    uri: str
    local: bool
    prefix: str
    """Its collections' names begin with it."""


class Side(Protocol):
    """One way of storing."""

    @property
    def name(self) -> str:
        """The side's name in the figures."""

    def lines_in(self, batch: Batch) -> int:
        """Return how many lines of the batch it stores."""

    def store(self, batch: Batch) -> None:
        """Store them; they are acknowledged when it returns."""

    def count(self) -> int:
        """Return how many lines are stored (Strong)."""


class Blocks:
    """The worker's builder, encoding and sink, in one thread.

    Thread: one.
    """

    name = "blocks"

    def __init__(self, place: Place, dim: int) -> None:
        """`place.uri` may be a local folder that no other client uses."""
        self._place = place
        self._collection = f"{place.prefix}_blocks"
        settings = MilvusSettings(uri=place.uri, collection=self._collection, bm25="off", timeout_s=TIMEOUT_S)
        self._sink = MilvusSink(settings, VectorSpace(dim, _SPACE))
        self._sink.open()
        self._run = new_run(time.time_ns() // 1_000_000, 0)
        self._number = 0
        self._lines = self._bytes = 0
        self._is_open = True

    def lines_in(self, batch: Batch) -> int:
        """Return all of them."""
        return sum(lines.size for lines in batch.columns)

    def store(self, batch: Batch) -> None:
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
        self._lines += self.lines_in(batch)

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


class Rows:
    """A row for each line, written as pymilvus documents it: `upsert` of lists of dicts.

    Thread: one.
    """

    name = "rows"

    def __init__(self, place: Place) -> None:
        self._name, self._local = f"{place.prefix}_rows", place.local
        self._milvus = MilvusClient(place.uri, timeout=TIMEOUT_S, dedicated=True, grpc_options=_NO_PINGS if place.local else {})
        schema = MilvusClient.create_schema(auto_id=False)
        for name, size in _TEXTS.items():
            schema.add_field(name, DataType.VARCHAR, max_length=size, is_primary=name == "id")
        for name, number in _NUMBERS.items():
            schema.add_field(name, number)
        schema.add_field("pad", DataType.FLOAT_VECTOR, dim=PAD_DIM)
        indexes = MilvusClient.prepare_index_params()
        indexes.add_index("pad", index_type="FLAT" if place.local else "AUTOINDEX", metric_type="L2")
        scalar_index = backend(self._milvus.get_server_version(), local=place.local).scalar_index
        for name in ("template", "time") if scalar_index else ():
            indexes.add_index(name, index_type=scalar_index)
        self._milvus.create_collection(self._name, schema=schema, index_params=indexes, timeout=TIMEOUT_S)

    def lines_in(self, batch: Batch) -> int:
        """Return those that are rows."""
        return len(batch.rows)

    def store(self, batch: Batch) -> None:
        """In lists of 2,000."""
        for start in range(0, len(batch.rows), BATCH_ROWS):
            self._milvus.upsert(self._name, batch.rows[start : start + BATCH_ROWS], timeout=TIMEOUT_S)

    def count(self) -> int:
        """Count."""
        (row,) = self._milvus.query(self._name, filter="", output_fields=["count(*)"], consistency_level="Strong", timeout=TIMEOUT_S)
        return int(row["count(*)"])

    def close(self) -> None:
        """Disconnect; on a server, drop the collection."""
        if not self._local:
            self._milvus.drop_collection(self._name, timeout=TIMEOUT_S)
        self._milvus.close()
