"""How a block's content is written into its columns, and read again: `places`, `texts`, `fields` and `head`.

The first three are bytes: Arrow tables (`sinks.arrow.pack`) that anyone with pyarrow can read; the schema's metadata says the layout and
the masks' version. In `places` a column whose every row has the default is left out:

| column | left out when | stored as |
|---|---|---|
| `offset` | each is one more than the one before it | difference from `vectail.offset` |
| `sub`, `chunk` | all 0 | the smallest unsigned type that fits |
| `chunks`, `records` | all 1 | the same |
| `entries` | all 1, and `sub` is left out; a block with `sub` and without it is of an earlier version, which did not say | the same |
| `cut` | all 0 | uint64 |
| `time` | never | difference from `vectail.time`, milliseconds since 1970 |
| `kafka_time` | all equal `time` | difference from `vectail.kafka_time` |
| `leader_epoch` | all equal; then `vectail.leader_epoch` unless it is -1 | int32 |
| `last_leader_epoch` | all equal `leader_epoch` | int32 |
| `service`, `level` | all equal; then `vectail.service`, `vectail.level` unless they are empty | dictionary |
| `template` | never | dictionary of template texts |

Differences are 16 or 32 bits wide; where they do not fit, the column holds the values themselves as int64, and the metadata names no base.
`texts` and `fields` are `sinks.arrow.packed_texts`, in which an empty text stands for null. A head is for us alone and is packed by hand,
because an index on Milvus Lite decodes every head when it is opened.
"""

import binascii
import struct
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import (
    JoinedTexts,
    PackedColumn,
    cut_texts,
    has_values,
    join_texts,
    null_column,
    nulls_for_empty,
    pack,
    packed_texts,
    unpack,
    utf8_of,
)
from sinks.block import BlockColumns, CodedColumn, Column, Head, Lines
from sinks.line import NO_LEADER_EPOCH
from sinks.lines import coded_alike

LAYOUT = "2"
_LAYOUT = "vectail.layout"
_MASKS = "vectail.masks"

_HEAD = struct.Struct("<BBHHHqq")
"""Version, bytes of a time, how many templates, services and levels, `written_ms`, the earliest time."""
_HEAD_VERSION = 1
_LENGTHS: Mapping[int, np.dtype[np.integer]] = {width: np.dtype(f"<i{width}" if width == 8 else f"<u{width}") for width in (2, 4, 8)}  # noqa: PLR2004


class BlockDamaged(Exception):
    """A stored block that cannot be read; the message says why."""


def encode_places(lines: Lines, *, masks: str) -> bytes:
    """Return all columns of n ≥ 1 lines but text and fields."""
    columns: dict[str, PackedColumn] = {}
    metadata = {_LAYOUT: LAYOUT, _MASKS: masks, "vectail.lines": str(lines.size)}
    if (np.diff(lines.offset) == 1).all():
        metadata["vectail.offset"] = str(lines.offset[0])
    else:
        _add_differences(columns, metadata, "offset", lines.offset)
    for name, default in (("sub", 0), ("chunk", 0), ("chunks", 1), ("records", 1)):
        values = getattr(lines, name)
        if (values != default).any():
            columns[name] = values.astype(np.min_scalar_type(int(values.max())))
    if lines.sub.any() or (lines.entries != 1).any():
        columns["entries"] = lines.entries.astype(np.min_scalar_type(int(lines.entries.max())))
    if lines.cut.any():
        columns["cut"] = lines.cut
    _add_differences(columns, metadata, "time", lines.time)
    if not np.array_equal(lines.kafka_time, lines.time):
        _add_differences(columns, metadata, "kafka_time", lines.kafka_time)
    _add_leader_epochs(columns, metadata, lines)
    for name, column in (("service", lines.service), ("level", lines.level)):
        if len(column.values) > 1:
            columns[name] = column
        elif column.values[0]:
            metadata[f"vectail.{name}"] = column.values[0]
    columns["template"] = lines.template
    return pack(columns, metadata)


def encode_texts(texts: JoinedTexts) -> bytes:
    """Return n ≥ 1 texts, nulls as empty ones."""
    return pack(packed_texts(texts), {_LAYOUT: LAYOUT})


def encode_fields(column: Column) -> bytes:
    """Return n ≥ 1 JSON objects or nulls; empty if all are null."""
    return encode_texts(join_texts(column)) if has_values(column) else b""


