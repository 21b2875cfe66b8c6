"""Heads and word filters of a local folder's blocks, in memory: what its searches for blocks are answered from.

Milvus Lite evaluates a filter over arrays row by row in Python, with every column at hand; numpy does it a hundred times faster. The
process that holds the folder is the only one that writes there, so what is in here is exact: `lite_blocks` reads it once at opening
and adds what was acknowledged. A reader takes a moment's view under a short lock and works on that.
"""

import threading
from collections.abc import Collection, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace
from sinks.heads import NO_HEADS, NUMBERS, HeadRow, Heads, join_heads
from sinks.milvus.index_time import Dates
from sinks.milvus.lite_bloom import BloomFilters, SeenFilters
from sinks.milvus.lite_growing import Growing
from sinks.sink import BlockFilter, FoundBlocks, OffsetSpan, RunSpan, SeenRun

_T = TypeVar("_T")
_LEAST_DEAD = 1_000
"""With fewer deleted blocks than this, or than there are living ones, it is not worth while to leave them out."""
_NO_NUMBER = (1 << 63) - 1
"""Above every block's."""
_SPARSE = 8
"""Where a filter leaves fewer than one block in this many, their templates are picked out; otherwise all are scanned."""


class IndexedBlock(NamedTuple):
    """What is kept of a block.

    Thread: any.
    """

    head: HeadRow
    bloom: bytes
    """Its `lite_bloom.bloom_filter`."""
    slot: int
    """The key of its rows."""


class _GrowingHeads:
    """All blocks as columns, in the order in which they came, deleted ones included."""

    def __init__(self) -> None:
        self.ids: list[BlockId] = []
        self.row: dict[BlockId, int] = {}
        """Where the blocks that are there are."""
        self.live = Growing(np.bool_)
        self.place = Growing(np.int32)
        self.ranges = [Growing(np.int64) for _ in range(6)]
        """Offsets, times, lines, `written_ms`."""
        self.services = Growing(np.int32)
        self.levels = Growing(np.int32)
        self.start = Growing(np.int64)
        self.start.add(np.zeros(1, np.int64))
        self.template = Growing(np.int32)
        self.pieces = Growing(np.int32)
        self.times = [Growing(np.int64), Growing(np.int64)]
        """Of each template of each block: the first and the last."""
        self.filters = BloomFilters()
        self.slot = Growing(np.int64)
        self.run = Growing(np.int32)
        self.first = Growing(np.int64)
        """The first of each block's numbers."""


class _SeenHeads(NamedTuple):
    """The columns at one moment; `live` is a copy, the rest only ever grows."""

    ids: Sequence[BlockId]
    size: int
    live: NDArray[np.bool_]
    place: NDArray[np.int32]
    run: NDArray[np.int32]
    ranges: tuple[NDArray[np.int64], ...]
    services: NDArray[np.int32]
    levels: NDArray[np.int32]
    start: NDArray[np.int64]
    template: NDArray[np.int32]
    pieces: NDArray[np.int32]
    times: tuple[NDArray[np.int64], ...]
    filters: SeenFilters
    keys: NDArray[np.int64]
    sets: Sequence[tuple[str, ...]]
    places: Sequence[BlockPlace]
    wanted: NDArray[np.bool_] | None
    """Of the codes of templates, those that the filter names; None without such a filter."""
    besides: Sequence[int]
    """The codes of the runs that the filter names, -1 for one that has no block."""


class _Numbered(Generic[_T]):
    """Distinct values by number, in the order in which they came."""

    def __init__(self) -> None:
        self.values: list[_T] = []
        self._numbers: dict[_T, int] = {}

    def numbers(self, values: Sequence[_T]) -> NDArray[np.int32]:
        """Return the number of each value; a new one gets the next."""
        new = [value for value in dict.fromkeys(values) if value not in self._numbers]
        self._numbers.update(zip(new, range(len(self.values), len(self.values) + len(new)), strict=True))
        self.values += new
        return np.array([self._numbers[value] for value in values], np.int32)

    def find(self, value: _T) -> int:
        """Return the number of a value, -1 if it has none."""
        return self._numbers.get(value, -1)


