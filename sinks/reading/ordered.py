"""All lines that pass, in the order of time, a stretch at a time: what an export is made of.

1. The order is total: time, partition, offset, sub, chunk. It does not depend on how lines lie in blocks, so whatever is merged between
   two stretches, none is lost or comes twice.
2. Blocks are listed by windows of time that few of them overlap, and unpacked in the order of the first place that a wanted line of
   theirs can have. All lines before the first place of the next block are known then: so a stretch can end anywhere, and a millisecond
   with a million lines is no harder than any other.
3. A stretch ends between two milliseconds, unless it did not get through its first one.

Not taken: to cut windows by an estimate of how many lines they have (of blocks that overlap an estimate is a guess, and has to be
corrected by reading), and to page by offset (logs of several partitions would come one after the other).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId
from sinks.heads import NO_HEADS, Heads
from sinks.line import Line
from sinks.lines import without_texts
from sinks.reading.copies import Copies, WantedRows
from sinks.reading.line_places import LinePlace, end_before
from sinks.reading.listing import join_distinct
from sinks.reading.picks import Picks, held_picks, picked_lines, picks
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import MOST_TEXTS, Snapshot
from sinks.reading.union import outer_heads
from sinks.row import template_keys

PAGE_BLOCKS = 256
"""Of a window, beside those that reach into it from before."""
_GROWTH = 4
_FIRST_BLOCKS = 8


class Reach(NamedTuple):
    """How far an ordered reading got, or where it begins.

    Thread: any.
    """

    time_ms: int
    """All lines before this are done."""
    after: LinePlace | None = None
    """Of those with this time, the lines up to and with this one are done; None: none of them."""


class OrderedLines(NamedTuple):
    """A stretch of lines.

    Thread: any.
    """

    lines: list[Line]
    """In order; a long line's chunks stand together."""
    reach: Reach
    complete: bool
    """False: a block could not be read."""


class Stride:
    """How wide the windows of the last ordered reading were: where the next one begins. A guess, no more.

    Thread: any.
    """

    def __init__(self, page_blocks: int = PAGE_BLOCKS) -> None:
        self.page_blocks = page_blocks
        self.width_ms: int | None = None
        self.blocks_before = 0
        """How many blocks reached into the last window from before it."""


def span_of(snapshot: Snapshot, selection: Selection) -> tuple[int, int] | None:
    """Return a window that holds every wanted line, as blocks tell it, and both ends of which are near one; None: there are none."""
    if selection.wants_nothing:
        return None
    heads = _find(snapshot, selection, None)[0]
    near = _nearness(heads, selection)
    if not near.is_wanted.any():
        return None
    return int(near.first_ms[near.is_wanted].min()), int(near.last_ms[near.is_wanted].max()) + 1


def lines_in_order(snapshot: Snapshot, stride: Stride, selection: Selection, start: Reach, until_ms: int, most: int) -> OrderedLines:
    """Return wanted lines from `start` to before `until_ms`: the first `most` of them, or fewer, or all chunks of one long line."""
    copies = Copies(snapshot)
    lines: list[Line] = []
    count, reach = 0, start
    if selection.wants_nothing or start.time_ms >= until_ms:
        reach = Reach(until_ms)
    while reach.time_ms < until_ms and count < most:
        found, end_ms = _next_window(snapshot, stride, selection, reach.time_ms, until_ms)
        window = _SweptWindow(snapshot, copies, selection.between(reach.time_ms, end_ms), found, reach.after)
        window.sweep(most - count)
        first = window.first(most - count)
        count += len(first.time)
        lines += picked_lines(snapshot, first)
        reach = window.reach or Reach(end_ms)
        if window.reach is not None or snapshot.is_over():
            break
    if reach.after is not None and reach.time_ms > start.time_ms:
        lines, reach = [line for line in lines if line.time < reach.time_ms], Reach(reach.time_ms)
    return OrderedLines(lines, reach, complete=not snapshot.damaged)


