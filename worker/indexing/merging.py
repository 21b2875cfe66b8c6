"""Which blocks of one run are merged, and what comes out. Pure: no sink, no clock, no threads.

Only neighbours are merged: blocks of one run with consecutive numbers, none missing, all acknowledged. The result `a-b` holds exactly their
lines. Eight of about one size make the next size, so a line is written about four times; where nothing has come for a while, what is left
is merged unless one block is larger than all the others together. If the result does not fit into one block, the sources stay as they are.

Not taken: merging into a fresh run or across runs (readers would count lines twice, or old lines would become the latest copy).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sinks.arrow import text_bytes
from sinks.block import Block, BlockId, Lines
from sinks.build import BlockBounds, build
from sinks.lines import join_lines, take_lines

NEIGHBOURS = 8
"""So many neighbours of about one size are merged."""
ABOUT_ONE_SIZE = 8
"""Blocks are of about one size if none is this many times larger than another."""
MOST_STANDING = 32
"""If more small blocks stand side by side, they are merged whatever their sizes."""
QUIET_S = 60.0
"""Neighbours to which nothing was added for so long are merged even if they are fewer than eight."""
DAY_MS = 86_400_000
_COLUMN_BYTES = 2_500
"""Of a block in memory, without its lines."""


class MergeSource(NamedTuple):
    """A block that may be merged: as much of it as planning needs."""

    id: BlockId
    pieces: int
    written_ms: int
    """When its oldest block was first written."""
    added_s: float = 0.0
    """When it was acknowledged."""


class MergeRules(NamedTuple):
    """What may be merged with what."""

    most_pieces: int
    """In one block."""
    window_ms: float
    """Only blocks first written within so long of each other."""
    oldest_ms: float = 0.0
    """Blocks first written before this are left alone, because a merged block would outlive its retention."""

    def allow(self, source: MergeSource) -> bool:
        """Whether a block may be merged at all: one of more than half the size hardly ever has neighbours that fit."""
        return 2 * source.pieces <= self.most_pieces and source.written_ms >= self.oldest_ms


def merge_rules(now_ms: float, retention_s: float | None, bounds: BlockBounds) -> MergeRules:
    """Return the rules for an index whose blocks go after `retention_s`: merging lets a line live at most a tenth longer."""
    if retention_s is None:
        return MergeRules(bounds.lines, DAY_MS)
    window_ms = min(retention_s * 100, DAY_MS)
    return MergeRules(bounds.lines, window_ms, now_ms - window_ms)


def stretches_of(sources: Sequence[MergeSource]) -> list[list[MergeSource]]:
    """Return blocks of one run in lists of consecutive numbers. A block inside another one is left out."""
    stretches: list[list[MergeSource]] = []
    last = -2
    for one in sorted(sources, key=lambda one: (one.id.first, -one.id.last)):
        if one.id.last <= last:
            continue
        if one.id.first == last + 1:
            stretches[-1].append(one)
        else:  # a number is missing in between, or two overlap because two processes merged: neither is a neighbour
            stretches.append([one])
        last = one.id.last
    return stretches


def plan_stretch(stretch: Sequence[MergeSource], rules: MergeRules, *, is_quiet: bool) -> list[list[MergeSource]]:
    """Return which blocks of consecutive numbers to merge, in lists that share no block."""
    plans: list[list[MergeSource]] = []
    at = 0
    while at + NEIGHBOURS <= len(stretch):
        chosen = _fitting(stretch, at, rules, about_one_size=True)
        if len(chosen) >= NEIGHBOURS:
            plans.append(chosen)
            at += len(chosen)
        else:
            at += 1
    if plans or not (is_quiet or len(stretch) > MOST_STANDING):
        return plans
    at = 0
    while at < len(stretch):
        chosen = _fitting(stretch, at, rules, about_one_size=False)
        at += len(chosen)
        plans += _balanced(chosen) if is_quiet else [chosen] if len(chosen) > 1 else []
    return plans


def blocks_missing(stretch: Sequence[MergeSource]) -> int:
    """Return how many blocks must follow a stretch without any merge before there can be one: at least 1.

    Eight of about one size end with the new ones, and begin with as many of the last ones as are of about one size.
    """
    of_one_size, smallest, largest = 0, math.inf, 0
    for one in reversed(stretch):
        smallest, largest = min(smallest, one.pieces), max(largest, one.pieces)
        if largest >= ABOUT_ONE_SIZE * smallest:
            break
        of_one_size += 1
    return max(min(NEIGHBOURS - of_one_size, MOST_STANDING + 1 - len(stretch)), 1)


def merge_lines(sources: Sequence[MergeSource], parts: Sequence[Lines], masks: str, bounds: BlockBounds) -> tuple[Block, Lines] | None:
    """Return the block that stands for neighbours, given in the order of their numbers, and its lines; None if they do not fit into one."""
    lines = join_lines(parts)
    built = build(lines, masks=masks, written_ms=min(one.written_ms for one in sources), bounds=bounds)
    if len(built) != 1:
        return None
    return built[0].block._replace(id=sources[0].id._replace(last=sources[-1].id.last)), take_lines(lines, built[0].rows)


class TailBlock(NamedTuple):
    """A block in memory. It is kept as columns: to decode small blocks would take longer than all else."""

    source: MergeSource
    lines: Lines
    size_bytes: int
    """About how much memory it takes."""


class RunTail:
    """The small blocks of one run that are acknowledged and may still be merged, in memory.

    Thread: one at a time; its run's lock is held.
    """

    def __init__(self) -> None:
        self.size_bytes = 0
        self._blocks: dict[BlockId, TailBlock] = {}
        self._next_number = 0
        """Above those of all blocks that came."""
        self._missing = NEIGHBOURS
        """Blocks still to come before there is anything to merge, unless it gets quiet."""
        self._quiet_at_s = math.inf
        """When the next of its stretches gets quiet, or earlier."""

    def __len__(self) -> int:
        return len(self._blocks)

    def add(self, block: Block, lines: Lines, now_s: float) -> None:
        """Add a block that was just acknowledged, with its lines."""
        self._put(MergeSource(block.id, lines.size, block.head.written_ms, now_s), lines)
        is_last = block.id.first >= self._next_number  # else it may join what stands on both sides of it
        self._missing = self._missing - 1 if is_last else 0
        self._next_number = max(self._next_number, block.id.last + 1)
        self._quiet_at_s = min(self._quiet_at_s, now_s + QUIET_S)

    def is_due(self, now_s: float) -> bool:
        """Whether there may be something to merge. May be asked without the lock."""
        return self._missing <= 0 or now_s >= self._quiet_at_s

    def plan(self, rules: MergeRules, now_s: float) -> list[list[TailBlock]]:
        """Return what to merge now. What can never be merged is forgotten."""
        self._quiet_at_s = math.inf
        self.forget([one.source.id for one in self._blocks.values() if not rules.allow(one.source)])
        plans: list[list[MergeSource]] = []
        stretches = stretches_of([one.source for one in self._blocks.values()])
        for stretch in stretches:
            quiet_at_s = max(one.added_s for one in stretch) + QUIET_S
            chosen = plan_stretch(stretch, rules, is_quiet=now_s >= quiet_at_s)
            plans += chosen
            if now_s < quiet_at_s:
                self._quiet_at_s = min(quiet_at_s, self._quiet_at_s)
            elif not chosen and stretch is not stretches[-1]:
                self.forget([one.id for one in stretch])  # nothing can join it any more
        self._missing = 0 if plans else blocks_missing(stretches[-1] if stretches else ())
        return [[self._blocks[one.id] for one in plan] for plan in plans]

    def replace(self, sources: Sequence[BlockId], merged: Block, lines: Lines) -> None:
        """Note that a merged block, with these lines, stands for its sources; no change if they are not all here."""
        there = [self._blocks[one].source for one in sources if one in self._blocks]
        if len(there) == len(sources):
            self.forget(sources)
            self._put(MergeSource(merged.id, lines.size, merged.head.written_ms, max(one.added_s for one in there)), lines)

    def forget(self, ids: Sequence[BlockId]) -> None:
        """These are not merged from memory."""
        for one in ids:
            found = self._blocks.pop(one, None)
            if found is not None:
                self.size_bytes -= found.size_bytes

    def _put(self, source: MergeSource, lines: Lines) -> None:
        raw_bytes = text_bytes(lines.text).sum(dtype=np.int64) + text_bytes(lines.fields).sum(dtype=np.int64)
        block = TailBlock(source, lines, _COLUMN_BYTES + int(raw_bytes) + 60 * lines.size)
        self._blocks[source.id] = block
        self.size_bytes += block.size_bytes


def _fitting(stretch: Sequence[MergeSource], at: int, rules: MergeRules, *, about_one_size: bool) -> list[MergeSource]:
    """Return the longest list that begins at a place and fits into one block."""
    first = stretch[at]
    pieces = smallest = largest = first.pieces
    oldest_ms = latest_ms = first.written_ms
    end = at + 1
    for one in stretch[end:]:
        pieces += one.pieces
        smallest, largest = min(smallest, one.pieces), max(largest, one.pieces)
        oldest_ms, latest_ms = min(oldest_ms, one.written_ms), max(latest_ms, one.written_ms)
        if pieces > rules.most_pieces or latest_ms - oldest_ms > rules.window_ms:
            break
        if about_one_size and largest >= ABOUT_ONE_SIZE * smallest:
            break
        end += 1
    return list(stretch[at:end])


def _balanced(sources: list[MergeSource]) -> list[list[MergeSource]]:
    """Return lists in which no block is larger than all others together: else it would be written again for every line that trickles in."""
    if not sources[1:]:
        return []
    largest = max(range(len(sources)), key=lambda i: sources[i].pieces)
    if 2 * sources[largest].pieces <= sum(one.pieces for one in sources):
        return [sources]
    return _balanced(sources[:largest]) + _balanced(sources[largest + 1 :])
