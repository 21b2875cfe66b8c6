"""Which of several copies of records hold: decided by record before it is decided by entry. Pure functions over columns.

1. Pieces combine to an entry only if they are of one text cut in one way (`chunks`, `cut`); of equal pieces that of the latest run counts.
2. Entries combine to a *version* of their record: those at one offset, of one time of Kafka's, that span as many offsets and say that
   they are as many (`entries`). A version is made of what its latest run has, and of what the runs before that one have for as long as
   entries are missing. It is *whole* once none is, and then it is of the run that completed it.
3. From the latest whole version to the earliest: one holds unless later ones that hold have all of its offsets, or a later one that begins
   where it begins has another time of Kafka's, for then the log was cut. So a record that was read again holds what it holds now, and an
   event of n records hides whatever earlier runs have of them. What lies between two records of one block, its run has passed over. A
   later version that has only some of the offsets of an earlier one does not hold: its run joined otherwise, and has not come to the end
   of it, or never will.
4. The entries of torn versions hold where no whole version does: each in its latest whole copy, else in its latest torn one.
5. Hollow entries (`chunks` = 0) say that there is nothing: they count where no run has the entry, and never hold. A version of nothing
   else only denies what an earlier log had there: what a run has of the same record, by Kafka's time of it, is true whatever another says.

By piece instead of by entry, a reader would join one run's first chunk with another's second; by entry instead of by record, entries that
a record does not have any more would stay (design: union).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_SUB_BITS = 32
_TORN = -1
_NEVER = -2


class Copies(NamedTuple):
    """n pieces of any runs and partitions as columns, each of length n.

    Thread: any.
    """

    place: NDArray[np.int64]
    """A number for each partition."""
    run: NDArray[np.int64]
    """A number for each run, 0 or more; of two, the later one is greater."""
    offset: NDArray[np.int64]
    sub: NDArray[np.int32]
    chunk: NDArray[np.int32]
    chunks: NDArray[np.int32]
    cut: NDArray[np.uint64]
    records: NDArray[np.int32]
    entries: NDArray[np.int32]
    kafka_time: NDArray[np.int64]
    block: NDArray[np.int64]
    """A number for each block."""


class _Entries(NamedTuple):
    """The best copy of each entry of each version, by version and sub."""

    shape: NDArray[np.int64]
    version: NDArray[np.int64]
    sub: NDArray[np.int32]
    run: NDArray[np.int64]
    """The latest that has a piece of it."""
    is_whole: NDArray[np.bool_]


class _Spans(NamedTuple):
    """The offsets of versions or entries: `start` to before `end` in a partition."""

    place: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> "_Spans":
        return _Spans(self.place[rows], self.start[rows], self.end[rows])


def holding(copies: Copies) -> NDArray[np.bool_]:
    """Return which pieces hold: bool[n]."""
    place, run, offset, sub, chunk, chunks, cut, records, entries, kafka_time, block = copies
    order = np.lexsort((-run, chunk, cut, chunks, sub, kafka_time, entries, records, offset, place))
    place, run, offset, sub, chunk, chunks, cut, records, entries, kafka_time, block = (column[order] for column in copies)
    is_version = _changes(place, offset, records, entries, kafka_time)
    is_entry = is_version | _changes(sub)
    is_shape = is_entry | _changes(chunks, cut)
    is_piece = is_shape | _changes(chunk)  # the first of equal pieces is that of the latest run
    starts, begins = np.flatnonzero(is_shape), np.flatnonzero(is_version)
    latest = np.maximum.reduceat(run, starts)
    is_whole = np.add.reduceat(is_piece.astype(np.int64), starts) >= chunks[starts]
    best = _last_of_each(np.cumsum(is_entry, dtype=np.int64)[starts], is_whole, chunks[starts] > 0, latest, chunks[starts], cut[starts])
    of = _Entries(best, (np.cumsum(is_version) - 1)[starts[best]], sub[starts[best]], latest[best], is_whole[best])
    rank, is_used = _complete(of, entries[begins])
    spans = _Spans(place[begins], offset[begins], offset[begins].astype(np.int64) + records[begins])
    is_hollow = np.maximum.reduceat(chunks, begins) == 0
    is_denied = _are_denied(spans, rank, kafka_time[begins], is_hollow)
    rank[is_hollow & (rank != _TORN) | is_denied] = _NEVER
    holds_whole = _latest_apart(spans, rank, kafka_time[begins], _passed(spans, block[begins]))
    is_held = is_used & holds_whole[of.version]
    torn = np.flatnonzero(rank[of.version] == _TORN)
    if len(torn):
        own = spans.take(of.version[torn])
        is_free = ~_overlap(own, spans.take(holds_whole))
        torn = torn[is_free]
        key = _numbered(own.place[is_free], own.start[is_free], of.sub[torn])
        is_held[torn[_last_of_each(key, of.is_whole[torn], of.run[torn], of.shape[torn])]] = True
    is_chosen = np.zeros(len(starts), np.bool_)
    is_chosen[of.shape[is_held]] = True
    holds = np.empty(len(order), np.bool_)
    holds[order] = is_piece & is_chosen[np.cumsum(is_shape) - 1] & (chunks > 0)
    return holds


def _complete(of: _Entries, entries: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return of each version the run that completed it, `_TORN` if none did; and which entries whole versions are made of.

    `entries` is of each version how many it needs; 0: its block does not say, then those up to the last that is there.
    """
    rank, is_used = np.full(len(entries), _TORN), np.zeros(len(of.shape), np.bool_)
    whole = np.flatnonzero(of.is_whole)
    rows = whole[np.lexsort((of.sub[whole], -of.run[whole], of.version[whole]))]
    version, run = of.version[rows], of.run[rows]
    is_first = _changes(version)
    begins = np.flatnonzero(is_first)
    group = np.cumsum(is_first) - 1
    there = np.arange(len(rows)) - begins[group] + 1
    up_to = np.maximum.accumulate((group << _SUB_BITS) + of.sub[rows]) - (group << _SUB_BITS) + 1
    needed = np.where(entries[version] > 0, entries[version], up_to)
    is_run_end = np.append(_changes(version, run)[1:], np.ones(min(len(rows), 1), np.bool_))
    done = np.flatnonzero(is_run_end & (there >= needed))
    done = done[_changes(version[done])]
    rank[version[done]] = run[done]
    ends = np.full(len(entries), _TORN)
    ends[version[done]] = done
    is_used[rows] = np.arange(len(rows)) <= ends[version]
    return rank, is_used