def _next_window(snapshot: Snapshot, stride: Stride, selection: Selection, since_ms: int, until_ms: int) -> tuple[Heads, int]:
    """Return the blocks of a window that begins at `since_ms`, inner ones left out, and where it ends: before too many of them."""
    width_ms = stride.width_ms or until_ms - since_ms
    limit: int | None = stride.page_blocks + stride.blocks_before
    has_learnt = False
    while True:
        end_ms = min(since_ms + width_ms, until_ms)
        heads, is_all = _find(snapshot, selection.between(since_ms, end_ms), limit if end_ms - since_ms > 1 else None)
        if is_all:
            break
        if not has_learnt:  # those that hold the first millisecond are needed however narrow the window is
            has_learnt = True
            limit = stride.page_blocks + _find(snapshot, selection.between(since_ms, since_ms + 1), None)[0].size
        width_ms = max((end_ms - since_ms) // _GROWTH, 1)
    begun = int(np.count_nonzero(heads.first_ms >= since_ms))
    stride.blocks_before = heads.size - begun
    stride.width_ms = width_ms * _GROWTH if begun < max(stride.page_blocks // _GROWTH, 1) else width_ms
    return outer_heads(heads), end_ms


def _find(snapshot: Snapshot, selection: Selection, limit: int | None) -> tuple[Heads, bool]:
    """Return the blocks that may hold a wanted line, and whether these are all."""
    found = [snapshot.find(only, limit) for only in selection.block_filters()]
    return join_distinct([NO_HEADS, *(one.heads for one in found)]), all(one.is_all for one in found)


class _Nearness(NamedTuple):
    """What heads say of the wanted lines of n blocks."""

    is_wanted: NDArray[np.bool_]
    first_ms: NDArray[np.int64]
    last_ms: NDArray[np.int64]
    """Bounds for the times of those lines, inside the window."""


def _nearness(heads: Heads, selection: Selection) -> _Nearness:
    first_ms, last_ms, is_wanted = heads.first_ms, heads.last_ms, np.ones(heads.size, np.bool_)
    if selection.templates is not None:
        rows = np.flatnonzero(np.isin(heads.templates, template_keys(sorted(selection.templates))))
        blocks = np.searchsorted(heads.start, rows, side="right") - 1
        first_ms, last_ms = np.full(heads.size, heads.last_ms), np.full(heads.size, heads.first_ms)
        is_wanted = np.bincount(blocks, minlength=heads.size) > 0
        np.minimum.at(first_ms, blocks, heads.template_first_ms[rows])
        np.maximum.at(last_ms, blocks, heads.template_last_ms[rows])
    since_ms, until_ms = selection.only.since_ms, selection.only.until_ms
    is_wanted = is_wanted & selection.only.window_meets(first_ms, last_ms)
    if since_ms is not None:
        first_ms = np.maximum(first_ms, since_ms)
    if until_ms is not None:
        last_ms = np.minimum(last_ms, until_ms - 1)
    return _Nearness(is_wanted, first_ms, last_ms)


class _SweptWindow:
    """The blocks of one window, unpacked in the order in which their wanted lines may begin.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, copies: Copies, selection: Selection, listed: Heads, after: LinePlace | None) -> None:
        self._snapshot = snapshot
        self._copies = copies
        self._selection = selection
        self._listed = listed
        self._after = after
        self._blocks: dict[BlockId, WantedRows] = {}
        self._found = picks([], [])
        self._ranks = {place: rank for rank, place in enumerate(sorted({one.place for one in listed.ids}))}
        self.reach: Reach | None = None
        """Up to where every wanted line is found; None: all of the window."""
        near = _nearness(listed, selection)
        self._begin_ms, self._begin_offset = near.first_ms.copy(), listed.first_offset.copy()
        wanted = near.is_wanted & self._skip_done(near)
        place = np.array([self._ranks[one.place] for one in listed.ids], np.int64)
        self._left = [at for at in np.lexsort((self._begin_offset, place, self._begin_ms)).tolist() if wanted[at]]
        """Blocks that are not unpacked, the first one last."""
        self._left.reverse()

    def sweep(self, enough: int) -> None:
        """Unpack blocks until no unread line can come before or between the lines found, or until the read is over."""
        at_once = _FIRST_BLOCKS
        while self._left:
            self._unpack([self._listed.ids[self._left.pop()] for _ in range(min(at_once, len(self._left)))])
            self._settle()
            at_once = min(2 * at_once, MOST_TEXTS)
            if len(self._found.time) > enough or (self._left and self._snapshot.is_over()):
                break
        if self._left:
            following = self._left[-1]
            place = self._listed.ids[following].place
            self.reach = Reach(int(self._begin_ms[following]), end_before(place, int(self._begin_offset[following])))

    def first(self, most: int) -> Picks:
        """Return the first of the lines that were found, in order; if others are left, `reach` says so."""
        count = len(self._found.time)
        end = min(most, count)
        while 0 < end < count and self._is_one_entry(end - 1, end):
            end -= 1  # not a part of a long line
        if end == 0 < count:
            end = next((at for at in range(1, count) if not self._is_one_entry(at - 1, at)), count)
        if end == count:
            return self._found
        last_ms, next_ms = self._found.time[end - 1 : end + 1].tolist()
        self.reach = Reach(next_ms, self._place(end - 1) if next_ms == last_ms else None)
        return self._found.take(np.arange(end))

    def _is_one_entry(self, one: int, other: int) -> bool:
        return self._place(one)[:3] == self._place(other)[:3]

    def _place(self, at: int) -> LinePlace:
        found = self._found
        place = found.parts[int(found.part[at])].id.place
        return LinePlace(place, int(found.offset[at]), int(found.sub[at]), int(found.chunk[at]))

    def _skip_done(self, near: _Nearness) -> NDArray[np.bool_]:
        """Return which blocks may hold lines that are not done yet; of those that begin among the done ones, note where they go on."""
        is_open = np.ones(self._listed.size, np.bool_)
        since_ms = self._selection.only.since_ms or 0
        if self._after is None:
            return is_open
        for at in np.flatnonzero(self._begin_ms == since_ms).tolist():
            place, last = self._listed.ids[at].place, int(self._listed.last_offset[at])
            if (place, last) < (self._after.place, self._after.offset):
                is_open[at] = near.last_ms[at] > since_ms
                self._begin_ms[at] = since_ms + 1
            elif place == self._after.place:
                self._begin_offset[at] = max(int(self._begin_offset[at]), self._after.offset)
        return is_open

    def _unpack(self, ids: list[BlockId]) -> None:
        since_ms = self._selection.only.since_ms
        for one, lines in self._snapshot.unpack(ids, self._selection.columns).items():
            rows = self._selection.rows(lines)
            if self._after is not None:
                rows = rows[(lines.time[rows] != since_ms) | self._after.is_before(one.place, lines, rows)]
            if len(rows):
                self._blocks[one] = WantedRows(without_texts(lines), rows)

    def _settle(self) -> None:
        """Gather the lines that hold and that nothing unseen can come before, in order."""
        found = held_picks(self._blocks, self._copies.held(self._listed, self._blocks))
        place = np.array([self._ranks[part.id.place] for part in found.parts], np.int64)[found.part]
        order = np.lexsort((found.chunk, found.sub, found.offset, place, found.time))
        if self._left:
            following = self._left[-1]
            begin_ms, begin_offset = int(self._begin_ms[following]), int(self._begin_offset[following])
            rank = self._ranks[self._listed.ids[following].place]
            is_before = (place < rank) | ((place == rank) & (found.offset < begin_offset))
            order = order[((found.time < begin_ms) | ((found.time == begin_ms) & is_before))[order]]
        self._found = found.take(order)
