"""Lines as columns: how single lines become columns and back, and how columns are cut, joined and ordered.

Nothing here is done line by line but `lines_of`, `all_lines` and `line_at`, which are for readers, tools and tests.
"""

import hashlib
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import as_optional_texts, concat, null_column, string_column, take, text_at
from sinks.block import BlockPlace, Coded, Lines
from sinks.line import Line

_NUMBERS = Lines._fields.index("service")
_STRINGS = Lines._fields.index("text")


def coded(values: Sequence[str]) -> Coded:
    """Return n strings as codes into their distinct values, in the order of their first use."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return Coded(np.fromiter(map(places.__getitem__, values), np.int32, len(values)), tuple(places))


def coded_alike(value: str, size: int) -> Coded:
    """Return n times the same string."""
    return Coded(np.zeros(size, np.int32), (value,) if size else ())


def take_coded(column: Coded, rows: NDArray[np.int64]) -> Coded:
    """Return the given rows, with those values that they use."""
    return _used_only(column.codes[rows], column.values)


def join_coded(parts: Sequence[Coded]) -> Coded:
    """Return several columns as one."""
    if all(part.values == parts[0].values for part in parts[1:]):
        return Coded(np.concatenate([part.codes for part in parts]), parts[0].values)
    places: dict[str, int] = {}
    mapped = np.array([places.setdefault(value, len(places)) for part in parts for value in part.values], np.int32)
    before = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
    codes = np.concatenate([part.codes for part in parts]) + np.repeat(before, [len(part.codes) for part in parts])
    return Coded(mapped[codes], tuple(places))


def lines_of(lines: Sequence[Line]) -> Lines:
    """Return lines of one partition as columns, in their order."""
    size = len(lines)
    return Lines(
        offset=np.fromiter((line.offset for line in lines), np.int64, size),
        sub=np.fromiter((line.sub for line in lines), np.int32, size),
        chunk=np.fromiter((line.chunk for line in lines), np.int32, size),
        chunks=np.fromiter((line.chunks for line in lines), np.int32, size),
        cut=np.fromiter((line.cut for line in lines), np.uint64, size),
        records=np.fromiter((line.records for line in lines), np.int32, size),
        entries=np.fromiter((line.entries for line in lines), np.int32, size),
        time=np.fromiter((line.time for line in lines), np.int64, size),
        kafka_time=np.fromiter((line.kafka_time for line in lines), np.int64, size),
        leader_epoch=np.fromiter((line.leader_epoch for line in lines), np.int32, size),
        last_leader_epoch=np.fromiter((line.last_leader_epoch for line in lines), np.int32, size),
        service=coded([line.service for line in lines]),
        level=coded([line.level for line in lines]),
        template=coded([line.template_text for line in lines]),
        text=string_column([line.text for line in lines]),
        fields=string_column([line.fields for line in lines]),
    )


NO_LINES = lines_of(())


def all_lines(place: BlockPlace, lines: Lines) -> list[Line]:
    """Return columns as lines, in their order."""
    return [
        Line(*place, *columns)
        for columns in zip(
            lines.offset.tolist(),
            lines.sub.tolist(),
            lines.chunk.tolist(),
            lines.chunks.tolist(),
            as_optional_texts(lines.text),
            _decoded(lines.template),
            lines.time.tolist(),
            lines.kafka_time.tolist(),
            _decoded(lines.service),
            _decoded(lines.level),
            as_optional_texts(lines.fields),
            lines.cut.tolist(),
            lines.records.tolist(),
            lines.entries.tolist(),
            lines.leader_epoch.tolist(),
            lines.last_leader_epoch.tolist(),
            strict=True,
        )
    ]


def line_at(place: BlockPlace, lines: Lines, i: int) -> Line:
    """Return row `i` as a line."""
    return Line(
        *place,
        offset=int(lines.offset[i]),
        sub=int(lines.sub[i]),
        chunk=int(lines.chunk[i]),
        chunks=int(lines.chunks[i]),
        text=text_at(lines.text, i),
        template_text=lines.template.text(i),
        time=int(lines.time[i]),
        kafka_time=int(lines.kafka_time[i]),
        leader_epoch=int(lines.leader_epoch[i]),
        last_leader_epoch=int(lines.last_leader_epoch[i]),
        service=lines.service.text(i),
        level=lines.level.text(i),
        fields=text_at(lines.fields, i),
        cut=int(lines.cut[i]),
        records=int(lines.records[i]),
        entries=int(lines.entries[i]),
    )


def take_lines(lines: Lines, rows: NDArray[np.int64]) -> Lines:
    """Copy the given rows, in this order: what comes back shares no memory with `lines`."""
    numbers = [column[rows] for column in lines[:_NUMBERS]]
    names = [take_coded(column, rows) for column in (lines.service, lines.level, lines.template)]
    return Lines._make([*numbers, *names, take(lines.text, rows), take(lines.fields, rows)])


def lines_between(lines: Lines, first: int, end: int) -> Lines:
    """Return the rows from `first` to before `end`, in the memory of `lines`."""
    if end - first == lines.size:
        return lines
    rows = slice(first, end)
    numbers = [column[rows] for column in lines[:_NUMBERS]]
    names = [_used_only(column.codes[rows], column.values) for column in (lines.service, lines.level, lines.template)]
    return Lines._make([*numbers, *names, *(column.slice(first, end - first) for column in (lines.text, lines.fields))])


def join_lines(parts: Sequence[Lines]) -> Lines:
    """Return the lines of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return NO_LINES
    columns = list(zip(*parts, strict=True))
    numbers = [np.concatenate(column) for column in columns[:_NUMBERS]]
    names = [join_coded(column) for column in columns[_NUMBERS:_STRINGS]]
    return Lines._make([*numbers, *names, *(concat(column) for column in columns[_STRINGS:])])