def _are_denied(spans: _Spans, rank: NDArray[np.int64], kafka_time: NDArray[np.int64], is_hollow: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which versions a later hollow one denies, which begins where they begin and has another time of Kafka's."""
    start = _numbered(spans.place, spans.start)
    denied = np.zeros(len(rank), np.bool_)
    for one in np.flatnonzero(is_hollow & (rank != _TORN)).tolist():
        same = slice(*np.searchsorted(start, [start[one], start[one] + 1]))
        denied[same] |= (rank[same] < rank[one]) & (kafka_time[same] != kafka_time[one])
    return denied


def _passed(spans: _Spans, block: NDArray[np.int64]) -> _Spans:
    """Return of each version the offsets up to the next one of its block: its run has read them, and has nothing in between."""
    order = np.lexsort((spans.start, block))
    following = np.append(spans.start[order][1:], 0)
    is_last = np.append(_changes(block[order])[1:], True)
    end = spans.end.copy()
    end[order] = np.where(is_last, spans.end[order], np.maximum(following, spans.end[order]))
    return _Spans(spans.place, spans.start, end)


def _latest_apart(spans: _Spans, rank: NDArray[np.int64], kafka_time: NDArray[np.int64], passed: _Spans) -> NDArray[np.bool_]:
    """Return which versions hold, of those with a rank (third rule); `kafka_time` is of the first record of each."""
    holds = np.zeros(len(rank), np.bool_)
    ranked = np.flatnonzero(rank >= 0)
    own = spans.take(ranked)
    if (own.end - own.start == 1).all():
        holds[ranked[_last_of_each(_numbered(own.place, own.start), rank[ranked])]] = True
        return holds
    ranks = np.unique(rank[ranked])[::-1].tolist()
    for one in ranks:
        rows = ranked[rank[ranked] == one]
        rows = rows[_first_apart(spans.take(rows))]
        later = np.flatnonzero(holds)
        is_false = _are_of_another_log(rows, later, spans, kafka_time)
        while True:
            staying = rows[~_covered(spans.take(rows), passed.take(later)) & ~is_false]
            unfinished = _overlap(spans.take(later), spans.take(staying))
            if not unfinished.any():
                break
            holds[later[unfinished]] = False
            later = later[~unfinished]
        holds[staying] = True
    for one in ranks:  # what was hidden by one that does not hold itself
        rows = ranked[(rank[ranked] == one) & ~holds[ranked]]
        rows = rows[~_overlap(spans.take(rows), spans.take(holds))]
        holds[rows[_first_apart(spans.take(rows))]] = True
    return holds


def _first_apart(spans: _Spans) -> NDArray[np.int64]:
    """Return which spans to keep so that none shares an offset with another: all of them, unless one run has an offset in two ways."""
    order = np.lexsort((spans.end, spans.start, spans.place))
    kept: list[int] = []
    reached = (_TORN, 0)
    for at, place, start, end in zip(order.tolist(), *(column[order].tolist() for column in spans), strict=True):
        if reached <= (place, start):
            kept.append(at)
            reached = (place, end)
    return np.array(kept, np.int64)


def _covered(spans: _Spans, others: _Spans) -> NDArray[np.bool_]:
    """Return which spans have every offset in some of `others`."""
    found = np.zeros(len(spans.place), np.bool_)
    for place in np.unique(others.place).tolist():
        own, near = np.flatnonzero(spans.place == place), others.take(others.place == place)
        near = _merged(near.take(np.argsort(near.start)))
        inside = _offsets_before(near, spans.end[own]) - _offsets_before(near, spans.start[own])
        found[own] = inside == spans.end[own] - spans.start[own]
    return found


def _merged(spans: _Spans) -> _Spans:
    """Return spans of one place, ascending by their start, as ones that are apart."""
    reach = np.maximum.accumulate(spans.end)
    begins = np.flatnonzero(np.append(True, spans.start[1:] > reach[:-1]))
    return _Spans(spans.place[begins], spans.start[begins], reach[np.append(begins[1:], len(reach)) - 1])


def _offsets_before(spans: _Spans, offset: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many offsets of spans, ascending and apart, lie before each of these."""
    sums = np.append(0, np.cumsum(spans.end - spans.start))
    last = np.searchsorted(spans.start, offset) - 1
    inside: NDArray[np.int64] = np.where(last < 0, 0, sums[last] + np.minimum(spans.end[last], offset) - spans.start[last])
    return inside


def _are_of_another_log(
    rows: NDArray[np.int64], later: NDArray[np.int64], spans: _Spans, kafka_time: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which versions begin with a record that a later one has with another time of Kafka's: the log was cut and grew again."""
    known = dict(zip(zip(spans.place[later].tolist(), spans.start[later].tolist(), strict=True), kafka_time[later].tolist(), strict=True))
    own = zip(spans.place[rows].tolist(), spans.start[rows].tolist(), kafka_time[rows].tolist(), strict=True)
    return np.fromiter((known.get((place, start), time) != time for place, start, time in own), np.bool_, len(rows))


def _overlap(spans: _Spans, others: _Spans) -> NDArray[np.bool_]:
    """Return which spans share an offset with one of `others`, which share none with each other."""
    found = np.zeros(len(spans.place), np.bool_)
    for place in np.unique(others.place).tolist():
        own, near = np.flatnonzero(spans.place == place), others.take(others.place == place)
        order = np.argsort(near.start)
        before = np.searchsorted(near.start[order], spans.end[own])
        found[own] = (before > 0) & (near.end[order][np.maximum(before, 1) - 1] > spans.start[own])
    return found


def _last_of_each(group: NDArray[np.int64], *ranks: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each group, ascending, the row that the ranks, the most important first, put last."""
    ranked = np.lexsort((*ranks[::-1], group))
    last: NDArray[np.int64] = ranked[np.append(_changes(group[ranked])[1:], np.ones(min(len(ranked), 1), np.bool_))]
    return last


def _numbered(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Return a number for each row, equal where all columns are."""
    order = np.lexsort(columns[::-1])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(_changes(*(column[order] for column in columns)))
    return number


def _changes(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a row differs from the one before it; the first one does."""
    changed = np.zeros(len(columns[0]), np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed
