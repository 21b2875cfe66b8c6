"""The newest lines whose text matches, out of blocks that may hold given words or that hold given templates."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from sinks.block import BlockId, Lines
from sinks.heads import Heads
from sinks.line import Line
from sinks.lines import without_texts
from sinks.reading.copies import Copies, WantedRows
from sinks.reading.listing import NewestFirst, Pace
from sinks.reading.picks import Picks, held_picks, picked_lines, picks
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import ALL_COLUMNS, MOST_TEXTS, Snapshot
from sinks.reading.union import outer_heads

_FIRST_BLOCKS = 8
_GROWTH = 4


class MatchingLines(NamedTuple):
    """Lines whose text matches.

    Thread: any.
    """

    lines: list[Line]
    """Newest first."""
    complete: bool
    """False: the deadline, or a block that could not be read, cut the reading short; there may be newer ones."""


def lines_with(snapshot: Snapshot, pace: Pace, selection: Selection, limit: int, literals: Collection[str] = ()) -> MatchingLines:
    """Return the newest `limit` selected lines; each of their texts holds all `literals`, so blocks without are not looked at."""
    if limit <= 0 or selection.wants_nothing:
        return MatchingLines([], complete=True)
    search = _MatchSearch(snapshot, selection, limit, literals)
    (asked,) = selection.block_filters()
    listing = NewestFirst(snapshot, asked, pace)
    is_done = False
    while not is_done and listing.unseen_ms is not None and not snapshot.is_over():
        listing.next_page()
        is_done = search.unpack_newest(outer_heads(listing.heads()), listing.unseen_ms)
    lines = picked_lines(snapshot, search.newest)
    return MatchingLines(lines, complete=is_done and not snapshot.damaged)


class _MatchSearch:
    """What was unpacked so far.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, selection: Selection, limit: int, literals: Collection[str]) -> None:
        self._snapshot = snapshot
        self._selection = selection
        self._limit = limit
        self._literals = (*literals, *selection.only.literals)
        self._unpacked: dict[BlockId, WantedRows | None] = {}
        """None: nothing in it matches."""
        self._batch = _FIRST_BLOCKS
        self._copies = Copies(snapshot)
        self.newest: Picks = picks([], [])

    def unpack_newest(self, listed: Heads, unseen_ms: int | None) -> bool:
        """Unpack the newest of the listed blocks until those that are left, and the unseen ones, cannot hold a newer line.

        True: that is so. False: an unseen block may hold one, or the read is over.
        """
        while True:
            self._pick(listed)
            oldest_ms = int(self.newest.time[-1]) if len(self.newest.time) == self._limit else None
            left = [
                at
                for at in np.argsort(-listed.last_ms, kind="stable").tolist()
                if listed.ids[at] not in self._unpacked and (oldest_ms is None or listed.last_ms[at] >= oldest_ms)
            ]
            if not left:
                return unseen_ms is None or (oldest_ms is not None and oldest_ms > unseen_ms)
            batch = [listed.ids[at] for at in left[: self._batch]]
            found: dict[BlockId, WantedRows | None] = {}
            for unpacked in self._snapshot.unpack_in_batches(batch, ALL_COLUMNS, self._literals):
                found |= {one: self._matching(lines) for one, lines in unpacked.items()}
            self._unpacked |= dict.fromkeys(batch) | found
            if self._snapshot.is_over():
                self._pick(listed)
                return False
            self._batch = min(self._batch * _GROWTH, MOST_TEXTS)

    def _pick(self, listed: Heads) -> None:
        """Find the newest lines that match and hold."""
        blocks = {one: block for one in listed.ids if (block := self._unpacked.get(one)) is not None}
        found = held_picks(blocks, self._copies.held(listed, blocks))
        self.newest = found.take(found.newest_first()[: self._limit])

    def _matching(self, lines: Lines) -> WantedRows | None:
        rows = self._selection.rows(lines)
        return WantedRows(without_texts(lines), rows) if len(rows) else None