def sorted_rows(lines: Lines) -> NDArray[np.int64]:
    """Return the rows in the order of offset, sub, chunk; equal ones stay in their order."""
    if (lines.offset[1:] > lines.offset[:-1]).all():
        return np.arange(lines.size)
    rows: NDArray[np.int64] = np.lexsort((lines.chunk, lines.sub, lines.offset))
    return rows


def empty_records(offset: NDArray[np.int64], kafka_time: NDArray[np.int64], leader_epoch: NDArray[np.int32]) -> Lines:
    """Return a hollow entry for each of n records that hold nothing: what an earlier log had in their place is gone."""
    size = len(offset)
    zeros = np.zeros(size, np.int32)
    nothing, no_text = coded_alike("", size), null_column(size)
    return Lines(
        offset=offset,
        sub=zeros,
        chunk=zeros,
        chunks=zeros,
        cut=zeros.astype(np.uint64),
        records=zeros + 1,
        entries=zeros + 1,
        time=kafka_time,
        kafka_time=kafka_time,
        leader_epoch=leader_epoch,
        last_leader_epoch=leader_epoch,
        service=nothing,
        level=nothing,
        template=nothing,
        text=no_text,
        fields=no_text,
    )


def hollowed(lines: Lines) -> Lines:
    """Return the hollow entries that stand for n entries, given by one piece of each: their records are whole with them."""
    names = ("sub", "records", "entries", "last_leader_epoch")
    hollow = empty_records(lines.offset, lines.kafka_time, lines.leader_epoch)
    return hollow._replace(**{name: getattr(lines, name) for name in names})


def last_offset_of(lines: Lines) -> int:
    """Return the last offset that an entry of n ≥ 1 lines spans."""
    return int((lines.offset + lines.records - 1).max())


def cut_of(texts: Sequence[str]) -> int:
    """Return how a line was cut: 8 bytes of BLAKE2b over the lengths and texts of its chunks; 0 if it has only one."""
    if len(texts) <= 1:
        return 0
    parts = [text.encode("utf-8", "replace") for text in texts]
    joined = b"".join(chain.from_iterable((len(part).to_bytes(4, "little"), part) for part in parts))
    return int.from_bytes(hashlib.blake2b(joined, digest_size=8).digest(), "little")


def _used_only(codes: NDArray[np.int32], values: tuple[str, ...]) -> Coded:
    """Return a column with those of the values that it uses."""
    if len(values) == 1 and len(codes):
        return Coded(codes, values)
    is_used = np.zeros(len(values), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    if len(used) == len(values):
        return Coded(codes, values)
    places = np.empty(len(values), np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    return Coded(places[codes], tuple([values[place] for place in used.tolist()]))


def _decoded(column: Coded) -> list[str]:
    return [column.values[code] for code in column.codes.tolist()]
