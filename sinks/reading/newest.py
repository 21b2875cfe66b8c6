"""The newest lines of each of many templates: heads say which block holds which template, and until when.

Blocks are listed newest first. Of each template, those are unpacked that may hold one of its newest lines; it is done when the blocks
that are left end before its last wanted line. From then on only the others are asked for.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, Lines
from sinks.heads import Heads
from sinks.line import Line
from sinks.lines import NO_LINES
from sinks.reading.copies import Copies, WantedRows
from sinks.reading.line_filter import LineFilter, block_filter
from sinks.reading.listing import NewestFirst, Pace
from sinks.reading.names import template_ids
from sinks.reading.picks import held_picks, picked_lines, picks
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import ALL_COLUMNS, Snapshot
from sinks.reading.union import outer_heads
from sinks.row import TemplateId, template_keys

_FEW_BLOCKS = 64
"""So few are unpacked with their texts at once: most of them have a line that is wanted."""
_GROWTH = 4


class NewestLines(NamedTuple):
    """The newest lines of each template.

    Thread: any.
    """

    lines: dict[TemplateId, list[Line]]
    """Newest first; templates without a line are left out."""
    complete: bool
    """False: the deadline, or a block that could not be read, cut the reading short; older lines may stand in for newer ones."""


class _Unpacked(NamedTuple):
    """A block's pieces of the wanted templates that pass the filter."""

    lines: Lines
    rows: NDArray[np.int64]
    template: NDArray[np.int64]
    """Places in the list of wanted templates."""


def newest_lines(snapshot: Snapshot, pace: Pace, templates: Collection[TemplateId], limit: int, only: LineFilter) -> NewestLines:
    """Return the newest `limit` lines of each template."""
    wanted = sorted(set(templates) - only.not_templates)
    if not wanted or limit <= 0 or only.wants_nothing:
        return NewestLines({}, complete=True)
    search = _NewestSearch(snapshot, wanted, limit, only)
    listing = NewestFirst(snapshot, block_filter(only, templates=wanted), pace)
    while search.left and listing.unseen_ms is not None and not snapshot.is_over():
        before = search.left
        listing.next_page()
        search.unpack_newest(outer_heads(listing.heads()), listing.unseen_ms)
        if search.left and search.left < before:
            listing.narrow(block_filter(only, templates=[wanted[at] for at in search.left]))
    lines = search.lines()
    return NewestLines(lines, complete=not search.left and not snapshot.damaged)


