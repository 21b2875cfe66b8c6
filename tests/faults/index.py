"""The index as it lies on disk: a dead worker's folder is copied, and the copy is read, so that the next worker finds what was left.

The product's own reader opens the copy; everything else about it is judged in `tests.faults.oracle`.
"""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.client import Client
from sinks.milvus.lite import LocalMilvus

_COLUMNS = ("id", "template", "text", "time", "service", "level", "topic", "partition", "offset", "sub", "chunk", "chunks")
_WINDOW_OFFSETS = 500
_MOST_ROWS = 16_384


class Line(NamedTuple):
    """A row of the lines."""

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


class Index(NamedTuple):
    """All rows of both collections."""

    lines: list[Line]
    templates: list[str]
    """Digests."""
    texts: dict[str, str]
    """By digest: what was embedded."""
    vectors: dict[str, NDArray[np.float32]]
    """By digest: float32[dim]."""


def read_index(folder: Path, collection: str, ends: dict[int, int], spare: Path) -> Index:
    """Read the index that a worker, dead now, has left in `folder`; `spare` is where the copy may lie for a moment."""
    if not folder.exists():
        return Index([], [], {}, {})
    shutil.copytree(folder, spare)
    try:
        local = LocalMilvus(spare)
        try:
            client = Client(local.address, token="", db="", timeout_s=30.0, write_timeout_s=60.0, consistency="Strong")
            try:
                templates = _templates(client, f"{collection}_templates")
                return Index(
                    _lines(client, collection, ends),
                    [row["digest"] for row in templates],
                    {row["digest"]: row["text"] for row in templates},
                    {row["digest"]: np.asarray(row["vector"], np.float32) for row in templates},
                )
            finally:
                client.close()
        finally:
            local.abandon()
    finally:
        shutil.rmtree(spare, ignore_errors=True)


def _lines(client: Client, collection: str, ends: dict[int, int]) -> list[Line]:
    if not _is_whole(client, collection, "pad"):
        return []
    client.load(collection)
    rows: list[dict[str, Any]] = []
    for partition, end in ends.items():
        for start in range(0, max(end, 1), _WINDOW_OFFSETS):
            window = f"partition == {partition} && offset >= {start} && offset < {start + _WINDOW_OFFSETS}"
            found = client.query(collection, window, _COLUMNS)
            assert len(found) < _MOST_ROWS
            rows += found
    assert len(rows) == client.count(collection), "rows outside of what was sent"
    return [Line(**{column: row[column] for column in _COLUMNS}) for row in rows]


def _templates(client: Client, collection: str) -> list[dict[str, Any]]:
    if not _is_whole(client, collection, "vector"):
        return []
    client.load(collection)
    rows: list[dict[str, Any]] = []
    for first in "0123456789abcdef":
        found = client.query(collection, f'digest like "{first}%"', ("digest", "text", "vector"))
        assert len(found) < _MOST_ROWS
        rows += found
    assert len(rows) == client.count(collection)
    return rows


def _is_whole(client: Client, collection: str, vector: str) -> bool:
    """A worker that died while it created the collection has stored nothing in it."""
    return client.describe(collection) is not None and client.index_of(collection, vector) is not None
