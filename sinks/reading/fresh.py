"""The lines of blocks that arrived: those that pass and were not in the index before.

Of too many the most severe levels are kept first; of a level that does not fit as a whole every n-th line, the newest among them. The
texts of few blocks are read, so that a flood costs the worker no more than that: the newest ones with the most severe lines. A block
that was merged away meanwhile is read where its lines are now. A line is not new if another run has stored its record before: a worker
that takes over writes some records a second time, and may join or split them otherwise.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockId, BlockPlace
from sinks.line import Line
from sinks.lines import last_offset_of, take_lines, without_texts
from sinks.reading.arrivals import Arrival
from sinks.reading.picks import picked_lines, picks
from sinks.reading.selecting import Selection
from sinks.reading.snapshot import Snapshot
from sinks.reading.union import UnionPart, outer_blocks, unite
from sinks.sink import BlockFilter, OffsetSpan

MOST_BLOCKS = 1_000
"""The last ones; of others it is assumed that they have as many lines that pass."""
MOST_TEXTS: Final = 16
"""Blocks whose texts are read; lines of others are dropped."""
_KEPT_FIRST: Final[Mapping[str, int]] = {"FATAL": 0, "ERROR": 0, "WARN": 1}
"""Levels that are kept before all others, those of 0 before those of 1."""
_BEFORE = "~"
"""Behind every hexadecimal digit."""


class FreshLines(NamedTuple):
    """New lines.

    Thread: any.
    """

    lines: list[Line]
    """In the order in which they came to Kafka, those of one partition by offset."""
    dropped: int
    """How many others there are, each chunk of a long line counted: exact, unless more blocks arrived than were read."""
    dropped_by_level: dict[str, int]
    """Of those that were read, how many lines of each level `dropped` has."""
    complete: bool
    """False: a block could not be read, or the deadline cut it."""


def fresh_lines(
    snapshot: Snapshot, arrivals: Sequence[Arrival], has_seen: Callable[[BlockId], bool], selection: Selection, most: int
) -> FreshLines:
    """Return at most `most` lines; a block that `has_seen` and that is not among `arrivals` is older than those."""
    whole = [one.block for one in arrivals if one.is_whole and selection.only.admits_topic(one.block.place.topic)]
    there, torn = (whole, 0) if snapshot.is_first else _where_they_are(snapshot, whole)
    parts: list[UnionPart] = []
    rows: list[NDArray[np.int64]] = []
    read = 0
    for unpacked in snapshot.unpack_in_batches(there[: -MOST_BLOCKS - 1 : -1], selection.columns):
        for one, block in unpacked.items():
            read += 1
            wanted = selection.rows(block)
            if len(wanted):
                parts.append(UnionPart(one, without_texts(block)))
                rows.append(wanted)
    new = _new_pieces(snapshot, parts, rows, frozenset(whole), has_seen)
    found = picks(parts, new)
    order = np.lexsort((found.chunk, found.sub, found.offset, found.place_ranks(), found.kafka_time))
    names, levels = _levels(parts, new)
    ranks = np.array([_KEPT_FIRST.get(name, 2) for name in names], np.int64)[levels[order]]
    kept = _kept(ranks, most)
    near = np.flatnonzero(_are_near(found.part[order], ranks, kept))
    kept[:] = False
    kept[near] = _kept(ranks[near], most)
    shown, left_out = order[kept], np.bincount(levels[order[~kept]], minlength=len(names))
    tried = read + len(snapshot.damaged)
    others = len(there) - tried + torn + sum(not one.is_whole for one in arrivals)
    dropped = len(order) - len(shown) + round(others * len(order) / max(read, 1))
    lines = picked_lines(snapshot, found.take(shown))
    by_level = {name: count for name, count in zip(names, left_out.tolist(), strict=True) if count}
    return FreshLines(lines, dropped, by_level, complete=not snapshot.damaged and tried == min(len(there), MOST_BLOCKS))


def _levels(parts: Sequence[UnionPart], rows: Sequence[NDArray[np.int64]]) -> tuple[list[str], NDArray[np.int64]]:
    """Return all levels, and of each picked piece the number of its own, in the order of `picks`."""
    names = sorted({name for part in parts for name in part.lines.level.values})
    numbers = [np.empty(0, np.int64)]
    for part, one in zip(parts, rows, strict=True):
        column = part.lines.level
        numbers.append(np.array([names.index(name) for name in column.values], np.int64)[column.codes[one]])
    return names, np.concatenate(numbers)


def _kept(ranks: NDArray[np.int64], most: int) -> NDArray[np.bool_]:
    """Return which of n lines are kept, at most `most`: the lower ranks first, evenly of the one that does not fit, with its last."""
    kept = np.zeros(len(ranks), np.bool_)
    for rank in np.unique(ranks):
        places = np.flatnonzero(ranks == rank)
        room = min(most - int(kept.sum()), len(places))
        kept[places[-(-np.arange(1, room + 1) * len(places) // max(room, 1)) - 1]] = True
    return kept


def _are_near(blocks: NDArray[np.int64], ranks: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of n lines are in blocks whose texts are read: those that have the kept lines of the lowest ranks, the newest first."""
    places = np.flatnonzero(kept)
    newest, lowest = np.full((2, int(blocks.max(initial=-1)) + 1), [[-1], [len(_KEPT_FIRST)]])
    np.maximum.at(newest, blocks[places], places)
    np.minimum.at(lowest, blocks[places], ranks[places])
    return np.isin(blocks, np.lexsort((-newest, lowest))[:MOST_TEXTS])


