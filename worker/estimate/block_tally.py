"""Measures what lines take in the index, by building the very blocks that the worker would write of them.

`worker.estimate.sample_tally` adds the lines of the sample, in order. Times and offsets are made up: a record each, a millisecond apart. A
sample's lines come from many places of the files, so they are a little more different, and take a little more, than real neighbours.
"""

from collections.abc import Sequence

from consumers.decode.decoder import LogEntry
from consumers.text.chunk import Piece
from sinks.block import Block
from sinks.build import BlockBounds, build
from sinks.line import Line
from sinks.lines import cut_of, lines_of
from sinks.milvus.lite_bloom import bloom_filter, encode_filter

_FULL = BlockBounds().lines
_SEVEN_BITS = 6 / 7
"""Bytes on a local folder for each of base64 (`sinks.milvus.lite_texts`)."""
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
        self._waiting: list[Line] = []
        self._next_offset = 0

    def add_entries(self, entries: Sequence[tuple[LogEntry, Sequence[Piece]]]) -> None:
        """Add log entries with their pieces; those with too many chunks have none."""
        for entry, pieces in entries:
            self._next_offset += 1
            cut = cut_of([piece.text for piece in pieces])
            self._waiting += (
                Line(
                    topic="",
                    epoch="",
                    partition=0,
                    offset=self._next_offset,
                    sub=0,
                    chunk=number,
                    chunks=len(pieces),
                    text=piece.text,
                    template_text=piece.masked,
                    time=self._next_offset,
                    kafka_time=self._next_offset,
                    service=entry.service,
                    level=entry.level,
                    cut=cut,
                )
                for number, piece in enumerate(pieces)
            )
        while len(self._waiting) >= _FULL:
            self._build(self._waiting[:_FULL])
            del self._waiting[:_FULL]

    def finish(self) -> None:
        """Build a block of the lines that are left."""
        if self._waiting:
            self._build(self._waiting)
            self._waiting = []

    def _build(self, lines: Sequence[Line]) -> None:
        for one in build(lines_of(lines), masks="", written_ms=0):
            self.blocks += 1
            self.server_bytes += one.block.size_bytes
            self.folder_bytes += _folder_bytes(one.block)


def _folder_bytes(block: Block) -> float:
    texts = _SEVEN_BITS * (len(block.texts) + len(block.fields))
    head = _HEAD_BYTES + _HEAD_TEMPLATE_BYTES * 4 / 3 * len(block.head.templates)
    return len(block.places) + texts + len(encode_filter(bloom_filter(block.words))) + head
