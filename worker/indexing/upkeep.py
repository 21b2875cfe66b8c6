"""What a store thread does between its steps: it merges small blocks, deletes inner and expired ones, and looks whether templates remain.

None of it is urgent: nothing is done while the sink is busy, one write that fails ends the turn, and the next one goes on where it
stopped. What is not done before the process ends is found and done by the partition's next owner (`worker.indexing.compaction`).
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sinks.block import Block, BlockId, Lines
from sinks.sink import Sink, SinkBusy, SinkRejected
from worker.indexing.block_writer import PatientWrites
from worker.indexing.compaction import Compactor
from worker.indexing.flights import Flights
from worker.indexing.merging import TailBlock, merge_lines, merge_rules
from worker.indexing.runs import Run, Runs

EVERY_S = 1.0
_BUSY_S = 5.0
EARLIER_RUNS_S = 120.0
"""From the beginning of a run until the runs before it are merged."""
LOOK_BACK_RECORDS = 1_000_000
"""Blocks that end so many offsets below the first record of this assignment were merged by those who owned the partition before."""
TAIL_BYTES = 64 * 1024 * 1024
"""Of all small blocks that are kept for merging."""
_MERGES_AT_ONCE = 64
_MERGE_BYTES = 4 * 1024 * 1024
_MINUTE_S = 60.0
_KNOWN_LOOKED_UP = 8


class _Merge(NamedTuple):
    run: Run
    block: Block
    lines: Lines
    sources: list[BlockId]


class Upkeep:
    """A merged block, once sent, is sent again until it is answered, and only then are its sources forgotten.

    Thread: any of the store threads; one at a time does something.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        flights: Flights,
        runs: Runs,
        writes: PatientWrites,
        masks_of: Callable[[str], str],
        wall_ms: Callable[[], float],
        say: Callable[[str], None],
        fail_point: Callable[[str], None],
    ) -> None:
        """`masks_of`: version of the masks that the templates of a topic's lines are made with."""
        self.compactor = Compactor(sink, clock=writes.clock, wall_ms=wall_ms, bounds=runs.bounds, fail_point=fail_point)
        self._sink = sink
        self._flights = flights
        self._runs = runs
        self._writes = writes
        self._masks_of = masks_of
        self._tally = writes.tally
        self._wall_ms = wall_ms
        self._say = say
        self._merges: deque[_Merge] = deque()
        """Built, and not acknowledged yet."""
        self._next_s = 0.0
        self._minute_s = writes.clock() + _MINUTE_S
        self._retention_s = sink.retention_s
        self._lock = threading.Lock()

    def turn(self) -> None:
        """Do what is due, if no other thread does. Raises SinkBroken."""
        now_s = self._writes.clock()
        if now_s < self._next_s or self._writes.retry.is_busy or not self._lock.acquire(blocking=False):
            return
        try:
            self._next_s = now_s + EVERY_S
            self._merge(now_s)
            self._delete()
            self._compact_earlier(now_s)
            self._check_stored(now_s)
        except SinkBusy:
            self._tally.failed("busy")
            self._next_s = now_s + _BUSY_S
        finally:
            self._tally.add_upkeep(seconds=self._writes.clock() - now_s)
            self._lock.release()

    def _merge(self, now_s: float) -> None:
        self._merges = deque(merge for merge in self._merges if merge.run.assignment.alive)
        runs = [run for run in self._runs.all() if run.assignment.alive]
        rules = merge_rules(self._wall_ms(), self._sink.retention_s, self._runs.bounds)
        merging = {merge.run for merge in self._merges}
        for run in runs:
            if len(self._merges) >= _MERGES_AT_ONCE:
                break
            if run.tail.is_due(now_s) and run not in merging:
                self._merges += [merge for blocks in run.plan_merges(rules, now_s) if (merge := self._merged(run, blocks)) is not None]
        while self._merges:
            self._write(self._next_call())
        self._bound_tails(runs)

    def _merged(self, run: Run, blocks: Sequence[TailBlock]) -> _Merge | None:
        """Build the merged block of neighbours, or of fewer of them if all do not fit into one."""
        while len(blocks) > 1:
            parts = [one.lines for one in blocks]
            merged = merge_lines([one.source for one in blocks], parts, self._masks_of(run.place.topic), self._runs.bounds)
            if merged is not None:
                return _Merge(run, *merged, [one.source.id for one in blocks])
            run.forget_merge([blocks[0].source.id])
            blocks = blocks[1 : 1 + len(blocks) // 2]
        return None

    def _next_call(self) -> list[_Merge]:
        chosen: list[_Merge] = []
        size_bytes = 0
        for merge in self._merges:
            size_bytes += merge.block.size_bytes
            if chosen and size_bytes > _MERGE_BYTES:
                break
            chosen.append(merge)
        return chosen

    def _write(self, merges: Sequence[_Merge]) -> None:
        """Write merged blocks. Raises SinkBusy; then they stay in line, as they are."""
        started_s = self._writes.clock()
        try:
            self.compactor.write_merged([merge.block for merge in merges])
        except SinkRejected:
            self._tally.failed("rejected")
            if len(merges) > 1:
                for merge in merges:
                    self._write([merge])
            else:  # its sources stay as they are
                merges[0].run.forget_merge(merges[0].sources)
                self._merges.remove(merges[0])
            return
        now_s = self._writes.clock()
        self._tally.wrote("merged", now_s - started_s)
        for merge in merges:
            self._merges.remove(merge)
            merge.run.replace_merged(merge.sources, merge.block, merge.lines)
            self.compactor.deletions.add(merge.sources, now_s)
        self._tally.add_upkeep(merged=len(merges), sources=sum(len(merge.sources) for merge in merges))

    def _delete(self) -> None:
        started_s = self._writes.clock()
        if deleted := self.compactor.delete_due():
            self._tally.wrote("deleted", self._writes.clock() - started_s)
            self._tally.add_upkeep(deleted=deleted)

    def _bound_tails(self, runs: Sequence[Run]) -> None:
        held_bytes = sum(run.tail.size_bytes for run in runs)
        if held_bytes <= TAIL_BYTES:
            return
        for run in sorted(runs, key=lambda run: -run.tail.size_bytes):
            held_bytes -= run.tail.size_bytes
            run.forget_tail()
            if held_bytes <= TAIL_BYTES:
                return

    def _compact_earlier(self, now_s: float) -> None:
        """Merge the runs before one of ours, of one partition a turn."""
        for run in self._runs.all():
            if run.is_compacted or not run.assignment.alive or now_s < run.began_s + EARLIER_RUNS_S:
                continue
            first_offset = max((run.assignment.first_offset or 0) - LOOK_BACK_RECORDS, 0)
            done = self.compactor.compact(run.place, without=(run.id,), first_offset=first_offset)
            run.is_compacted = True
            self._tally.add_upkeep(merged=done.merged, sources=done.sources)
            return

    def _check_stored(self, now_s: float) -> None:
        """Each minute, drop what is too old, and look up a handful of known templates.

        If one of those is gone, or the retention has changed, none is known any more.
        """
        if self._sink.retention_s != self._retention_s:
            self._retention_s = self._sink.retention_s
            self._flights.forget_all()
        if now_s < self._minute_s:
            return
        self._minute_s = now_s + _MINUTE_S
        self._sink.drop_expired(int(self._wall_ms()))
        known = set(self._flights.sample_known(_KNOWN_LOOKED_UP))
        gone = known - self._sink.stored_templates(known) if known else set()
        if gone:
            self._flights.forget_all()
            self._say(f"template {min(gone)} is gone from the index, so all templates are written again when their next line comes")
