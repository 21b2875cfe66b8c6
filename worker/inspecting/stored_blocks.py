"""Reads the blocks of a window of offsets as readers do, and checks what each block says of itself.

Readers and counts believe a block's range, head and words without unpacking it, so `vectail verify` compares these with its lines:
1. The ranges of offsets and times, the number of lines and the head are functions of the lines.
2. The words may be too many, but none may be missing. A sink that keeps no exact words (Milvus Lite) is not asked for them.
3. No line stands twice in a block, or in two blocks of one run: such a line is counted twice.
A block that cannot be read is skipped by readers. All reads are Strong.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import ANY_WORD, BlockColumns, BlockId, Lines
from sinks.build import build
from sinks.codec import BlockDamaged, decode_lines, masks_of
from sinks.heads import Heads
from sinks.line import Line
from sinks.lines import all_lines, last_offset_of, take_lines
from sinks.reading.union import UnionPart, outer_heads, unite
from sinks.row import template_id, template_keys
from sinks.sink import BlockFilter, ColumnName, Sink, SinkBusy
from worker.inspecting.busy_retry import BusyRetry

_COLUMNS: tuple[ColumnName, ...] = ("places", "texts", "fields")
_AT_ONCE = 100
"""Blocks whose columns are asked for at once."""
_ATTEMPTS = 5


class StoredBlock(NamedTuple):
    """One block with its lines."""

    id: BlockId
    first_offset: int
    last_offset: int
    """Both as the block says."""
    written_ms: int
    masks: str
    lines: tuple[Line, ...]
    """Empty if it cannot be read."""
    holds: tuple[bool, ...]
    """For each line, whether it is the copy that readers get."""
    fault: str
    """Why it is damaged; empty if it is sound."""
    is_readable: bool = True


class StoredWindow(NamedTuple):
    """What is stored of some offsets of a partition, in any epoch."""

    lines: tuple[Line, ...]
    """What readers get."""
    copies: int
    """Lines of the window that readers leave out."""
    blocks: tuple[StoredBlock, ...]
    """The blocks that overlap the window, without inner ones; their lines may reach beyond it."""


class _Gone(Exception):
    """A listed block is gone: it was merged meanwhile."""


def read_window(sink: Sink, busy_retry: BusyRetry, topic: str, partition: int, offsets: range) -> StoredWindow:
    """Read a window of offsets. Raises the sink's exceptions."""
    for _ in range(_ATTEMPTS):
        try:
            blocks = _read_blocks(sink, busy_retry, topic, partition, offsets)
        except _Gone:
            continue
        inside = [(line, holds) for block in blocks for line, holds in zip(block.lines, block.holds, strict=True) if line.offset in offsets]
        held = tuple(line for line, holds in inside if holds)
        return StoredWindow(held, len(inside) - len(held), tuple(blocks))
    raise SinkBusy(f"blocks that were listed were gone when they were read, {_ATTEMPTS} times in a row")


def inner_blocks(sink: Sink, busy_retry: BusyRetry, block: StoredBlock) -> list[BlockId]:
    """Return the blocks inside a block: where it is removed, they go first, or their lines would come back."""
    heads = _find(sink, busy_retry, block.id.place.topic, block.id.place.partition, range(block.first_offset, block.last_offset + 1))
    return [one for one in heads.ids if one.is_inside(block.id)]


def _find(sink: Sink, busy_retry: BusyRetry, topic: str, partition: int, offsets: range) -> Heads:
    only = BlockFilter(topics=(topic,), partition=partition, first_offset=offsets.start, end_offset=offsets.stop)
    return busy_retry.call(lambda: sink.find_blocks(only, strong=True)).heads


def _read_blocks(sink: Sink, busy_retry: BusyRetry, topic: str, partition: int, offsets: range) -> list[StoredBlock]:
    found = _find(sink, busy_retry, topic, partition, offsets)
    heads = outer_heads(found)
    columns: dict[BlockId, BlockColumns] = {}
    words: dict[BlockId, NDArray[np.int32]] = {}
    for start in range(0, heads.size, _AT_ONCE):
        ids = heads.ids[start : start + _AT_ONCE]
        columns |= busy_retry.call(partial(sink.read_columns, ids, _COLUMNS, strong=True))
        words |= busy_retry.call(partial(sink.read_words, ids))
    if len(columns) < heads.size:
        raise _Gone
    decoded: dict[BlockId, Lines] = {}
    masks: dict[BlockId, str] = {}
    faults: dict[BlockId, str] = {}
    for i, one in enumerate(heads.ids):
        try:
            decoded[one], masks[one] = _decode(columns[one]), masks_of(columns[one].places)
        except BlockDamaged as damage:
            decoded.pop(one, None)
            faults[one] = f"cannot be read: {damage}"
        else:
            faults[one] = _fault_of(heads, i, decoded[one], words.get(one))
    return _stored_blocks(heads, decoded, masks, faults)


