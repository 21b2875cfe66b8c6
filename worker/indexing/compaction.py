"""Merging the blocks of runs that have ended, and deleting blocks that a merged one stands for.

The owner of a partition does it once, minutes after its assignment, for the runs before its own; `vectail compact` does it for a group
without members. Two at the same time do no harm: a merged block is a function of its sources, and a block is deleted only when
an acknowledged one of its own run has held its lines for `GRACE_S` (design: sink).
"""

import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from sinks.block import Block, BlockId, BlockPlace
from sinks.build import DEFAULT_BOUNDS, BlockBounds
from sinks.codec import BlockDamaged, decode_lines, decode_places, masks_of
from sinks.heads import Heads
from sinks.sink import BlockFilter, Sink, SinkRejected
from worker.indexing.merging import MergeRules, MergeSource, merge_lines, merge_rules, plan_stretch, stretches_of
from worker.runtime.surroundings import Surroundings

GRACE_S = 20.0
"""From the acknowledgement of a merged block until its sources go: longer than any read, and than what a read may lag behind."""
_DELETE_AT_ONCE = 1_000


class Deletions:
    """Inner blocks, each with the time from which it may be deleted. What is not deleted before the process ends is found again.

    Thread: any.
    """

    def __init__(self) -> None:
        self._due: dict[BlockId, float] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, ids: Iterable[BlockId], acknowledged_s: float) -> None:
        """Note inner blocks whose outer one was acknowledged at this time, or earlier."""
        with self._lock:
            for one in ids:
                self._due.setdefault(one, acknowledged_s + GRACE_S)

    def due(self, now_s: float, most: int = _DELETE_AT_ONCE) -> list[BlockId]:
        """Return blocks that may be deleted now; they stay here until they are `gone`."""
        with self._lock:
            found: list[BlockId] = []
            for one, due_s in self._due.items():  # in the order of their times
                if due_s > now_s or len(found) >= most:
                    break
                found.append(one)
            return found

    def gone(self, ids: Iterable[BlockId]) -> None:
        """Note what was deleted."""
        with self._lock:
            for one in ids:
                self._due.pop(one, None)

    def give_up(self, *, most: int) -> None:
        """Keep only the latest `most`. Each of the others stays an inner block until its partition is compacted next."""
        with self._lock:
            for one in list(islice(self._due, max(len(self._due) - most, 0))):
                del self._due[one]

    def next_due_s(self) -> float | None:
        """Return when the next block may be deleted; None without any."""
        with self._lock:
            return next(iter(self._due.values()), None)


class Compacted(NamedTuple):
    """What one pass over a partition did."""

    sources: int
    """Blocks that merged ones stand for now."""
    merged: int
    """Merged blocks that were written."""
    inner: int
    """Inner blocks found, to be deleted."""
    damaged: int = 0
    """Blocks that cannot be read; they were left alone."""


