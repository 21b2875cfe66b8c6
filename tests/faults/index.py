"""Reads the index with a plain client: a copy of a dead worker's folder, or a Milvus server, even while workers run.

Uses no product code, and leaves the verdict to `tests.faults.oracle`. All reads are Strong.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from milvus_lite.adapter.grpc.server import start_server_in_thread
from numpy.typing import NDArray
from pymilvus import MilvusClient

_COLUMNS = ("id", "template", "text", "time", "service", "level", "topic", "partition", "offset", "sub", "chunk", "chunks")
_OF_A_TEMPLATE = ("digest", "text", "vector")
_DERIVED = (".idx", ".sidx", ".tmp")
"""Milvus Lite's files that it rebuilds when missing; a killed process may leave them half-written."""
_WINDOW_OFFSETS = 4_000
_MOST_ROWS = 16_384
"""Rows in one answer of Milvus."""
_AT_ONCE = 500
"""Templates that one query asks for by digest."""
_ANSWER_S = 60.0


class Line(NamedTuple):
    """A row of the lines collection."""

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
    """Read the index that a dead worker left in `folder`; `spare` is a folder for the temporary copy."""
    if not folder.exists():
        return Index([], [], {}, {})
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    shutil.copytree(folder, spare)
    try:
        for path in [path for path in spare.rglob("*") if path.suffix in _DERIVED]:
            path.unlink()
        for made in (spare / "collections").iterdir():
            if made.is_dir() and not any(made.iterdir()):
                made.rmdir()  # the worker was killed before it wrote into it
        server, _database, port = start_server_in_thread(str(spare), host="127.0.0.1", port=0)
        try:
            with _connected(f"http://127.0.0.1:{port}") as client:
                return _read(client, collection, ends, grows=False)
        finally:
            server.stop(grace=None).wait()
    finally:
        shutil.rmtree(spare, ignore_errors=True)


def read_server(uri: str, collection: str, ends: dict[int, int], *, grows: bool) -> Index:
    """Read the index on a server; set `grows` if a worker may store more meanwhile."""
    with _connected(uri) as client:
        return _read(client, collection, ends, grows=grows)


def read_span(uri: str, collection: str, since: Mapping[int, int], until: Mapping[int, int]) -> Index:
    """Read the lines of `since[partition] <= offset < until[partition]` on a server, and the templates that they point to."""
    with _connected(uri) as client:
        rows: list[dict[str, Any]] = []
        if any(until[partition] > since[partition] for partition in until):
            client.load_collection(collection, timeout=_ANSWER_S)
        for partition, end in until.items():
            for start in range(since[partition], end, _WINDOW_OFFSETS):
                rows += _window(client, collection, partition, range(start, min(start + _WINDOW_OFFSETS, end)))
        digests = sorted({row["template"] for row in rows})
        templates: list[dict[str, Any]] = []
        for start in range(0, len(digests), _AT_ONCE):
            named = ", ".join(f'"{digest}"' for digest in digests[start : start + _AT_ONCE])
            templates += _query(client, f"{collection}_templates", f"digest in [{named}]", _OF_A_TEMPLATE)
    return _index(rows, templates)


@contextmanager
def _connected(uri: str) -> Iterator[MilvusClient]:
    client = MilvusClient(uri, timeout=_ANSWER_S, dedicated=True)
    try:
        yield client
    finally:
        client.close()


def _read(client: MilvusClient, collection: str, ends: dict[int, int], *, grows: bool) -> Index:
    """Read the lines first: a template is stored before its lines, so every line read must have one."""
    lines = _lines(client, collection, ends, grows=grows)
    return _index(lines, _templates(client, f"{collection}_templates", grows=grows))


def _index(lines: list[dict[str, Any]], templates: list[dict[str, Any]]) -> Index:
    return Index(
        [Line(**{column: row[column] for column in _COLUMNS}) for row in lines],
        [row["digest"] for row in templates],
        {row["digest"]: row["text"] for row in templates},
        {row["digest"]: np.asarray(row["vector"], np.float32) for row in templates},
    )


def _lines(client: MilvusClient, collection: str, ends: dict[int, int], *, grows: bool) -> list[dict[str, Any]]:
    if not _is_whole(client, collection):
        return []
    client.load_collection(collection, timeout=_ANSWER_S)
    there = _count(client, collection)
    rows: list[dict[str, Any]] = []
    for partition, end in ends.items():
        for start in range(0, max(end, 1), _WINDOW_OFFSETS):
            rows += _window(client, collection, partition, range(start, start + _WINDOW_OFFSETS))
    _check_count(client, collection, there, len(rows), grows=grows)
    return rows


def _window(client: MilvusClient, collection: str, partition: int, offsets: range) -> list[dict[str, Any]]:
    """Read the rows of these offsets; halve the range, and a single record by entry, if one answer cannot hold them."""
    place = f"partition == {partition} && offset >= {offsets.start} && offset < {offsets.stop}"
    found = _query(client, collection, place, _COLUMNS)
    if len(found) < _MOST_ROWS:
        return found
    if len(offsets) > 1:
        middle = offsets.start + len(offsets) // 2
        first, second = range(offsets.start, middle), range(middle, offsets.stop)
        return _window(client, collection, partition, first) + _window(client, collection, partition, second)
    rows: list[dict[str, Any]] = []
    at_once = _MOST_ROWS // 4
    while part := _query(
        client, collection, f"{place} && sub >= {(start := len(rows) and rows[-1]['sub'] + 1)} && sub < {start + at_once}", _COLUMNS
    ):
        assert len(part) < _MOST_ROWS, place
        rows += sorted(part, key=lambda row: int(row["sub"]))
    return rows


def _templates(client: MilvusClient, collection: str, *, grows: bool) -> list[dict[str, Any]]:
    if not _is_whole(client, collection):
        return []
    client.load_collection(collection, timeout=_ANSWER_S)
    there = _count(client, collection)
    rows: list[dict[str, Any]] = []
    for first in "0123456789abcdef":
        found = _query(client, collection, f'digest like "{first}%"', _OF_A_TEMPLATE)
        assert len(found) < _MOST_ROWS
        rows += found
    _check_count(client, collection, there, len(rows), grows=grows)
    return rows


def _query(client: MilvusClient, collection: str, expression: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.query(
        collection, filter=expression, output_fields=list(columns), limit=_MOST_ROWS, consistency_level="Strong", timeout=_ANSWER_S
    )
    return found


def _count(client: MilvusClient, collection: str) -> int:
    (counted,) = client.query(collection, output_fields=["count(*)"], consistency_level="Strong", timeout=_ANSWER_S)
    return int(counted["count(*)"])


def _check_count(client: MilvusClient, collection: str, before: int, read: int, *, grows: bool) -> None:
    """Check the row count. A server returns one row for each id but counts all, so a higher count means duplicate or misplaced rows."""
    after = read if grows else _count(client, collection)  # higher than `before` if a killed worker's write completed late
    assert before <= read <= after, f"{collection}: counted {before} to {after} rows, read {read} at sent records"


def _is_whole(client: MilvusClient, collection: str) -> bool:
    """Return False for a collection that a worker was still creating when it died; it holds no rows."""
    if not client.has_collection(collection, timeout=_ANSWER_S):
        return False
    fields = {field["name"] for field in client.describe_collection(collection, timeout=_ANSWER_S)["fields"]}
    return {"vector", "pad"} & fields <= set(client.list_indexes(collection, timeout=_ANSWER_S))
