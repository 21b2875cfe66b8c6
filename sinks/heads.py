"""n blocks as columns: where they are and what is in them, without their lines; what a sink answers and a reader counts from."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockId, Head

NAMES, NUMBERS, OF_TEMPLATES = slice(3), slice(3, 9), slice(10, None)
"""Which columns of `Heads` have texts of each block, numbers of each block, and numbers of each of its templates."""


class Heads(NamedTuple):
    """n blocks: one row each, and for each of its templates a row in the columns from `templates` on.

    Thread: any.
    """

    ids: Sequence[BlockId]
    services: Sequence[tuple[str, ...]]
    levels: Sequence[tuple[str, ...]]
    first_offset: NDArray[np.int64]
    last_offset: NDArray[np.int64]
    first_ms: NDArray[np.int64]
    last_ms: NDArray[np.int64]
    lines: NDArray[np.int64]
    written_ms: NDArray[np.int64]
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
        return Heads._make(
            [
                *([column[i] for i in places] for column in self[NAMES]),
                *(column[blocks] for column in self[NUMBERS]),
                start,
                *(column[rows] for column in self[OF_TEMPLATES]),
            ]
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
    numbers = np.array([(*row[1:6], row.head.written_ms) for row in rows], np.int64).reshape(-1, 6)
    heads = [row.head for row in rows]
    sizes = np.array([0, *(len(head.templates) for head in heads)], np.int64)
    nothing = np.empty(0, np.int64)
    of_templates = (np.concatenate([nothing, *(head[column] for head in heads)]) for column in range(4))
    names = ([head.services for head in heads], [head.levels for head in heads])
    return Heads._make([[row.id for row in rows], *names, *numbers.T, np.cumsum(sizes), *of_templates])


NO_HEADS = join_heads(())


def concat_heads(pages: Sequence[Heads]) -> Heads:
    """Return the blocks of several listings as one; none is in two."""
    ends = np.cumsum([0, *(page.start[-1] for page in pages)])
    starts = [page.start[:-1] + end for page, end in zip(pages, ends[:-1], strict=True)]
    columns = list(zip(*pages, strict=True))
    return Heads._make(
        [
            *([one for part in column for one in part] for column in columns[NAMES]),
            *(np.concatenate(column) for column in columns[NUMBERS]),
            np.concatenate([*starts, ends[-1:]]).astype(np.int64),
            *(np.concatenate(column) for column in columns[OF_TEMPLATES]),
        ]
    )
