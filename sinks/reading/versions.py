"""Which of several copies of records hold: decided by record before it is decided by entry. Pure functions over columns.

1. Pieces combine to an entry only if they are of one text cut in one way (`chunks`, `cut`); of equal pieces that of the latest run counts.
2. Entries combine to a *version* of their record: those at one offset, of the same leaders, that span as many offsets and say that they
   are as many (`entries`). A version is made of what its latest run has, and of what the runs before that one have for as long as
   entries are missing. It is *whole* once none is, and then it is of the run that completed it.
3. A version does not hold if any run knows a record of a later leader at one of its offsets: the log was cut, and has grown again. For
   leader epochs never decrease along a log, and a log that is cut goes on under a later leader.
4. All others are of one log, whose records some runs joined otherwise than others, or did not come to the end of. Of whole versions that
   overlap, those hold that leave nothing out, and of several such choices the one of the later runs (`_best_cover`). So a record that was
   read again holds what it holds now, an event of n records hides whatever earlier runs have of them, and a run that was killed inside
   an event that it joins otherwise hides nothing of it, whenever its writes arrive.
5. The entries of torn versions hold where no whole version does: each in its latest whole copy, else in its latest torn one.
6. Hollow entries (`chunks` = 0) say that there is nothing: they count where no run has the entry, and are never shown. A version of
   nothing else hides nothing that spans the same records: what a run has of them is true whatever another says.

By piece instead of by entry, a reader would join one run's first chunk with another's second; by entry instead of by record, entries that
a record does not have any more would stay (design: union).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.line import NO_LEADER_EPOCH

_SUB_BITS = 32
_TORN = -1
_NEVER = -2


class RecordCopies(NamedTuple):
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
    leader_epoch: NDArray[np.int32]
    last_leader_epoch: NDArray[np.int32]
    block: NDArray[np.int64]
    """A number for each block."""


class _BestEntries(NamedTuple):
    """The best copy of each entry of each version, by version and sub."""

    shape: NDArray[np.int64]
    version: NDArray[np.int64]
    sub: NDArray[np.int32]
    run: NDArray[np.int64]
    """The latest that has a piece of it."""
    is_whole: NDArray[np.bool_]


class _OffsetSpans(NamedTuple):
    """The offsets of versions or entries: `start` to before `end` in a partition."""

    place: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> "_OffsetSpans":
        return _OffsetSpans(self.place[rows], self.start[rows], self.end[rows])


def holding(copies: RecordCopies) -> NDArray[np.bool_]:
    """Return which pieces hold: bool[n]."""
    place, run, offset, sub, chunk, chunks, cut, records, entries, leader, last_leader, block = copies
    order = np.lexsort((-run, chunk, cut, chunks, sub, last_leader, leader, entries, records, offset, place))
    place, run, offset, sub, chunk, chunks, cut, records, entries, leader, last_leader, block = (column[order] for column in copies)
    is_version = _changes(place, offset, records, entries, leader, last_leader)
    is_entry = is_version | _changes(sub)
    is_shape = is_entry | _changes(chunks, cut)
    is_piece = is_shape | _changes(chunk)  # the first of equal pieces is that of the latest run
    starts, begins = np.flatnonzero(is_shape), np.flatnonzero(is_version)
    latest = np.maximum.reduceat(run, starts)
    is_whole = np.add.reduceat(is_piece.astype(np.int64), starts) >= chunks[starts]
    best = _last_of_each(np.cumsum(is_entry, dtype=np.int64)[starts], is_whole, chunks[starts] > 0, latest, chunks[starts], cut[starts])
    of = _BestEntries(best, (np.cumsum(is_version) - 1)[starts[best]], sub[starts[best]], latest[best], is_whole[best])
    rank, is_used = _complete(of, entries[begins])
    spans = _OffsetSpans(place[begins], offset[begins], offset[begins].astype(np.int64) + records[begins])
    passed = _passed(spans, block[begins])
    is_hollow = np.maximum.reduceat(chunks, begins) == 0
    rank[_are_replaced(spans, passed, leader[begins], last_leader[begins])] = _NEVER
    holds_whole = _chosen(spans, rank, is_hollow)
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


def _complete(of: _BestEntries, entries: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
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


def _are_replaced(
    spans: _OffsetSpans, passed: _OffsetSpans, leader: NDArray[np.int32], last_leader: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return which versions have an offset at which a record of a later leader is known (third rule)."""
    replaced = np.zeros(len(leader), np.bool_)
    starts = np.append(spans.start, spans.end - 1)
    known = _OffsetSpans(np.append(spans.place, spans.place), starts, np.append(spans.end, passed.end))
    leaders = np.append(leader, last_leader)
    for epoch in np.unique(leaders)[1:].tolist():
        earlier = np.flatnonzero((last_leader < epoch) & (last_leader != NO_LEADER_EPOCH))
        replaced[earlier] |= _overlap(spans.take(earlier), _apart(known.take(leaders >= epoch)))
    return replaced


