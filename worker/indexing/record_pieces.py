"""Joins the pieces that a container's runtime made of one line into the entry of the first.

`worker.indexing.events` calls it before it looks for events of several lines. Kubernetes' runtimes mark every piece but the last as `P`,
Docker's `json-file` logger leaves out the line feed. Pieces join as lines of an event do: records of one partition with consecutive offsets
and one key that hold one entry each, within bounds of records, bytes and Kafka's times. They must also be of one stream, and of one
container as far as the records name it: streams and containers are never mixed, and what comes between two pieces leaves them apart. The
answer depends on the records from the first piece on, never on a clock.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import as_texts, null_column, replace_rows, string_column, take, text_bytes
from consumers.decode.cri import DOCKER_PIECE_BYTES, docker_piece, stream_of_end
from consumers.decode.entries import Decoded, Entries
from consumers.decode.escapes import strip_escapes
from consumers.decode.json_text import Scalar, read_flat, write_flat
from consumers.text.regex import find_matching
from sinks.arrow import as_optional_texts
from worker.indexing.record_columns import RecordColumns

_MARK: Final = "cri.partial"
_TAG: Final = "logtag"
"""Where the usual parsers of these lines (Fluent Bit, Fluentd) put `P` or `F`."""
_STREAMS: Final = ("log.iostream", "stream")
_CONTAINER: Final = ("k8s.namespace.name", "k8s.pod.name", "k8s.container.name", "k8s.node.name", "host.name")
_MARK_BYTES: Final = len('{"cri.partial":true,"log.iostream":"stdout"}')
"""Of the fields of a piece that came as a line of text; no others need to be looked at, however short the text is."""
_LEAST_TEXT_BYTES: Final = 1_024
"""Of a piece that came in an object: a look at all fields of all short lines would cost more than it finds."""
MOST_PIECES: Final = 500
OpenTexts = Callable[[Entries, NDArray[np.int64]], Entries]
"""`Decoder.open_texts`."""
_MARKED: Final = f'"{re.escape(_MARK)}":true|"{_TAG}":"P'


class PieceBounds(NamedTuple):
    """Bounds of one line.

    Thread: any.
    """

    records: int = MOST_PIECES
    size_bytes: int = 256 * 1024
    """Of its text."""
    ms: int = 5_000
    """Between the first piece and the last."""


class JoinedPieces(NamedTuple):
    """What became of n records.

    Thread: any.
    """

    decoded: Decoded
    """Each whole line as the entry of its first record; pieces of lines that are not over are still apart."""
    open_from: tuple[int, ...]
    """For each partition the row from which on its records are pieces of a line that is not over; its end if none are."""


class _Piece(NamedTuple):
    """What a record says of the line that it is of."""

    is_partial: bool
    source: tuple[object, ...]
    """What the pieces of one line have alike."""


class _Line(NamedTuple):
    """Pieces in a row that are one line."""

    entries: list[int]
    after: int
    """The row after its last record; an empty last piece is no entry."""
    is_whole: bool
    """Its last piece is there."""
    is_open: bool
    """Its next piece may be the next record of the partition."""


def find_partial(entries: Entries, value: Sequence[bytes | None]) -> NDArray[np.int64]:
    """Return which of n entries may be pieces that are not the last one of their line, ascending; `value` is that of each row."""
    sizes, fields_sizes = text_bytes(entries.text), text_bytes(entries.fields)
    candidates = np.flatnonzero((fields_sizes == _MARK_BYTES) | ((sizes >= _LEAST_TEXT_BYTES) & (fields_sizes > 0)))
    if len(candidates):
        candidates = candidates[find_matching(take(entries.fields, candidates), _MARKED)]
    of_docker = [
        one
        for one in np.flatnonzero(sizes >= DOCKER_PIECE_BYTES // 2).tolist()  # escape codes have gone from the text
        if (piece := docker_piece(value[int(entries.row[one])] or b"")) is not None and piece.is_partial
    ]
    return np.union1d(candidates, np.array(of_docker, np.int64)) if of_docker else candidates


def join_pieces(records: RecordColumns, decoded: Decoded, bounds: PieceBounds, open_texts: OpenTexts, *, is_over: bool) -> JoinedPieces:
    """Join decoded records. A line whose next piece may follow stays open, unless no record follows (`is_over`).

    A whole line that is an object of JSON is read as one by `open_texts`, as it would have been in one piece.
    """
    partial = find_partial(decoded.entries, records.value)
    if not len(partial):
        return JoinedPieces(decoded, tuple(records.ends))
    walk = _Walk(records, decoded, bounds, partial)
    lines: list[_Line] = []
    open_from = list(records.ends)
    reached = 0
    for first in partial.tolist():
        row = int(decoded.entries.row[first])
        if row < reached:
            continue
        place = bisect_right(records.ends, row)
        line = walk.line_from(first, records.ends[place])
        reached = line.after
        if line.is_open and not is_over:
            open_from[place] = row
        elif line.after - row > 1:
            lines.append(line)
    if not lines:
        return JoinedPieces(decoded, tuple(open_from))
    joined = _joined(decoded, lines)
    whole = np.searchsorted(joined.entries.row, [decoded.entries.row[line.entries[0]] for line in lines if line.is_whole])
    return JoinedPieces(joined._replace(entries=open_texts(joined.entries, whole)), tuple(open_from))


class _Walk:
    """Follows lines from piece to piece.

    Thread: one.
    """

    def __init__(self, records: RecordColumns, decoded: Decoded, bounds: PieceBounds, partial: NDArray[np.int64]) -> None:
        """`partial`: what `find_partial` found; only these entries and the ones behind them are looked at."""
        self._records = records
        self._entries = entries = decoded.entries
        self._bounds = bounds
        self._empty = frozenset(decoded.empty.tolist())
        self._sizes = text_bytes(entries.text)
        near = np.union1d(partial, partial + 1)
        near = near[near < entries.size]
        self._fields_of = dict(zip(near.tolist(), as_optional_texts(take(entries.fields, near)), strict=True))
        differs = np.concatenate([[True], entries.row[1:] != entries.row[:-1], [True]])
        self._is_single = differs[1:] & differs[:-1]
        if entries.trace is not None:
            self._is_single &= text_bytes(entries.trace) == 0
        self._known: dict[str, _Piece | None] = {}
        """By kept fields; many lines have the same."""

    def line_from(self, first: int, end: int) -> _Line:
        """Return the line that begins with an entry of a partition whose records end before the row `end`."""
        row = int(self._entries.row[first])
        line, piece, size_bytes = [first], self._piece(first), int(self._sizes[first])
        if piece is None or not self._is_single[first]:
            return _Line(line, row + 1, is_whole=True, is_open=False)
        source, after = piece.source, row + 1
        while piece.is_partial:
            if after - row >= self._bounds.records:
                break
            if after == end:
                return _Line(line, after, is_whole=False, is_open=True)
            if not self._is_next(row, after):
                break
            entry = line[-1] + 1
            if after in self._empty:
                is_end = source[:1] == (stream_of_end(self._records.value[after] or b""),)
                return _Line(line, after + is_end, is_whole=is_end, is_open=False)
            found = self._piece(entry) if self._is_of_row(entry, after) else None
            if found is None or found.source != source or self._sizes[entry] + size_bytes > self._bounds.size_bytes:
                break
            if abs(int(self._entries.time_ms[entry] - self._entries.time_ms[first])) > self._bounds.ms:
                break
            line.append(entry)
            size_bytes += int(self._sizes[entry])
            after += 1
            piece = found
        return _Line(line, after, is_whole=not piece.is_partial, is_open=False)

    def _is_next(self, row: int, after: int) -> bool:
        """Whether a record may go on with the line whose first record is in `row`, and its last one before it."""
        offset, key, time_ms = self._records.offset, self._records.key, self._records.time_ms
        if offset[after] - offset[after - 1] != 1 or time_ms[after] - time_ms[row] > self._bounds.ms:
            return False
        return key is None or key[after] == key[row]

    def _is_of_row(self, entry: int, row: int) -> bool:
        return entry < self._entries.size and int(self._entries.row[entry]) == row and bool(self._is_single[entry])

    def _piece(self, entry: int) -> _Piece | None:
        """Return what a record says of its line; None: no runtime of containers wrote it."""
        written = docker_piece(self._records.value[int(self._entries.row[entry])] or b"")
        if written is not None:
            return _Piece(written.is_partial, (written.stream, written.time))
        text = self._fields_of[entry]
        if text is None:
            return None
        if text not in self._known:
            self._known[text] = _piece_of(read_flat(text))
        return self._known[text]


def _piece_of(fields: Mapping[str, Scalar]) -> _Piece | None:
    stream = next((fields[name] for name in _STREAMS if name in fields), None)
    if stream is None:
        return None
    return _Piece(_is_partial(fields), (stream, *(fields.get(name) for name in _CONTAINER)))


def _is_partial(fields: Mapping[str, Scalar]) -> bool:
    return fields.get(_MARK) is True or str(fields.get(_TAG, "")).startswith("P")


def _joined(decoded: Decoded, lines: Sequence[_Line]) -> Decoded:
    """Return what was decoded with each line as its first entry; a whole line is not marked as a piece any more."""
    entries = decoded.entries
    first = np.array([line.entries[0] for line in lines])
    rows = entries.row[first]
    number = np.array([line.after for line in lines]) - rows
    records = np.ones(entries.size, np.int32) if entries.records is None else entries.records.copy()
    records[first] = number
    is_left = np.ones(entries.size, np.bool_)
    for line in lines:
        is_left[line.entries[1:]] = False
    fields = as_optional_texts(take(entries.fields, first))
    unmarked = {text: _unmarked(text) for text in set(fields)}
    covered = np.concatenate([np.arange(row + 1, row + size) for row, size in zip(rows.tolist(), number.tolist(), strict=True)])
    entries = entries._replace(
        text=replace_rows(entries.text, first, strip_escapes(string_column(list(_texts(entries, lines))))),
        template=None if entries.template is None else replace_rows(entries.template, first, null_column(len(first))),
        fields=replace_rows(
            entries.fields,
            first,
            string_column([unmarked[text] if line.is_whole else text for text, line in zip(fields, lines, strict=True)]),
        ),
        records=records,
    )
    return decoded._replace(entries=entries.take(np.flatnonzero(is_left)), empty=np.setdiff1d(decoded.empty, covered))


def _texts(entries: Entries, lines: Sequence[_Line]) -> Iterator[str]:
    pieces = as_texts(take(entries.text, np.array([entry for line in lines for entry in line.entries])))
    begin = 0
    for line in lines:
        end = begin + len(line.entries)
        yield "".join(pieces[begin:end])
        begin = end


def _unmarked(text: str | None) -> str | None:
    """Return the fields of a whole line, given those of its first piece."""
    if text is None:
        return None
    fields = read_flat(text)
    if not _is_partial(fields):
        return text
    fields.pop(_MARK, None)
    if _TAG in fields:
        fields[_TAG] = "F"
    return write_flat(fields).decode() if fields else None