def _decode(columns: BlockColumns) -> Lines:
    """Raises BlockDamaged."""
    if not columns.texts:
        raise BlockDamaged("it has no texts")
    return decode_lines(columns)


def _stored_blocks(heads: Heads, decoded: dict[BlockId, Lines], masks: dict[BlockId, str], faults: dict[BlockId, str]) -> list[StoredBlock]:
    held = dict(zip(decoded, unite([UnionPart(one, lines) for one, lines in decoded.items()]), strict=True))
    blocks = []
    keys: dict[tuple[object, ...], BlockId] = {}
    for i, one in enumerate(heads.ids):
        is_line = decoded[one].chunks > 0 if one in decoded else np.empty(0, np.bool_)  # hollow entries are none
        lines = tuple(all_lines(one.place, take_lines(decoded[one], np.flatnonzero(is_line)))) if is_line.any() else ()
        for line in lines:
            first = keys.setdefault((one.place, one.run, line.offset, line.sub, line.chunk), one)
            if first != one:
                faults[one] = faults[one] or f"holds lines that {first} holds too"
                faults[first] = faults[first] or f"holds lines that {one} holds too"
        holds = tuple(held[one][is_line].tolist()) if lines else ()
        first_offset, last_offset, written_ms = int(heads.first_offset[i]), int(heads.last_offset[i]), int(heads.written_ms[i])
        blocks.append(StoredBlock(one, first_offset, last_offset, written_ms, masks.get(one, ""), lines, holds, "", one in decoded))
    return [block._replace(fault=faults[block.id]) for block in blocks]


def _fault_of(heads: Heads, i: int, lines: Lines, words: NDArray[np.int32] | None) -> str:
    """Return what a block says of itself that does not fit its lines; empty if all does."""
    if len(np.unique(np.stack([lines.offset, lines.sub, lines.chunk]), axis=1).T) < lines.size:
        return "holds a line twice"
    said_lines = lines if (lines.chunks > 0).all() else take_lines(lines, np.flatnonzero(lines.chunks))
    rows = slice(int(heads.start[i]), int(heads.start[i + 1]))
    said = {
        "first_offset": heads.first_offset[i] == lines.offset.min(),
        "last_offset": heads.last_offset[i] == last_offset_of(lines),
        "first_ms": heads.first_ms[i] == lines.time.min(),
        "last_ms": heads.last_ms[i] == lines.time.max(),
        "lines": heads.lines[i] == np.count_nonzero(said_lines.chunk == 0),
        "services": set(heads.services[i]) == set(said_lines.service.values),
        "levels": set(heads.levels[i]) == set(said_lines.level.values),
        "templates": np.array_equal(
            np.stack([heads.templates[rows], heads.pieces[rows], heads.template_first_ms[rows], heads.template_last_ms[rows]]),
            _template_columns(said_lines),
        ),
        "words": words is None or _has_all_words(lines, words),
    }
    wrong = [name for name, is_right in said.items() if not is_right]
    return f"differs from its lines in {', '.join(wrong)}" if wrong else ""


def _template_columns(lines: Lines) -> NDArray[np.int64]:
    """Return what a head says of the templates of these lines: int64[4, m] of keys, pieces, first and last times."""
    keys, places = np.unique(template_keys(map(template_id, lines.template.values)), return_inverse=True)
    codes = places[lines.template.codes]
    first, last = np.full(len(keys), np.iinfo(np.int64).max), np.full(len(keys), np.iinfo(np.int64).min)
    np.minimum.at(first, codes, lines.time)
    np.maximum.at(last, codes, lines.time)
    return np.stack([keys, np.bincount(codes, minlength=len(keys)), first, last])


def _has_all_words(lines: Lines, words: NDArray[np.int32]) -> bool:
    if ANY_WORD in words:
        return True
    wanted: Sequence[NDArray[np.int32]] = [built.block.words for built in build(lines, masks="", written_ms=0)]
    missing = np.setdiff1d(np.concatenate(wanted), words)
    return not len(missing[missing != ANY_WORD])
