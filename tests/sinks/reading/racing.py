"""A sink in which time passes and blocks are merged between any two calls of a reader: the port of the executable model's race.

Blocks are rows with the moments at which they came and went. A read that is not strong sees each of two shards as of some moment of the
last `STALE_S`. Inner blocks go `GRACE_S` after the outer one was acknowledged.
"""

from collections.abc import Collection
from random import Random

from sinks.block import Block, BlockColumns, BlockId
from sinks.heads import head_row, join_heads
from sinks.sink import BlockFilter, ColumnName, FoundBlocks
from tests.fakes.sink import FakeSink, passes
from tests.world import DIM, block, line

STALE_S = 5.0
GRACE_S = 20.0
BLOCKS = 6
LINES = 2
"""Of each block before anything is merged."""
MERGES = [(0, 1), (2, 3), (0, 3), (4, 5)]


class RacingSink(FakeSink):
    """Holds 12 lines, merged pair by pair and then by fours."""

    def __init__(self, random: Random, *, longest_call_s: float) -> None:
        super().__init__(DIM, orders_blocks=False)
        self.open()
        self.now_s = 100.0
        self._random = random
        self._longest_call_s = longest_call_s
        self._rows: dict[BlockId, tuple[Block, float]] = {}
        self._gone_s: dict[BlockId, float] = {}
        self._shard: dict[BlockId, int] = {}
        self._merges = list(MERGES)
        for number in range(BLOCKS):
            self._insert(number, number, 0.0)

    def clock(self) -> float:
        return self.now_s

    def find_blocks(self, only: BlockFilter, *, limit: int | None = None, strong: bool = False) -> FoundBlocks:
        self._pass_time()
        found = [one for one in self._visible(strong=strong) if passes(one, only)]
        self._random.shuffle(found)
        return FoundBlocks(join_heads([head_row(one) for one in found[:limit]]), limit is None or len(found) <= limit)

    def read_columns(
        self, ids: Collection[BlockId], columns: Collection[ColumnName], *, strong: bool = False
    ) -> dict[BlockId, BlockColumns]:
        del columns
        self._pass_time()
        return {one.id: BlockColumns(one.places, one.texts, one.fields) for one in self._visible(strong=strong) if one.id in ids}

    def _visible(self, *, strong: bool) -> list[Block]:
        ages = [0.0 if strong else self._random.uniform(0.0, STALE_S) for _ in range(2)]
        seen = []
        for one, (found, since_s) in self._rows.items():
            at_s = self.now_s - ages[self._shard.setdefault(one, self._random.randrange(2))]
            if since_s <= at_s < self._gone_s.get(one, float("inf")):
                seen.append(found)
        return seen

    def _pass_time(self) -> None:
        """Let some time pass, now and then a merge, and the deletes that are due."""
        self.now_s += self._random.uniform(0.0, self._longest_call_s)
        if self._merges and self._random.random() < 0.5:
            self._insert(*self._merges.pop(0), self.now_s)
        for outer, (_, since_s) in list(self._rows.items()):
            for inner in self._rows:
                if inner.is_inside(outer) and self.now_s >= since_s + GRACE_S and self._random.random() < 0.7:
                    self._gone_s.setdefault(inner, self.now_s)

    def _insert(self, first: int, last: int, now_s: float) -> None:
        lines = [line(offset) for offset in range(first * LINES, (last + 1) * LINES)]
        made = block(lines, first=first, last=last)
        self._rows[made.id] = made, now_s