class HeadIndex:
    """Every stored block once.

    Thread: any; `add` and `remove` one at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns = _GrowingHeads()
        self._codes: dict[int, int] = {}
        self._keys = Growing(np.int64)
        self._sets = _Numbered[tuple[str, ...]]()
        self._places = _Numbered[BlockPlace]()
        self._runs = _Numbered[tuple[BlockPlace, str]]()

    def __len__(self) -> int:
        return len(self._columns.row)

    def lines(self) -> int:
        """Return how many lines the blocks have; copies count."""
        with self._lock:
            return int(self._columns.ranges[4].seen()[self._columns.live.seen()].sum())

    def dates(self) -> Dates | None:
        """Return when the oldest and the newest block were written; None without blocks."""
        with self._lock:
            written_ms = self._columns.ranges[5].seen()[self._columns.live.seen()]
            return Dates(int(written_ms.min()), int(written_ms.max())) if len(written_ms) else None

    def written_before(self, written_ms: int) -> list[BlockId]:
        """Return the blocks that were first written before a moment."""
        with self._lock:
            columns = self._columns
            rows = np.flatnonzero(columns.live.seen() & (columns.ranges[5].seen() < written_ms))
            return [columns.ids[row] for row in rows.tolist()]

    def slots(self, ids: Collection[BlockId]) -> dict[BlockId, int]:
        """Return the slots of those of `ids` that are stored."""
        with self._lock:
            row, slot = self._columns.row, self._columns.slot.seen()
            return {one: int(slot[row[one]]) for one in ids if one in row}

    def add(self, blocks: Sequence[IndexedBlock]) -> None:
        """Add blocks; one that is there already stays as it is, for its content is the same."""
        with self._lock:
            new = {one.head.id: one for one in blocks if one.head.id not in self._columns.row}
            if new:
                slots = np.array([one.slot for one in new.values()], np.int64)
                self._add(join_heads([one.head for one in new.values()]), [one.bloom for one in new.values()], slots)

    def remove(self, ids: Collection[BlockId]) -> None:
        """Remove blocks; one that is not there is no error."""
        with self._lock:
            columns = self._columns
            rows = [row for one in ids if (row := columns.row.pop(one, None)) is not None]
            columns.live.seen()[rows] = False
            dead = len(columns.ids) - len(columns.row)
            if dead > max(_LEAST_DEAD, len(columns.row)):
                seen = self._seen(BlockFilter())
                rows_left = np.flatnonzero(seen.live)
                self._columns = _GrowingHeads()
                self._add(_heads(seen, rows_left), seen.filters.select(rows_left), columns.slot.seen()[rows_left])

    def find(self, only: BlockFilter, limit: int | None) -> FoundBlocks:
        """Return the blocks that pass a filter; with a limit, those with the latest `last_ms`."""
        with self._lock:
            seen = self._seen(only)
        found = _passing(seen, only)
        if limit is None or len(found) <= limit:
            return FoundBlocks(_heads(seen, found), is_all=True)
        newest = np.argsort(-seen.ranges[3][found], kind="stable")[: max(limit, 0)]
        return FoundBlocks(_heads(seen, found[newest]), is_all=False)

    def unseen(self, seen: Collection[SeenRun]) -> list[BlockId]:
        """Return the blocks that begin behind what was seen of their run; runs that are not named are as for `Sink.unseen_blocks`."""
        last = {(one.place, one.run): one.last for one in seen}
        latest: dict[BlockPlace, str] = {}
        for one in seen:
            latest[one.place] = max(one.run, latest.get(one.place, ""))
        with self._lock:
            columns = self._columns
            ends = [last.get((place, run), -1 if run > latest.get(place, "") else _NO_NUMBER) for place, run in self._runs.values]
            is_new = columns.live.seen() & (columns.first.seen() > np.array(ends, np.int64)[columns.run.seen()])
            return [columns.ids[row] for row in np.flatnonzero(is_new).tolist()]

    def _seen(self, only: BlockFilter) -> _SeenHeads:
        columns, wanted = self._columns, None
        if only.templates is not None:
            wanted = np.zeros(len(self._keys), bool)
            wanted[[code for key in only.templates if (code := self._codes.get(key)) is not None]] = True
        return _SeenHeads(
            ids=columns.ids,
            size=len(columns.ids),
            live=columns.live.seen().copy(),
            place=columns.place.seen(),
            run=columns.run.seen(),
            ranges=tuple(one.seen() for one in columns.ranges),
            services=columns.services.seen(),
            levels=columns.levels.seen(),
            start=columns.start.seen(),
            template=columns.template.seen(),
            pieces=columns.pieces.seen(),
            times=tuple(one.seen() for one in columns.times),
            filters=columns.filters.seen(),
            keys=self._keys.seen(),
            sets=self._sets.values,
            places=self._places.values,
            wanted=wanted,
            besides=[self._runs.find((one.place, one.run)) for one in only.besides or ()],
        )

    def _add(self, heads: Heads, filters: Sequence[bytes], slots: NDArray[np.int64]) -> None:
        columns = self._columns
        columns.slot.add(slots)
        columns.row.update(zip(heads.ids, range(len(columns.ids), len(columns.ids) + heads.size), strict=True))
        columns.ids.extend(heads.ids)
        columns.live.add(np.ones(heads.size, bool))
        columns.run.add(self._runs.numbers([(one.place, one.run) for one in heads.ids]))
        columns.first.add(np.array([one.first for one in heads.ids], np.int64))
        columns.place.add(self._places.numbers([one.place for one in heads.ids]))
        for column, values in zip(columns.ranges, heads[NUMBERS], strict=True):
            column.add(values)
        columns.services.add(self._sets.numbers(heads.services))
        columns.levels.add(self._sets.numbers(heads.levels))
        columns.start.add(heads.start[1:] + len(columns.template))
        columns.template.add(self._template_codes(heads.templates))
        columns.pieces.add(heads.pieces.astype(np.int32))
        for column, values in zip(columns.times, (heads.template_first_ms, heads.template_last_ms), strict=True):
            column.add(values)
        columns.filters.add(filters)

    def _template_codes(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        distinct, places = np.unique(keys, return_inverse=True)
        new = [key for key in distinct.tolist() if key not in self._codes]
        self._codes.update(zip(new, range(len(self._codes), len(self._codes) + len(new)), strict=True))
        self._keys.add(np.array(new, np.int64))
        codes = np.array([self._codes[key] for key in distinct.tolist()], np.int32)
        return np.asarray(codes[places], np.int32)


def _passing(seen: _SeenHeads, only: BlockFilter) -> NDArray[np.int64]:
    """Return the rows of the living blocks that pass."""
    passing = _passing_by_offset(seen, only)
    first_ms, last_ms = seen.ranges[2:4]
    if only.since_ms is not None:
        passing &= last_ms >= only.since_ms
    if only.until_ms is not None:
        passing &= first_ms < only.until_ms
    for wanted, column in ((only.services, seen.services), (only.levels, seen.levels)):
        if wanted:
            passing &= np.array([not set(wanted).isdisjoint(one) for one in list(seen.sets)], bool)[column]
    for unwanted, column in ((only.not_services, seen.services), (only.not_levels, seen.levels)):
        if unwanted:
            passing &= np.array([not set(one) <= set(unwanted) for one in list(seen.sets)], bool)[column]
    rows = np.flatnonzero(passing)
    if seen.wanted is not None:
        rows = rows[_any_template(seen, rows, seen.wanted)]
    if only.words:
        rows = rows[seen.filters.may_hold(rows, only.words)]
    return rows


def _passing_by_offset(seen: _SeenHeads, only: BlockFilter) -> NDArray[np.bool_]:
    """Say of each row whether it is a living block at a wanted place."""
    passing = seen.live
    if only.topics or only.not_topics or only.epoch is not None or only.partition is not None:
        passing &= np.array([_is_place(place, only) for place in list(seen.places)], bool)[seen.place]
    first_offset, last_offset = seen.ranges[:2]
    if only.first_offset is not None:
        passing &= last_offset >= only.first_offset
    if only.end_offset is not None:
        passing &= first_offset < only.end_offset
    if only.spans is not None:
        partition = np.array([place.partition for place in list(seen.places)], np.int64)[seen.place]
        passing &= _any_of(seen, [(partition == span.partition) & _overlap(seen, span) for span in only.spans])
    if only.besides is not None:
        codes = {place: code for code, place in enumerate(list(seen.places))}
        runs = zip(only.besides, seen.besides, strict=True)
        passing &= _any_of(seen, [(seen.place == codes.get(one.place, -1)) & (seen.run != run) & _overlap(seen, one) for one, run in runs])
    return passing


def _overlap(seen: _SeenHeads, span: OffsetSpan | RunSpan) -> NDArray[np.bool_]:
    first_offset, last_offset = seen.ranges[:2]
    return (last_offset >= span.first_offset) & (first_offset < span.end_offset)


def _any_of(seen: _SeenHeads, each: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    return np.asarray(np.logical_or.reduce([np.zeros(seen.size, bool), *each]), bool)


def _is_place(place: BlockPlace, only: BlockFilter) -> bool:
    is_topic = (not only.topics or place.topic in only.topics) and place.topic not in only.not_topics
    return is_topic and only.epoch in (None, place.epoch) and only.partition in (None, place.partition)


def _any_template(seen: _SeenHeads, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say of each row whether it has one of the wanted templates."""
    if len(rows) == 0 or not wanted.any():
        return np.zeros(len(rows), bool)
    if _SPARSE * len(rows) < rows[-1] - rows[0]:
        at, start = _entries(seen, rows)
        hits = np.concatenate([np.zeros(1, np.int64), np.cumsum(wanted[seen.template[at]])])
        return np.asarray(hits[start[1:]] > hits[start[:-1]], bool)
    begin, start = seen.start[rows[0]], seen.start[rows[0] : rows[-1] + 2]
    has_any = np.zeros(len(start) - 1, bool)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        has_any[filled] = np.logical_or.reduceat(wanted[seen.template[begin : start[-1]]], start[filled] - begin)
    return np.asarray(has_any[rows - rows[0]], bool)


def _entries(seen: _SeenHeads, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64] | slice, NDArray[np.int64]]:
    """Return where the templates of these rows are, and where each row's begin among those; of neighbours nothing is copied."""
    sizes = seen.start[rows + 1] - seen.start[rows]
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if len(rows) and (np.diff(rows) == 1).all():
        begin = int(seen.start[rows[0]])
        return slice(begin, begin + int(start[-1])), start
    return np.repeat(seen.start[rows] - start[:-1], sizes) + np.arange(start[-1]), start


def _heads(seen: _SeenHeads, rows: NDArray[np.int64]) -> Heads:
    """Return these rows as the sink's callers get them."""
    if not len(rows):
        return NO_HEADS
    at, start = _entries(seen, rows)
    ids, sets = seen.ids, seen.sets
    names = ([sets[code] for code in column[rows].tolist()] for column in (seen.services, seen.levels))
    of_templates = (seen.keys[seen.template[at]], seen.pieces[at].astype(np.int64), *(column[at] for column in seen.times))
    return Heads._make([[ids[row] for row in rows.tolist()], *names, *(column[rows] for column in seen.ranges), start, *of_templates])
