"""n blocks as columns: where they are and what is in them, without their lines; what a sink answers and a reader counts from."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockId, Head


class Heads(NamedTuple):
    """n blocks: one row each, and for each of its templates a row in the columns from `templates` on.

    Thread: any.
    """

    ids: Sequence[BlockId]
    first_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    first_ms: NDArray[np.int64]
    last_ms: NDArray[np.int64]
    lines: NDArray[np.int64]
    written_ms: NDArray[np.int64]
    services: Sequence[tuple[str, ...]]
    levels: Sequence[tuple[str, ...]]
    start: NDArray[np.int64]
    """int64[n + 1]: the templates of block i are rows start[i] … start[i + 1] of the columns below."""
    templates: NDArray[np.int64]
    pieces: NDArray[np.int64]
    template_first_ms: NDArray[np.int64]
    template_last_ms: NDArray[np.int64]

    @property
    def size(self) -> int:
        """How many blocks; `len` counts the columns."""
        return len(self.ids)

    def select(self, blocks: NDArray[np.int64]) -> "Heads":
        """Return the blocks at these places, in their order."""
        if np.array_equal(blocks, np.arange(self.size)):
            return self
        sizes = np.diff(self.start)[blocks]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        rows = np.repeat(self.start[:-1][blocks] - start[:-1], sizes) + np.arange(start[-1])
        places = blocks.tolist()
        return Heads(
            ids=[self.ids[i] for i in places],
            first_offset=self.first_offset[blocks],
            last_offset=self.last_offset[blocks],
            first_ms=self.first_ms[blocks],
            last_ms=self.last_ms[blocks],
            lines=self.lines[blocks],
            written_ms=self.written_ms[blocks],
            services=[self.services[i] for i in places],
            levels=[self.levels[i] for i in places],
            start=start,
            templates=self.templates[rows],
            pieces=self.pieces[rows],
            template_first_ms=self.template_first_ms[rows],
            template_last_ms=self.template_last_ms[rows],
        )


class HeadRow(NamedTuple):
    """One block of `Heads`.

    Thread: any.
    """

    id: BlockId
    first_offset: int
    last_offset: int
    first_ms: int
    last_ms: int
    lines: int
    head: Head


def head_row(block: Block) -> HeadRow:
    """Return what readers list of a block."""
    return HeadRow(block.id, block.first_offset, block.last_offset, block.first_ms, block.last_ms, block.lines, block.head)


def join_heads(rows: Sequence[HeadRow]) -> Heads:
    """Return n blocks as columns."""
    numbers = np.array([row[1:6] for row in rows], np.int64).reshape(-1, 5)
    heads = [row.head for row in rows]
    sizes = np.array([0, *(len(head.templates) for head in heads)], np.int64)

    def joined(column: int) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *(head[column] for head in heads)])

    return Heads(
        ids=[row.id for row in rows],
        first_offset=numbers[:, 0],
        last_offset=numbers[:, 1],
        first_ms=numbers[:, 2],
        last_ms=numbers[:, 3],
        lines=numbers[:, 4],
        written_ms=np.array([head.written_ms for head in heads], np.int64),
        services=[head.services for head in heads],
        levels=[head.levels for head in heads],
        start=np.cumsum(sizes),
        templates=joined(0),
        pieces=joined(1),
        template_first_ms=joined(2),
        template_last_ms=joined(3),
    )