def decode_places(frame: bytes) -> Lines:
    """Undo `encode_places`; texts and fields are nulls. Raises BlockDamaged."""
    columns, metadata = _unpack(frame)
    try:
        size = int(metadata["vectail.lines"])

        def number(name: str, dtype: type, default: int) -> NDArray[Any]:
            values = columns.get(name)
            return _alike(default, dtype, size) if values is None else values.astype(dtype)  # type: ignore[union-attr]

        def moment(name: str) -> NDArray[np.int64]:
            values = columns[name].astype(np.int64)  # type: ignore[union-attr]
            base = metadata.get(f"vectail.{name}")
            return values if base is None else values + int(base)

        def few(name: str) -> CodedColumn[str]:
            values = columns.get(name)
            return coded_alike(metadata.get(f"vectail.{name}", ""), size) if values is None else values  # type: ignore[return-value]

        time = moment("time")
        leader_epoch = number("leader_epoch", np.int32, int(metadata.get("vectail.leader_epoch", NO_LEADER_EPOCH)))
        lines = Lines(
            offset=moment("offset") if "offset" in columns else np.arange(size) + int(metadata["vectail.offset"]),
            sub=number("sub", np.int32, 0),
            chunk=number("chunk", np.int32, 0),
            chunks=number("chunks", np.int32, 1),
            cut=number("cut", np.uint64, 0),
            records=number("records", np.int32, 1),
            entries=number("entries", np.int32, 0 if "sub" in columns else 1),
            time=time,
            kafka_time=moment("kafka_time") if "kafka_time" in columns else time,
            leader_epoch=leader_epoch,
            last_leader_epoch=number("last_leader_epoch", np.int32, 0) if "last_leader_epoch" in columns else leader_epoch,
            service=few("service"),
            level=few("level"),
            template=columns["template"],  # type: ignore[arg-type]
            text=null_column(size),
            fields=null_column(size),
        )
    except (ValueError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise BlockDamaged(f"its places have no {error}") from error
    sizes = {len(column.codes if isinstance(column, CodedColumn) else column) for column in lines}
    if sizes != {size} or not all(isinstance(column, CodedColumn) for column in (lines.service, lines.level, lines.template)):
        raise BlockDamaged(f"its places are of {sorted(sizes)} lines")
    return lines


@lru_cache(1 << 10)
def _alike(value: int, dtype: type, size: int) -> NDArray[Any]:
    """Return n times the same number, for reading only; takes no memory."""
    return np.broadcast_to(np.array(value, dtype), size)


class UnpackedTexts(NamedTuple):
    """A block's texts, unpacked but not cut yet: whoever looks for something in them may see that it is not there.

    Thread: any.
    """

    columns: Mapping[str, PackedColumn]
    data: NDArray[np.uint8]
    """The bytes of all texts, with a line feed between each two."""

    def cut(self) -> Column:
        """Return the texts, with null for each empty one. Raises BlockDamaged."""
        try:
            return nulls_for_empty(cut_texts(self.columns))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise BlockDamaged(f"its texts cannot be read: {error}") from error


def unpack_texts(frame: bytes) -> UnpackedTexts:
    """Do the first half of `decode_texts`. Raises BlockDamaged."""
    columns, _ = _unpack(frame)
    try:
        return UnpackedTexts(columns, utf8_of(columns["text"])[0])
    except (ValueError, KeyError, AttributeError) as error:
        raise BlockDamaged(f"it has no texts: {error}") from error


def decode_texts(frame: bytes) -> Column:
    """Undo `encode_texts`, with null for each empty text. Raises BlockDamaged."""
    return unpack_texts(frame).cut()


def decode_fields(frame: bytes, size: int) -> Column:
    """Undo `encode_fields` for n lines. Raises BlockDamaged."""
    return of_size(decode_texts(frame), size) if frame else null_column(size)


def decode_lines(columns: BlockColumns) -> Lines:
    """Return a block's lines; texts and fields are nulls where they were not read. Raises BlockDamaged."""
    lines = decode_places(columns.places)
    texts = of_size(decode_texts(columns.texts), lines.size) if columns.texts else lines.text
    return lines._replace(text=texts, fields=decode_fields(columns.fields, lines.size))


def of_size(column: Column, size: int) -> Column:
    """Return a column of as many values as its block has lines. Raises BlockDamaged."""
    if len(column) != size:
        raise BlockDamaged(f"it has {size} lines and the texts or fields of {len(column)}")
    return column


def masks_of(places: bytes) -> str:
    """Return the version of the masks that these places were written with. Raises BlockDamaged."""
    return _unpack(places)[1].get(_MASKS, "")


def encode_head(head: Head) -> str:
    """Return a head as text: `_HEAD`, then keys, pieces, first times, the last times where there is more than one piece, then the names."""
    base, last_ms = (int(head.first_ms.min()), int(head.last_ms.max())) if len(head.templates) else (0, 0)  # none: all are hollow
    spread = last_ms - base
    width = 8 if spread >> 32 else 4 if spread >> 16 else 2
    names = [name.encode("utf-8", "replace") for name in (*head.services, *head.levels)]
    parts = [
        _HEAD.pack(_HEAD_VERSION, width, len(head.templates), len(head.services), len(head.levels), head.written_ms, base),
        head.templates.astype("<i8").tobytes(),
        head.pieces.astype("<u4").tobytes(),
        (head.first_ms - base).astype(_LENGTHS[width]).tobytes(),
        (head.last_ms - base)[head.pieces > 1].astype(_LENGTHS[width]).tobytes(),
        struct.pack(f"<{len(names)}H", *map(len, names)),
        *names,
    ]
    return binascii.b2a_base64(b"".join(parts), newline=False).decode("ascii")


def decode_head(text: str) -> Head:
    """Undo `encode_head`. Raises BlockDamaged."""
    try:
        data = binascii.a2b_base64(text)
        version, width, templates, services, levels, written_ms, base = _HEAD.unpack_from(data)
        if version != _HEAD_VERSION:
            raise BlockDamaged(f"its head is of version {version}")
        at = _HEAD.size
        keys = np.frombuffer(data, "<i8", templates, at)
        pieces = np.frombuffer(data, "<u4", templates, at + 8 * templates).astype(np.int64)
        at += 12 * templates
        times = _LENGTHS[width]
        first = np.frombuffer(data, times, templates, at) + np.int64(base)
        at += width * templates
        several = pieces > 1
        more = int(np.count_nonzero(several))
        last = first.copy()
        last[several] = np.frombuffer(data, times, more, at) + np.int64(base)
        at += width * more
        lengths = struct.unpack_from(f"<{services + levels}H", data, at)
        at += 2 * len(lengths)
        names = []
        for length in lengths:
            names.append(data[at : at + length].decode())
            at += length
        if at != len(data):
            raise BlockDamaged("its head has another length than it says")
        return Head(keys, pieces, first, last, tuple(names[:services]), tuple(names[services:]), written_ms)
    except (ValueError, KeyError, struct.error) as error:
        raise BlockDamaged(f"its head cannot be read: {error}") from error


def _add_differences(columns: dict[str, PackedColumn], metadata: dict[str, str], name: str, values: NDArray[np.int64]) -> None:
    base = int(values.min())
    spread = int(values.max()) - base
    if spread >> 32:
        columns[name] = values
    else:
        columns[name] = (values - base).astype(np.uint32 if spread >> 16 else np.uint16)
        metadata[f"vectail.{name}"] = str(base)


def _add_leader_epochs(columns: dict[str, PackedColumn], metadata: dict[str, str], lines: Lines) -> None:
    first = lines.leader_epoch[0]
    if (lines.leader_epoch != first).any():
        columns["leader_epoch"] = lines.leader_epoch
    elif first != NO_LEADER_EPOCH:
        metadata["vectail.leader_epoch"] = str(first)
    if not np.array_equal(lines.last_leader_epoch, lines.leader_epoch):
        columns["last_leader_epoch"] = lines.last_leader_epoch


def _unpack(frame: bytes) -> tuple[dict[str, PackedColumn], dict[str, str]]:
    try:
        columns, metadata = unpack(frame)
    except ValueError as error:
        raise BlockDamaged(str(error)) from error
    if metadata.get(_LAYOUT) != LAYOUT:
        raise BlockDamaged(f"it is of layout {metadata.get(_LAYOUT)!r}, this is {LAYOUT!r}")
    return columns, metadata