class _NewestSearch:
    """What was unpacked so far.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, wanted: list[TemplateId], limit: int, only: LineFilter) -> None:
        self._snapshot = snapshot
        self._wanted = wanted
        self._places = {template: at for at, template in enumerate(wanted)}
        self._keys = template_keys(wanted)
        self._limit = limit
        self._selection = Selection(only)
        self._copies = Copies(snapshot)
        self._unpacked: dict[BlockId, _Unpacked] = {}
        self._found = picks([], [])
        self._template = np.empty(0, np.int64)
        self.left = frozenset(range(len(wanted)))
        """Templates of which an unseen block may hold a newer line."""

    def unpack_newest(self, listed: Heads, unseen_ms: int | None) -> None:
        """Unpack what may hold a wanted line, out of all blocks that are listed, until none is left or the read is over."""
        blocks, rows = _by_template(listed, self._keys)
        pieces = self._limit
        while True:
            self._pick(listed)
            oldest = self._oldest()
            is_packed = np.fromiter((one not in self._unpacked for one in listed.ids), np.bool_, listed.size)
            chosen = np.zeros(listed.size, np.bool_)
            for at in sorted(self.left):
                near = is_packed[blocks[at]]
                chosen[self._next_blocks(listed, blocks[at][near], rows[at][near], oldest[at], pieces)] = True
            if not chosen.any():
                break
            if not self._unpack([listed.ids[at] for at in np.flatnonzero(chosen).tolist()]):
                return
            pieces *= _GROWTH
        if unseen_ms is None:
            self.left = frozenset()
        else:
            self.left = frozenset(at for at in self.left if (ms := oldest[at]) is None or ms <= unseen_ms)

    def lines(self) -> dict[TemplateId, list[Line]]:
        """Return the newest lines of each template among all that were found."""
        order = self._found.newest_first()
        order = order[np.argsort(self._template[order], kind="stable")]
        starts = np.searchsorted(self._template[order], np.arange(len(self._wanted)))
        order = order[np.arange(len(order)) - starts[self._template[order]] < self._limit]
        # A template's id is known from its lines: the text is that of the block.
        found: dict[TemplateId, list[Line]] = {}
        for line in picked_lines(self._snapshot, self._found.take(order)):
            found.setdefault(line.template, []).append(line)
        return found

    def _pick(self, listed: Heads) -> None:
        """Gather all pieces that hold."""
        blocks = {one: block for one in listed.ids if (block := self._unpacked.get(one)) is not None and len(block.rows)}
        wanted = {one: WantedRows(block.lines, block.rows) for one, block in blocks.items()}
        held = self._copies.held(listed, wanted)
        templates = [block.template[holds] for block, holds in zip(blocks.values(), held, strict=True)]
        self._found = held_picks(wanted, held)
        self._template = np.concatenate([np.empty(0, np.int64), *templates])

    def _oldest(self) -> list[int | None]:
        """Return of each template the time of its `limit`-th newest piece, None if there are fewer."""
        order = np.lexsort((-self._found.time, self._template))
        ends = np.searchsorted(self._template[order], np.arange(len(self._wanted) + 1))
        return [
            int(self._found.time[order[start + self._limit - 1]]) if end - start >= self._limit else None
            for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]

    def _next_blocks(
        self, listed: Heads, blocks: NDArray[np.int64], rows: NDArray[np.int64], oldest_ms: int | None, pieces: int
    ) -> NDArray[np.int64]:
        """Return which of `blocks` to unpack next for one template: all that may hold a newer piece, or the newest with enough pieces.

        `rows` is where the template stands in each block's head.
        """
        last_ms = listed.template_last_ms[rows]
        is_near = self._selection.only.window_meets(listed.template_first_ms[rows], last_ms)
        if oldest_ms is not None:
            return blocks[is_near & (last_ms >= oldest_ms)]
        newest = np.flatnonzero(is_near)[np.argsort(-last_ms[is_near], kind="stable")]
        return blocks[newest[: np.searchsorted(np.cumsum(listed.pieces[rows[newest]]), pieces) + 1]]

    def _unpack(self, ids: list[BlockId]) -> bool:
        """Unpack blocks; False when the read is over."""
        columns = ALL_COLUMNS if len(ids) <= _FEW_BLOCKS else self._selection.columns
        for unpacked in self._snapshot.unpack_in_batches(ids, columns, self._selection.only.literals if "texts" in columns else ()):
            for one, lines in unpacked.items():
                self._unpacked[one] = self._select(lines)
        self._unpacked |= dict.fromkeys(set(ids) & self._snapshot.damaged, _NOTHING)
        return not self._snapshot.is_over()

    def _select(self, lines: Lines) -> _Unpacked:
        template = np.array([self._places.get(one, -1) for one in template_ids(lines.template.values)], np.int64)[lines.template.codes]
        rows = self._selection.rows(lines, template >= 0)
        return _Unpacked(lines, rows, template[rows]) if len(rows) else _NOTHING


_NOTHING = _Unpacked(NO_LINES, np.empty(0, np.int64), np.empty(0, np.int64))


def _by_template(listed: Heads, keys: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return for each key the blocks that hold it, and where it stands in their heads."""
    rows = np.flatnonzero(np.isin(listed.templates, keys))
    rows = rows[np.argsort(listed.templates[rows], kind="stable")]
    blocks = np.searchsorted(listed.start, rows, side="right") - 1
    found = listed.templates[rows]
    ranges = list(zip(np.searchsorted(found, keys).tolist(), np.searchsorted(found, keys, side="right").tolist(), strict=True))
    return [blocks[start:end] for start, end in ranges], [rows[start:end] for start, end in ranges]
