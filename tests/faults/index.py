"""Reads the index with a plain client: a copy of a dead worker's folder, or a Milvus server, even while workers run.

Uses no product code, and leaves the verdict to `tests.faults.oracle`. All reads are Strong.
"""

import fcntl
import json
import logging
import shutil
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from milvus_lite.adapter.grpc.server import start_server_in_thread
from numpy.typing import NDArray
from pymilvus import MilvusClient

from tests.faults.stored_lines import Line, StoredBlock, resolve, text_in_folder, unpack_block

__all__ = ["Index", "Line", "drop_index", "read_index", "read_server", "read_span"]

K = TypeVar("K")

_RANGES = ("id", "partition", "first_offset", "last_offset", "first_ms", "last_ms", "lines")
_COLUMNS = ("id", "places", "texts")
_OF_A_TEMPLATE = ("template", "text", "vector")
_DERIVED = (".idx", ".sidx", ".tmp")
"""Milvus Lite's files that it rebuilds when missing; a killed process may leave them half-written."""
_MOST_ROWS = 16_384
"""Rows in one answer of Milvus."""
_AT_ONCE = 100
"""Blocks, or templates, that one query asks for by id."""
_ANSWER_S = 60.0
_ATTEMPTS = 20
_LOOK_AGAIN_S = 0.1


class Index(NamedTuple):
    """What readers of both collections get."""

    lines: list[Line]
    templates: list[str]
    """Ids."""
    texts: dict[str, str]
    """By id: what was embedded."""
    vectors: dict[str, NDArray[np.float32]]
    """By id: float32[dim]."""
    copies: tuple[Line, ...] = ()
    """Lines that readers leave out, because another copy of their entry holds."""
    blocks: tuple[StoredBlock, ...] = ()
    """All blocks, inner ones included."""


def read_index(folder: Path, collection: str, ends: Mapping[int, int], spare: Path) -> Index:
    """Read the index that a dead worker left in `folder`; `spare` is a folder for the temporary copy.

    No line may lie at or beyond `ends`, by partition.
    """
    if not folder.exists():
        return Index([], [], {}, {})
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    _wait_until_free(folder)
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
                return _read(client, collection, ends)
        finally:
            server.stop(grace=None).wait()
    finally:
        shutil.rmtree(spare, ignore_errors=True)


def read_server(uri: str, collection: str, ends: Mapping[int, int]) -> Index:
    """Read the index on a server; no line may lie at or beyond `ends`, by partition."""
    with _connected(uri) as client:
        return _read(client, collection, ends)


def read_span(uri: str, collection: str, since: Mapping[int, int], until: Mapping[int, int]) -> Index:
    """Read the lines of `since[partition] <= offset < until[partition]` on a server, and the templates that they point to."""
    wanted = {partition: end for partition, end in until.items() if end > since[partition]}
    with _connected(uri) as client:
        blocks: list[StoredBlock] = []
        if wanted:
            places = [f"(partition == {p} && last_offset >= {since[p]} && first_offset < {end})" for p, end in wanted.items()]
            blocks = _blocks(client, collection, " || ".join(places))
        lines, copies = resolve(blocks)
        kept, copies = ([one for one in some if since[one.partition] <= one.offset < until[one.partition]] for some in (lines, copies))
        rows: list[dict[str, Any]] = []
        for templates in _parts(sorted({line.template for line in kept})):
            rows += _query(client, _templates_name(client, collection), f"template in {json.dumps(templates)}", _OF_A_TEMPLATE)
    return _index(kept, rows, copies, blocks)


def drop_index(uri: str, collection: str) -> None:
    with _connected(uri) as client:
        for name in client.list_collections(timeout=_ANSWER_S):
            if name == collection or name.startswith(f"{collection}_"):
                client.drop_collection(name, timeout=_ANSWER_S)


@contextmanager
def _connected(uri: str) -> Iterator[MilvusClient]:
    client = MilvusClient(uri, timeout=_ANSWER_S, dedicated=True)
    try:
        yield client
    finally:
        client.close()


def _read(client: MilvusClient, collection: str, ends: Mapping[int, int]) -> Index:
    """Read the blocks first: a template is stored before its lines, so every line read must have one."""
    blocks = _blocks(client, collection, "partition >= 0") if _is_whole(client, collection) else []
    lines, copies = resolve(blocks)
    assert [line.id for line in (*lines, *copies) if line.offset >= ends.get(line.partition, 0)] == [], "lines of records never sent"
    return _index(lines, _templates(client, _templates_name(client, collection)), copies, blocks)


def _index(lines: list[Line], templates: list[dict[str, Any]], copies: Sequence[Line], blocks: Sequence[StoredBlock]) -> Index:
    return Index(
        lines,
        [row["template"] for row in templates],
        {row["template"]: row["text"] for row in templates},
        {row["template"]: np.asarray(row["vector"], np.float32) for row in templates},
        tuple(copies),
        tuple(blocks),
    )


