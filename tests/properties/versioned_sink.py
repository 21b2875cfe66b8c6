"""An index that keeps versions of every block, applies some calls late or never, and checks what it is sent.

`tests.properties.blocks_world` shares one among its workers. A Bounded read is as of any moment of the last seconds.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.block import Block, BlockColumns, BlockId
from sinks.codec import decode_lines
from sinks.heads import head_row, join_heads
from sinks.sink import BlockFilter, ColumnName, FoundBlocks, SeenRun, SinkBusy, SinkRejected
from tests.fakes.sink import FakeSink, is_unseen, passes

GRACE_S = 20.0
"""How long an outer block must have stood before its inner ones go."""
STALE_S = 5.0
"""How old a Bounded read may be."""


class Stored(NamedTuple):
    """One version of a block."""

    block: Block
    since_s: float
    until_s: float


class VersionedSink(FakeSink):
    """The index: every version of every block, with times; calls that are lost, late, or interrupted by other workers."""

    def __init__(self, rng: random.Random, clock: Callable[[], float]) -> None:
        super().__init__(dim=384)
        self.rng = rng
        self.clock = clock
        self.is_calm = False
        """Nothing is lost, late, refused or interrupted, and reads are Strong."""
        self.interrupt: Callable[[], None] = lambda: None
        """Called in the middle of every call."""
        self.note_written: Callable[[Block], None] = lambda _block: None
        """Called with every block when it is there."""
        self.late: list[Callable[[], None]] = []
        self.versions: dict[BlockId, list[Stored]] = defaultdict(list)
        self.contents: dict[BlockId, tuple[object, ...]] = {}
        self.pieces: dict[tuple[str, int], frozenset[tuple[int, int, int]]] = {}
        """By run and number: the lines that were sent under it."""
        self.tried: set[BlockId] = set()

    def write_blocks(self, blocks: Sequence[Block], *, again: bool = False) -> None:
        self.begin("write_blocks")
        for block in blocks:
            self._check_sent(block)
            if not self.is_calm and self.rejects(block):
                raise SinkRejected(f"block {block.id} holds a line that is refused")
            if block.id in self.tried and not self.is_calm and block.id.first == block.id.last and self.rng.random() < 0.1:
                raise SinkRejected(f"block {block.id} is refused now")
            assert again or block.id not in self.tried, f"{block.id} was sent again, and the sink was not told"
        self.tried |= {block.id for block in blocks}
        self._call(lambda: self._put(blocks))

    def delete_blocks(self, ids: Collection[BlockId]) -> None:
        self.begin("delete_blocks")
        for one in ids:
            since_s = [self._there_since(other) for other in self.versions if one.is_inside(other)]
            # Added, not subtracted: rounding keeps the order of sums, so this is never stricter than the writer is.
            has_stood = bool(since_s) and min(since_s) + GRACE_S <= self.clock()
            assert has_stood, f"{one} is deleted, and no block has stood for it so long"
        self._call(lambda: self._drop(list(ids)))

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        self.begin("find_blocks")
        self.interrupt()
        found = [block for block in self._seen(strong=strong) if passes(block, only)]
        found.sort(key=lambda block: -block.last_ms)
        return FoundBlocks(join_heads([head_row(block) for block in found[:limit]]), limit is None or len(found) <= limit)

    def unseen_blocks(self, seen: Collection[SeenRun]) -> list[BlockId]:
        self.begin("unseen_blocks")
        self.interrupt()
        return [block.id for block in self._seen(strong=False) if is_unseen(block.id, seen)]

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        del columns  # all of them are as right as some
        self.begin("read_columns")
        self.interrupt()
        return {block.id: _columns(block) for block in self._seen(strong=strong) if block.id in ids}

    def read_words(self, ids: Collection[BlockId]) -> dict[BlockId, NDArray[np.int32]]:
        return {block.id: block.words for block in self._seen(strong=True) if block.id in ids}

    def now(self) -> dict[BlockId, Block]:
        return {block.id: block for block in self._seen(strong=True)}

    def _call(self, apply: Callable[[], None]) -> None:
        """Do a write, and say so; or do one of the two, or do it later."""
        draw = 0.0 if self.is_calm else self.rng.random()
        self.interrupt()
        if draw < 0.82:
            apply()
        elif draw < 0.92:
            self.late.append(apply)
        self.interrupt()
        if draw >= 0.72:
            raise SinkBusy("nobody knows what became of it")

    def _put(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._drop([block.id])
            self.versions[block.id].append(Stored(block, self.clock(), float("inf")))
            self.note_written(block)

    def _drop(self, ids: Sequence[BlockId]) -> None:
        for one in ids:
            versions = self.versions[one]
            if versions and versions[-1].until_s > self.clock():
                versions[-1] = versions[-1]._replace(until_s=self.clock())

    def _there_since(self, one: BlockId) -> float:
        """Return since when a block is there without a break; a later moment if it is not."""
        since_s = float("inf")
        for version in reversed(self.versions[one]):
            if version.until_s != since_s:
                break
            since_s = version.since_s
        return since_s

    def _seen(self, *, strong: bool) -> list[Block]:
        at_s = self.clock() - (0.0 if strong or self.is_calm else self.rng.uniform(0, STALE_S))
        return [one.block for versions in self.versions.values() for one in versions if one.since_s <= at_s < one.until_s]

    def _check_sent(self, block: Block) -> None:
        """An id always has the same content; within a run a line is in one number; `a-b` holds exactly the lines of a … b."""
        content = (*block[1:6], block.places, block.texts, block.words.tolist())
        assert self.contents.setdefault(block.id, content) == content, f"{block.id} was sent with other content"
        lines = decode_lines(_columns(block))
        held = frozenset(zip(lines.offset.tolist(), lines.sub.tolist(), lines.chunk.tolist(), strict=True))
        assert len(held) == lines.size
        run, first, last = block.id[1:]
        if first == last:
            self.pieces[run, first] = held
            others = [pieces for (other, number), pieces in self.pieces.items() if other == run and number != first]
            assert all(held.isdisjoint(other) for other in others), f"{block.id} repeats lines of its run"
        else:
            parts = [self.pieces[run, number] for number in range(first, last + 1)]
            assert held == frozenset().union(*parts), f"{block.id} does not hold the lines of its numbers"


def _columns(block: Block) -> BlockColumns:
    return BlockColumns(block.places, block.texts, block.fields)
