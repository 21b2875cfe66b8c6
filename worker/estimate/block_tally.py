"""Measures what lines take in the index, by building the very blocks that the worker would write of them.

`worker.estimate.sample_tally` adds the lines of the sample, in order. They come from many places of the files, so they are a little more
different, and take a little more, than real neighbours.
"""

import numpy as np

from sinks.block import Block, Lines
from sinks.build import BlockBounds, build
from sinks.lines import join_lines, take_lines
from sinks.milvus.lite_bloom import bloom_filter, encode_filter

_FULL = BlockBounds().lines
_HEAD_BYTES = 200
"""Of a block on a local folder besides its templates, columns and filter."""
_HEAD_TEMPLATE_BYTES = 20


class BlockTally:
    """Sizes of the blocks that were built; numbers only grow.

    Thread: one.
    """

    def __init__(self) -> None:
        self.blocks = 0
        self.server_bytes = 0
        """Of all blocks as a server is sent them."""
        self.folder_bytes = 0.0
        """Of all blocks in a local folder."""
        self._waiting: list[Lines] = []

    def add_lines(self, lines: Lines) -> None:
        """Add lines, in the order of their offsets."""
        self._waiting.append(lines)
        if (size := sum(one.size for one in self._waiting)) < _FULL:
            return
        joined = join_lines(self._waiting)
        for first in range(0, size - _FULL + 1, _FULL):
            self._build(take_lines(joined, np.arange(first, first + _FULL)))
        self._waiting = [take_lines(joined, np.arange(size - size % _FULL, size))]

    def finish(self) -> None:
        """Build a block of the lines that are left."""
        self._build(join_lines(self._waiting))
        self._waiting.clear()

    def _build(self, lines: Lines) -> None:
        for one in build(lines, masks="", written_ms=0):
            self.blocks += 1
            self.server_bytes += one.block.size_bytes
            self.folder_bytes += _folder_bytes(one.block)


def _folder_bytes(block: Block) -> float:
    head = _HEAD_BYTES + _HEAD_TEMPLATE_BYTES * 4 / 3 * len(block.head.templates)
    return sum(block.characters.values()) + len(encode_filter(bloom_filter(block.words))) + head
