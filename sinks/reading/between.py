"""All lines of a range of offsets of one partition, each once; for tools, resume and what stood around a line."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import BlockPlace
from sinks.heads import Heads
from sinks.line import Line
from sinks.lines import all_lines, take_lines
from sinks.reading.copies import CopyReach, with_events_beyond
from sinks.reading.snapshot import ALL_COLUMNS, MOST_TEXTS, Snapshot
from sinks.reading.union import UnionPart, clusters, outer_heads, unite
from sinks.sink import BlockFilter


class RecordRange(NamedTuple):
    """The records of a partition with `first_offset` ≤ offset < `end_offset`.

    Thread: any.
    """

    topic: str
    partition: int
    first_offset: int
    end_offset: int
    epoch: str | None = None
    """None: of every epoch."""

    @property
    def blocks(self) -> BlockFilter:
        """The filter of the blocks that may hold them."""
        return BlockFilter((self.topic,), self.epoch, self.partition, self.first_offset, self.end_offset)


class StoredLines(NamedTuple):
    """The lines of a range, copies resolved.

    Thread: any.
    """

    lines: list[Line]
    """By epoch, offset, sub and chunk."""
    copies: int
    """How many pieces in the range were left out because another copy of their entry holds."""
    complete: bool
    """False: the deadline, `most_lines` or a block that could not be read cut it."""


def lines_between(snapshot: Snapshot, only: BlockFilter, most_lines: int | None) -> StoredLines:
    """Return the lines whose offset is within the filter's range, at most `most_lines` of them, the first ones."""
    lines: list[Line] = []
    copies = 0
    is_all = True
    heads = outer_heads(snapshot.find(only).heads)
    for blocks in _batches(heads, clusters(heads, np.arange(heads.size))):
        if snapshot.is_over() or (most_lines is not None and len(lines) > most_lines):
            is_all = False
            break
        unpacked = snapshot.unpack([heads.ids[at] for at in blocks.tolist()], ALL_COLUMNS)
        parts = [UnionPart(one, block) for one, block in unpacked.items()]
        found, left_out = _resolved(parts, only, with_events_beyond(snapshot, parts, _reach_within(only, parts)))
        lines += found
        copies += left_out
    if most_lines is not None and len(lines) > most_lines:
        del lines[most_lines:]
        is_all = False
    return StoredLines(lines, copies, complete=is_all and not snapshot.damaged)


def event_start(snapshot: Snapshot, place: BlockPlace, offset: int) -> int:
    """Return where the entry begins that spans both `offset - 1` and `offset` and that readers get; `offset` if there is none."""
    topic, epoch, partition = place
    heads = snapshot.find(BlockFilter((topic,), epoch, partition, offset - 1, offset + 1)).heads
    near = heads.select(np.flatnonzero((heads.first_offset < offset) & (heads.last_offset >= offset)))
    ends = {offset}
    begins = {offset}
    for lines in snapshot.unpack(near.ids).values():
        across = (lines.offset < offset) & (lines.offset + lines.records > offset)
        begins.update(lines.offset[across].tolist())
        ends.update((lines.offset + lines.records)[across].tolist())
    if len(begins) == 1:
        return offset
    stored = lines_between(snapshot, BlockFilter((topic,), epoch, partition, min(begins), max(ends)), None)
    return min([offset, *(line.offset for line in stored.lines if line.offset < offset < line.offset + line.records)])


def _batches(heads: Heads, groups: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Join clusters, by epoch and offset, as long as one request can read them."""
    groups.sort(key=lambda group: (heads.ids[group[0]].place, int(heads.first_offset[group[0]])))
    batches: list[list[NDArray[np.int64]]] = []
    size = 0
    for group in groups:
        if not batches or size + len(group) > MOST_TEXTS:
            batches.append([])
            size = 0
        batches[-1].append(group)
        size += len(group)
    return [np.concatenate(batch) for batch in batches]


def _reach_within(only: BlockFilter, parts: list[UnionPart]) -> list[CopyReach]:
    """Return the offsets that are asked for, unless it is all of them."""
    if only.first_offset is None or only.end_offset is None:
        return []
    return [CopyReach(place, only.first_offset, only.end_offset) for place in {part.id.place for part in parts}]


def _resolved(parts: list[UnionPart], only: BlockFilter, every: list[UnionPart]) -> tuple[list[Line], int]:
    """Return the lines of blocks that share none with others, and how many pieces were left out; `every` begins with `parts`."""
    found: list[Line] = []
    copies = 0
    for part, held in zip(parts, unite(every), strict=False):
        inside = part.lines.chunks > 0
        if only.first_offset is not None:
            inside &= part.lines.offset >= only.first_offset
        if only.end_offset is not None:
            inside &= part.lines.offset < only.end_offset
        copies += int((inside & ~held).sum())
        found += all_lines(part.id.place, take_lines(part.lines, np.flatnonzero(inside & held)))
    found.sort(key=lambda line: (line.epoch, line.offset, line.sub, line.chunk))
    return found, copies