def _where_they_are(snapshot: Snapshot, blocks: Sequence[BlockId]) -> tuple[list[BlockId], int]:
    """Return the blocks that hold the lines of `blocks`, some of which may be merged now, and how many hold lines of others as well."""
    found: list[BlockId] = []
    torn = 0
    for place, some in groupby(sorted(blocks), key=lambda one: one.place):
        listed = snapshot.find(BlockFilter((place.topic,), place.epoch, place.partition)).heads.ids
        wanted = list(some)
        for at in outer_blocks(listed).tolist():
            outer = listed[at]
            inside = sum(one.last - one.first + 1 for one in wanted if one == outer or one.is_inside(outer))
            if inside == outer.last - outer.first + 1:
                found.append(outer)
            else:
                torn += inside > 0
    order = {one: at for at, one in enumerate(blocks)}
    return sorted(found, key=lambda outer: max(order[one] for one in blocks if one == outer or one.is_inside(outer))), torn


def _new_pieces(
    snapshot: Snapshot,
    parts: Sequence[UnionPart],
    rows: Sequence[NDArray[np.int64]],
    ours: frozenset[BlockId],
    has_seen: Callable[[BlockId], bool],
) -> list[NDArray[np.int64]]:
    """Return of each block's rows those of which no older block of another run has a copy, and one of each among these blocks.

    What was there before counts as the later copy: so a record that was there is not new, whatever it holds now.
    """
    before = _older_copies(snapshot, parts, ours, has_seen)
    held = unite([*parts, *before])
    return [wanted[of_block[wanted]] for wanted, of_block in zip(rows, held, strict=False)]


def _older_copies(
    snapshot: Snapshot, parts: Sequence[UnionPart], ours: frozenset[BlockId], has_seen: Callable[[BlockId], bool]
) -> list[UnionPart]:
    """Return blocks of other runs that reach into the offsets of ours and were there before, under runs later than all of ours."""
    of_run: dict[tuple[BlockPlace, str], list[BlockId]] = {}
    for block in ours:
        of_run.setdefault((block.place, block.run), []).append(block)
    runs: dict[BlockPlace, set[str]] = {}
    for part in parts:
        runs.setdefault(part.id.place, set()).add(part.id.run)
    wanted: list[BlockId] = []
    for (topic, epoch), some in groupby(sorted(parts, key=lambda part: part.id.place), key=lambda part: part.id.place[:2]):
        spans = [OffsetSpan(part.id.place.partition, int(part.lines.offset.min()), last_offset_of(part.lines) + 1) for part in some]
        for one in snapshot.find(BlockFilter((topic,), epoch, spans=tuple(spans))).heads.ids:
            if runs[one.place] == {one.run} or not has_seen(one):
                continue
            near = of_run.get((one.place, one.run), ())
            if not any(one == block or one.is_inside(block) or block.is_inside(one) for block in near):
                wanted.append(one)
    return [
        UnionPart(one._replace(run=_BEFORE + one.run), take_lines(lines, np.flatnonzero(lines.chunks > 0)))
        for one, lines in snapshot.unpack(wanted).items()
    ]
