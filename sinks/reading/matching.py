"""The newest lines whose text matches, out of blocks that may hold given words or that hold given templates."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from sinks.block import BlockId, Lines
from sinks.heads import Heads
from sinks.line import Line
from sinks.lines import NO_LINES
from sinks.reading.copies import Copies, Wanted
from sinks.reading.line_filter import LineFilter, block_filter
from sinks.reading.listing import NewestFirst, Pace
from sinks.reading.picks import Picks, picked_lines, picks
from sinks.reading.selecting import IsMatch, Selection
from sinks.reading.snapshot import ALL_COLUMNS, MOST_TEXTS, Snapshot
from sinks.reading.union import UnionPart, outer_blocks
from sinks.row import TemplateId

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
    damaged: tuple[BlockId, ...] = ()
    """Blocks that could not be read."""


def lines_with(
    snapshot: Snapshot,
    pace: Pace,
    keys: Collection[int],
    is_match: IsMatch,
    limit: int,
    only: LineFilter,
    templates: Collection[TemplateId] | None,
    literals: Collection[str] = (),
) -> MatchingLines:
    """Return the newest `limit` lines that match; each of their texts holds all `literals`, so blocks without are not looked at."""
    if limit <= 0 or only.wants_nothing or (templates is not None and not templates):
        return MatchingLines([], complete=True)
    wanted = None if templates is None else frozenset(templates)
    search = _Search(snapshot, Selection(only, wanted, is_match), limit, literals)
    asked = block_filter(only, keys=keys) if wanted is None else block_filter(only, templates=wanted)
    listing = NewestFirst(snapshot, asked, pace)
    is_done = False
    while not is_done and listing.unseen_ms is not None and not snapshot.is_over():
        listing.next_page()
        heads = listing.heads()
        is_done = search.unpack_newest(heads.select(outer_blocks(heads.ids)), listing.unseen_ms)
    lines = picked_lines(snapshot, search.newest)
    damaged = tuple(snapshot.damaged)
    return MatchingLines(lines, complete=is_done and not damaged, damaged=damaged)


class _Search:
    """What was unpacked so far.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, selection: Selection, limit: int, literals: Collection[str]) -> None:
        self._snapshot = snapshot
        self._selection = selection
        self._limit = limit
        self._literals = literals
        self._unpacked: dict[BlockId, Wanted | None] = {}
        """None: nothing in it matches."""
        self._batch = _FIRST_BLOCKS
        self.copies = Copies(snapshot)
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
            found: dict[BlockId, Wanted | None] = {}
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
        held = self.copies.held(listed, blocks)
        parts = [UnionPart(one, block.lines) for one, block in blocks.items()]
        found = picks(parts, [block.rows[holds] for block, holds in zip(blocks.values(), held, strict=True)])
        self.newest = found.take(found.newest_first()[: self._limit])

    def _matching(self, lines: Lines) -> Wanted | None:
        rows = self._selection.rows(lines)
        return Wanted(lines._replace(text=NO_LINES.text, fields=NO_LINES.fields), rows) if len(rows) else None
