"""Lines as columns: how single lines become columns and back, and how columns are cut, joined and ordered.

Nothing here is done line by line but `lines_of`, `all_lines` and `line_at`, which are for readers, tools and tests.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import as_optional_texts, concat, null_column, string_column, take, text_at
from sinks.block import BlockPlace, CodedColumn, Column, Lines
from sinks.line import Line
from sinks.row import TemplateText

_OF_LINE = tuple("template" if name == "template_text" else name for name in Line._fields[len(BlockPlace._fields) :])
"""The column of each attribute of a line, after its place."""
_Text = TypeVar("_Text", bound=str)
_ColumnType = TypeVar("_ColumnType")
_Value = TypeVar("_Value")


def coded(values: Sequence[_Text]) -> CodedColumn[_Text]:
    """Return n strings as codes into their distinct values, in the order of their first use."""
    places = {value: place for place, value in enumerate(dict.fromkeys(values))}
    return CodedColumn(np.fromiter(map(places.__getitem__, values), np.int32, len(values)), tuple(places))


def coded_alike(value: _Text, size: int) -> CodedColumn[_Text]:
    """Return n times the same string."""
    return CodedColumn(np.zeros(size, np.int32), (value,) if size else ())


def take_coded(column: CodedColumn[_Text], rows: NDArray[np.int64]) -> CodedColumn[_Text]:
    """Return the given rows, with those values that they use."""
    return _used_only(column.codes[rows], column.values)


def join_coded(parts: Sequence[CodedColumn[_Text]]) -> CodedColumn[_Text]:
    """Return several columns as one."""
    if all(part.values == parts[0].values for part in parts[1:]):
        return CodedColumn(np.concatenate([part.codes for part in parts]), parts[0].values)
    places: dict[_Text, int] = {}
    mapped = np.array([places.setdefault(value, len(places)) for part in parts for value in part.values], np.int32)
    before = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
    codes = np.concatenate([part.codes for part in parts]) + np.repeat(before, [len(part.codes) for part in parts])
    return CodedColumn(mapped[codes], tuple(places))


class _Kind(NamedTuple, Generic[_ColumnType, _Value]):
    """How the columns of one type are made and cut.

    Thread: any.
    """

    make: Callable[[list[_Value]], _ColumnType]
    """Of the values of n lines."""
    values: Callable[[_ColumnType], list[_Value]]
    at: Callable[[_ColumnType, int], _Value]
    take: Callable[[_ColumnType, NDArray[np.int64]], _ColumnType]
    """Copies the given rows."""
    between: Callable[[_ColumnType, int, int], _ColumnType]
    """Returns the rows from a first one to before an end, in the same memory."""
    join: Callable[[Sequence[_ColumnType]], _ColumnType]


_AnyKind = _Kind[Any, Any]


def _numbers(dtype: type[np.integer]) -> _Kind[NDArray[np.integer], int]:
    return _Kind(
        make=partial(np.array, dtype=dtype),
        values=np.ndarray.tolist,
        at=np.ndarray.item,
        take=lambda column, rows: column[rows],
        between=lambda column, first, end: column[first:end],
        join=np.concatenate,
    )


_CODED: _Kind[CodedColumn[str], str] = _Kind(
    make=coded,
    values=lambda column: [column.values[code] for code in column.codes.tolist()],
    at=CodedColumn.text,
    take=take_coded,
    between=lambda column, first, end: _used_only(column.codes[first:end], column.values),
    join=join_coded,
)
_TEXTS: _Kind[Column, str | None] = _Kind(
    make=string_column,
    values=as_optional_texts,
    at=text_at,
    take=take,
    between=lambda column, first, end: column.slice(first, end - first),
    join=concat,
)


def _kind_of(declared: object) -> _AnyKind:
    """Return the kind of a column as `Lines` declares it."""
    if get_origin(declared) is CodedColumn:
        return _CODED
    return _TEXTS if declared is Column else _numbers(get_args(get_args(declared)[1])[0])


_KINDS = {name: _kind_of(declared) for name, declared in get_type_hints(Lines).items()}
"""Of each column, in their order: what is declared in `Lines` is cut, joined and read here."""
_columns_of_line = attrgetter(*_OF_LINE)
_AT = tuple(_KINDS[name].at for name in _OF_LINE)


def lines_of(lines: Sequence[Line]) -> Lines:
    """Return lines of one partition as columns, in their order."""
    values = dict(zip(_OF_LINE, zip(*(line[len(BlockPlace._fields) :] for line in lines), strict=True), strict=True)) if lines else {}
    return Lines(**{name: kind.make(list(values.get(name, ()))) for name, kind in _KINDS.items()})


NO_LINES = lines_of(())


def all_lines(place: BlockPlace, lines: Lines) -> list[Line]:
    """Return columns as lines, in their order."""
    columns = (_KINDS[name].values(column) for name, column in zip(_OF_LINE, _columns_of_line(lines), strict=True))
    return [Line(*place, *values) for values in zip(*columns, strict=True)]


def line_at(place: BlockPlace, lines: Lines, i: int) -> Line:
    """Return row `i` as a line."""
    return Line(*place, *[at(column, i) for at, column in zip(_AT, _columns_of_line(lines), strict=True)])


def take_lines(lines: Lines, rows: NDArray[np.int64]) -> Lines:
    """Copy the given rows, in this order: what comes back shares no memory with `lines`."""
    return Lines._make(kind.take(column, rows) for kind, column in zip(_KINDS.values(), lines, strict=True))


def lines_between(lines: Lines, first: int, end: int) -> Lines:
    """Return the rows from `first` to before `end`, in the memory of `lines`."""
    if end - first == lines.size:
        return lines
    return Lines._make(kind.between(column, first, end) for kind, column in zip(_KINDS.values(), lines, strict=True))


def join_lines(parts: Sequence[Lines]) -> Lines:
    """Return the lines of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return NO_LINES
    return Lines._make(kind.join(columns) for kind, *columns in zip(_KINDS.values(), *parts, strict=True))


def without_texts(lines: Lines) -> Lines:
    """Return lines whose texts and fields, most of what they hold, are gone."""
    return lines._replace(text=NO_LINES.text, fields=NO_LINES.fields)


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
    nothing, no_text = coded_alike(TemplateText(""), size), null_column(size)
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


def _used_only(codes: NDArray[np.int32], values: tuple[_Text, ...]) -> CodedColumn[_Text]:
    """Return a column with those of the values that it uses."""
    if len(values) == 1 and len(codes):
        return CodedColumn(codes, values)
    is_used = np.zeros(len(values), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    if len(used) == len(values):
        return CodedColumn(codes, values)
    places = np.empty(len(values), np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    return CodedColumn(places[codes], tuple([values[place] for place in used.tolist()]))