def _blocks(client: MilvusClient, collection: str, expression: str) -> list[StoredBlock]:
    """Read blocks with their lines: all that are there at one moment. A worker may merge blocks meanwhile; then it begins anew."""
    columns = f"{collection}_columns"
    is_folder = client.has_collection(columns, timeout=_ANSWER_S)  # Milvus Lite has heads and columns apart, by slots
    key = "slot" if is_folder else "id"
    missing: list[str] = []
    _load(client, collection)
    for _ in range(_ATTEMPTS):
        rows = [row for row in _all_rows(client, collection, expression, (key, *_RANGES)) if row["id"]]  # an empty slot has no id
        heads = {row["id"]: row for row in rows}
        assert len(heads) == len(rows), "a block is stored twice"
        found: dict[str, dict[str, Any]] = {}
        for part in _parts([row[key] for row in rows]):
            for row in _query(client, columns if is_folder else collection, f"{key} in {json.dumps(part)}", (key, *_COLUMNS)):
                if row["id"] in heads and heads[row["id"]][key] == row[key]:
                    found[row["id"]] = row | {"texts": text_in_folder(row["texts"])} if is_folder else row
        if len(found) == len(heads):
            return [unpack_block(found[block] | head) for block, head in heads.items()]
        missing = sorted(heads.keys() - found.keys())
        time.sleep(_LOOK_AGAIN_S)
    raise AssertionError(f"{collection}: {len(missing)} listed blocks have no lines: {missing[:10]}")


def _templates_name(client: MilvusClient, collection: str) -> str:
    """Return the name of the collection of templates, which ends in digits of the space that is asked; empty without one."""
    names = [name for name in client.list_collections(timeout=_ANSWER_S) if name.startswith(f"{collection}_templates")]
    if len(names) > 1:
        asked = client.describe_collection(collection, timeout=_ANSWER_S)["properties"]["vectail.space"]
        names = [name for name in names if name.endswith(asked[:8])]
    assert len(names) <= 1, names
    return names[0] if names else ""


def _templates(client: MilvusClient, collection: str) -> list[dict[str, Any]]:
    if not collection or not _is_whole(client, collection):
        return []
    _load(client, collection)
    rows: list[dict[str, Any]] = []
    before = _count(client, collection, "")
    for first in "0123456789abcdef":
        found = _query(client, collection, f'template like "{first}%"', _OF_A_TEMPLATE)
        assert len(found) < _MOST_ROWS
        rows += found
    assert before <= len(rows) <= _count(client, collection, "")
    return rows


def _all_rows(client: MilvusClient, collection: str, expression: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return all rows of an answer. A server returns one row for each id but counts all: more counted means duplicates."""
    before, found = 0, []
    for _ in range(_ATTEMPTS):
        before = _count(client, collection, expression)
        found = _query(client, collection, expression, columns)
        assert len(found) < _MOST_ROWS
        if before == len(found):
            return found
        if before == _count(client, collection, expression):  # no worker wrote meanwhile
            break
    raise AssertionError(f"{collection}: counted {before} rows, read {len(found)}")


def _count(client: MilvusClient, collection: str, expression: str) -> int:
    (counted,) = client.query(collection, filter=expression, output_fields=["count(*)"], consistency_level="Strong", timeout=_ANSWER_S)
    return int(counted["count(*)"])


def _query(client: MilvusClient, collection: str, expression: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.query(
        collection, filter=expression, output_fields=list(columns), limit=_MOST_ROWS, consistency_level="Strong", timeout=_ANSWER_S
    )
    return found


def _load(client: MilvusClient, collection: str) -> None:
    if client.list_indexes(collection, timeout=_ANSWER_S):  # Milvus Lite always has a collection without index in memory
        client.load_collection(collection, timeout=_ANSWER_S)


def _is_whole(client: MilvusClient, collection: str) -> bool:
    """Return False for a collection that a worker was still creating when it died; it holds no rows."""
    if not client.has_collection(collection, timeout=_ANSWER_S):
        return False
    if client.has_collection(f"{collection}_columns", timeout=_ANSWER_S):
        return True  # blocks on Milvus Lite have no index
    fields = {field["name"] for field in client.describe_collection(collection, timeout=_ANSWER_S)["fields"]}
    return {"vector", "pad"} & fields <= set(client.list_indexes(collection, timeout=_ANSWER_S))


def _parts(keys: Collection[K]) -> Iterator[list[K]]:
    ordered = list(keys)
    return (ordered[start : start + _AT_ONCE] for start in range(0, len(ordered), _AT_ONCE))


def _wait_until_free(folder: Path) -> None:
    """Wait for the process that served a dead worker's folder to end, too."""
    with (folder / "LOCK").open("a") as lock:
        for attempt in range(_ATTEMPTS):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert attempt < _ATTEMPTS - 1, f"{folder} is still served"
                time.sleep(_LOOK_AGAIN_S)
            else:
                return