def _passed(spans: _OffsetSpans, block: NDArray[np.int64]) -> _OffsetSpans:
    """Return of each version the offsets up to the next one of its block: its run has read them, and has nothing in between."""
    order = np.lexsort((spans.start, block))
    following = np.append(spans.start[order][1:], 0)
    is_last = np.append(_changes(block[order])[1:], True)
    end = spans.end.copy()
    end[order] = np.where(is_last, spans.end[order], np.maximum(following, spans.end[order]))
    return _OffsetSpans(spans.place, spans.start, end)


def _chosen(spans: _OffsetSpans, rank: NDArray[np.int64], is_hollow: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which versions hold, of those with a rank (fourth rule)."""
    holds = np.zeros(len(rank), np.bool_)
    rows = np.flatnonzero(rank >= 0)
    if not len(rows):
        return holds
    rows = rows[_last_of_each(_numbered(*spans.take(rows)), ~is_hollow[rows], rank[rows])]  # by partition, start and end
    begins, _ = _stretches(spans.take(rows))
    sizes = np.diff(begins, append=len(rows))
    holds[rows[begins[sizes == 1]]] = True
    for at in np.flatnonzero(sizes > 1).tolist():
        several = rows[begins[at] : begins[at] + sizes[at]]
        holds[several[_best_cover(spans.take(several), rank[several])]] = True
    return holds


def _best_cover(spans: _OffsetSpans, rank: NDArray[np.int64]) -> list[int]:
    """Return which of n versions of one partition hold, some of which overlap: none of these does, and together they leave nothing out.

    Of two sets the one is better that has an earlier offset which the other lacks; of equal ones, the one whose first version that differs
    is of the later run.
    """
    places = sorted({*spans.start.tolist(), *spans.end.tolist()})
    place_of = {offset: place for place, offset in enumerate(places)}
    steps: list[list[tuple[int, int, int]]] = [[] for _ in places]
    for row, (start, end) in enumerate(zip(spans.start.tolist(), spans.end.tolist(), strict=True)):
        steps[place_of[start]].append((int(rank[row]), place_of[end], row))
    last = len(places) - 1
    is_covered = [False] * last
    reached = {0}
    for at in range(last):
        beyond = {place for place in reached if place > at}
        if at in reached:
            beyond.update(place for _, place, _ in steps[at])
        is_covered[at] = bool(beyond)
        reached = beyond or {at + 1}
    leads_on = [False] * last + [True]
    for at in reversed(range(last)):
        leads_on[at] = any(leads_on[place] for _, place, _ in steps[at]) if is_covered[at] else leads_on[at + 1]
    chosen: list[int] = []
    at = 0
    while at < last:
        if is_covered[at]:
            _, at, row = max(step for step in steps[at] if leads_on[step[1]])
            chosen.append(row)
        else:
            at += 1
    return chosen


def _apart(spans: _OffsetSpans) -> _OffsetSpans:
    """Return the same offsets as spans that share none, by partition and start."""
    spans = spans.take(np.lexsort((spans.start, spans.place)))
    begins, reach = _stretches(spans)
    return _OffsetSpans(spans.place[begins], spans.start[begins], reach[np.append(begins[1:], len(reach))[: len(begins)] - 1])


def _stretches(spans: _OffsetSpans) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where stretches of spans begin that share no offset with those before, and how far the spans up to each one reach.

    The spans are in the order of their partition and start.
    """
    is_begin, reach = _changes(spans.place), spans.end.copy()
    for begin, end in pairwise([*np.flatnonzero(is_begin).tolist(), len(reach)]):
        np.maximum.accumulate(reach[begin:end], out=reach[begin:end])
        is_begin[begin + 1 : end] = spans.start[begin + 1 : end] >= reach[begin : end - 1]
    return np.flatnonzero(is_begin), reach


def _overlap(spans: _OffsetSpans, others: _OffsetSpans) -> NDArray[np.bool_]:
    """Return which spans share an offset with one of `others`, which share none with each other."""
    found = np.zeros(len(spans.place), np.bool_)
    for place in np.unique(others.place).tolist():
        own, near = np.flatnonzero(spans.place == place), others.take(others.place == place)
        order = np.argsort(near.start)
        before = np.searchsorted(near.start[order], spans.end[own])
        found[own] = (before > 0) & (near.end[order][np.maximum(before, 1) - 1] > spans.start[own])
    return found


def _last_of_each(group: NDArray[np.int64], *ranks: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return for each group, ascending, the row that the ranks, the most important first, put last."""
    ranked = np.lexsort((*ranks[::-1], group))
    last: NDArray[np.int64] = ranked[np.append(_changes(group[ranked])[1:], np.ones(min(len(ranked), 1), np.bool_))]
    return last


def _numbered(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return a number for each row, equal where all columns are."""
    order = np.lexsort(columns[::-1])
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(_changes(*(column[order] for column in columns)))
    return number


def _changes(*columns: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Return where a row differs from the one before it; the first one does."""
    changed = np.zeros(len(columns[0]), np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed
