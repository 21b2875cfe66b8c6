"""Unpacks blocks and resolves copies in plain Python: the fault tests' own reader, without product code.

A block's columns are base64 of one zstd frame around an Arrow IPC stream. Of several copies of an entry that of the latest run holds; the
pieces of different runs combine only if they are of one text cut in one way. Blocks inside another one of their run count for nothing.
"""

import base64
import hashlib
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

_ID = re.compile(r"(?P<topic>[^@/]+)@(?P<epoch>[^@/]*)/(?P<partition>\d+)/(?P<run>[0-9a-f]{20})/(?P<first>\d{8,})-(?P<last>\d{8,})")


class Line(NamedTuple):
    """A line, or one chunk of a long line."""

    id: str
    template: str
    template_text: str
    text: str
    time: int
    service: str
    level: str
    topic: str
    epoch: str
    partition: int
    offset: int
    sub: int
    chunk: int
    chunks: int
    cut: int = 0
    kafka_time: int = 0


class StoredBlock(NamedTuple):
    id: str
    place: str
    """Topic, epoch and partition."""
    run: str
    first: int
    last: int
    """Its numbers."""
    lines: tuple[Line, ...]

    def is_inside(self, other: "StoredBlock") -> bool:
        is_smaller = self.last - self.first < other.last - other.first
        return (self.place, self.run) == (other.place, other.run) and other.first <= self.first and self.last <= other.last and is_smaller


class Resolved(NamedTuple):
    """What a reader gets of some blocks."""

    lines: list[Line]
    copies: list[Line]
    """What it leaves out because another copy holds."""


def text_in_folder(stored: str) -> str:
    """Return a column's text as a folder keeps it: plain behind `=`."""
    assert stored[0] == "="
    return stored[1:]


def unpack_block(row: Mapping[str, Any]) -> StoredBlock:
    """Unpack a row with `id`, `places` and `texts`; where there is a range and a number of lines, check them."""
    match = _ID.fullmatch(row["id"])
    assert match is not None, row["id"]
    topic, epoch, partition = match["topic"], match["epoch"], int(match["partition"])
    columns, size = _places(row["places"])
    texts = _texts(row["texts"])
    assert len(texts) == size, row["id"]
    lines = []
    for i, text in enumerate(texts):
        place = {name: columns[name][i] for name in ("offset", "sub", "chunk", "chunks", "cut", "time", "kafka_time", "service", "level")}
        masked = columns["template"][i]
        line_id = f"{topic}@{epoch}/{partition}/{place['offset']}/{place['sub']}/{place['chunk']}"
        lines.append(Line(line_id, template_id(masked), masked, text, topic=topic, epoch=epoch, partition=partition, **place))
    said = {name: row[name] for name in ("first_offset", "last_offset", "first_ms", "last_ms", "lines") if name in row}
    offsets, times = [line.offset for line in lines], [line.time for line in lines]
    found = (min(offsets), max(offsets), min(times), max(times), sum(line.chunk == 0 for line in lines))
    assert not said or tuple(said.values()) == found, f"{row['id']} says {said} and holds {found}"
    return StoredBlock(row["id"], f"{topic}@{epoch}/{partition}", match["run"], int(match["first"]), int(match["last"]), tuple(lines))


def resolve(blocks: Iterable[StoredBlock]) -> Resolved:
    """Return what a reader gets; assert that no run holds a line twice."""
    all_blocks = list(blocks)
    outer = [block for block in all_blocks if not any(block.is_inside(other) for other in all_blocks)]
    entries: defaultdict[tuple[str, int, int], dict[tuple[int, int], dict[str, dict[int, Line]]]] = defaultdict(dict)
    for block in outer:
        for line in block.lines:
            copies = entries[block.place, line.offset, line.sub].setdefault((line.chunks, line.cut), {}).setdefault(block.run, {})
            assert line.chunk not in copies, f"{line.id} is stored twice in run {block.run}"
            copies[line.chunk] = line
    resolved = Resolved([], [])
    for shapes in entries.values():
        held = _pick(shapes)
        resolved.lines.extend(held.values())
        ours = {id(line) for line in held.values()}
        resolved.copies.extend(
            line for runs in shapes.values() for pieces in runs.values() for line in pieces.values() if id(line) not in ours
        )
    return resolved


def template_id(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _pick(shapes: Mapping[tuple[int, int], Mapping[str, Mapping[int, Line]]]) -> Mapping[int, Line]:
    """Return the pieces that hold, of the copies of one entry by how they were cut and by run."""
    groups = []
    for (chunks, cut), runs in shapes.items():
        pieces: dict[int, Line] = {}
        for run in sorted(runs):
            pieces |= runs[run]
        groups.append((len(pieces) == chunks, max(runs), chunks, cut, pieces))
    return max(groups, key=lambda group: group[:4])[4]


def _places(text: str) -> tuple[dict[str, list[Any]], int]:
    table = _table(text)
    metadata = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert metadata["vectail.layout"] == "2"
    size = int(metadata["vectail.lines"])
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    defaults: dict[str, Any] = {"sub": 0, "chunk": 0, "chunks": 1, "cut": 0, "records": 1, "service": "", "level": ""}
    defaults |= {name: metadata[f"vectail.{name}"] for name in ("service", "level") if f"vectail.{name}" in metadata}
    columns = {name: [value] * size for name, value in defaults.items()} | columns
    columns.setdefault("offset", list(range(size)))
    for name in ("offset", "time", "kafka_time"):
        if name in columns and f"vectail.{name}" in metadata:
            base = int(metadata[f"vectail.{name}"])
            columns[name] = [base + value for value in columns[name]]
    columns.setdefault("kafka_time", columns["time"])
    assert {len(values) for values in columns.values()} == {size}
    return columns, size


def _texts(text: str) -> list[str]:
    (row,) = _table(text).to_pylist()
    data = row["text"].encode()
    if "bytes" not in row:
        return [part.decode() for part in data.split(b"\n")]
    texts, at = [], 0
    for length in row["bytes"]:
        texts.append(data[at : at + length].decode())
        at += length + 1
    assert at == len(data) + 1
    return texts


def _table(text: str) -> pa.Table:
    return pa.ipc.open_stream(pa.input_stream(io.BytesIO(base64.b64decode(text)), compression="zstd")).read_all()