class Compactor:
    """Never deletes a block before `GRACE_S` have passed since an outer one of its run was seen acknowledged, and was readable.

    Thread: one at a time.
    """

    def __init__(
        self,
        sink: Sink,
        surroundings: Surroundings,
        bounds: BlockBounds = DEFAULT_BOUNDS,
    ) -> None:
        self.deletions = Deletions()
        self._sink = sink
        self._surroundings = surroundings
        self._bounds = bounds

    def compact(self, place: BlockPlace, *, without: Collection[str] = (), first_offset: int | None = None) -> Compacted:
        """Merge what can be merged of all runs of a partition but `without`, and note its inner blocks for deletion.

        `first_offset` leaves out blocks that end before it. Raises SinkBusy, SinkBroken; it may be called again then.
        """
        topic, epoch, partition = place
        only = BlockFilter(topics=(topic,), epoch=epoch, partition=partition, first_offset=first_offset)
        heads = self._sink.find_blocks(only, strong=True).heads
        rules = merge_rules(self._sink.date_ms(), self._sink.retention_s, self._bounds)
        sources = merged = inner = damaged = 0
        for run in _by_run(heads, without).values():
            outer_of = _outer_blocks([one.id for one in run])
            fate = {outer: self._is_readable(outer) for outer in set(outer_of.values())}
            may_go = [one for one, outer in outer_of.items() if fate[outer]]
            self.deletions.add(may_go, self._surroundings.clock())
            inner += len(may_go)
            damaged += sum(is_readable is None for is_readable in fate.values())
            for plan in self._plans([one for one in run if one.id not in outer_of and fate.get(one.id, True)], rules):
                done = self._merge(plan)
                if done is None:
                    damaged += 1
                elif done:
                    merged += 1
                    sources += len(plan)
                    self.deletions.add([one.id for one in plan], self._surroundings.clock())
        return Compacted(sources, merged, inner, damaged)

    def _is_readable(self, outer: BlockId) -> bool | None:
        """Whether a block can stand for its inner ones; None: it is damaged, and their lines are in them alone."""
        columns = self._sink.read_columns([outer], ["places"], strong=True)
        if outer not in columns:
            return False  # expired, or deleted: then so are they, or they are inner ones no more
        try:
            decode_places(columns[outer].places)
        except BlockDamaged:
            return None
        return True

    def write_merged(self, blocks: Sequence[Block]) -> None:
        """Write merged blocks. Whoever else believes to own the partition may have merged the same, so they count as sent before."""
        self._surroundings.fail_point("before_merged")
        self._sink.write_blocks(blocks, again=True)
        self._surroundings.fail_point("after_merged")

    def delete_due(self) -> int:
        """Delete what may be deleted; returns how many. Raises SinkBusy, SinkBroken; then what is left is tried at the next call."""
        deleted = 0
        while ids := self.deletions.due(self._surroundings.clock()):
            self._surroundings.fail_point("before_inner_delete")
            self._sink.delete_blocks(ids)
            self._surroundings.fail_point("after_inner_delete")
            self.deletions.gone(ids)
            deleted += len(ids)
        return deleted

    def _plans(self, sources: Sequence[MergeSource], rules: MergeRules) -> list[list[MergeSource]]:
        allowed = [one for one in sources if rules.allow(one)]
        return [plan for stretch in stretches_of(allowed) for plan in plan_stretch(stretch, rules, is_quiet=True)]

    def _merge(self, plan: Sequence[MergeSource]) -> bool | None:
        """Write the block that stands for a plan; False if there is none, None if a source cannot be read."""
        block = self._merged(plan)
        if not isinstance(block, Block):
            return block
        try:
            self.write_merged([block])
        except SinkRejected:
            return False  # the sources stay as they are
        return True

    def _merged(self, plan: Sequence[MergeSource]) -> Block | bool | None:
        ids = [one.id for one in plan]
        columns = self._sink.read_columns(ids, ("places", "texts", "fields"), strong=True)
        if len(columns) < len(ids):
            return False  # expired, or deleted by another worker that merged them first
        try:
            parts = [decode_lines(columns[one]) for one in ids]
            masks = masks_of(columns[ids[0]].places)
        except BlockDamaged:
            return None
        merged = merge_lines(plan, parts, masks, self._bounds)
        return False if merged is None else merged[0]


def _by_run(heads: Heads, without: Collection[str]) -> dict[str, list[MergeSource]]:
    pieces = [int(heads.pieces[start:end].sum()) for start, end in zip(heads.start[:-1].tolist(), heads.start[1:].tolist(), strict=True)]
    runs: dict[str, list[MergeSource]] = defaultdict(list)
    for one, size, written_ms in zip(heads.ids, pieces, heads.written_ms.tolist(), strict=True):
        if one.run not in without:
            runs[one.run].append(MergeSource(one, size, written_ms))
    return runs


def _outer_blocks(ids: Sequence[BlockId]) -> dict[BlockId, BlockId]:
    """Return the blocks of one run that are inside another one, each with the widest such one."""
    outer_of: dict[BlockId, BlockId] = {}
    widest: BlockId | None = None
    for one in sorted(ids, key=lambda one: (one.first, -one.last)):
        if widest is not None and one.is_inside(widest):
            outer_of[one] = widest
        elif widest is None or one.last > widest.last:
            widest = one
    return outer_of
