"""What a store thread does between its steps: it merges small blocks, deletes inner and expired ones, and looks whether templates remain.

None of it is urgent: nothing is done while the sink is busy. A chore that the sink refuses ends the turn and rests; the next turn goes on
with the others, so one that fails for ever (a role that may not upsert, or not delete) holds up no other. What waits for it is bounded:
small blocks in memory by `TAIL_BYTES`, blocks to be deleted by `DELETIONS_KEPT`. What is given up, or not done before the process ends,
is found and done by the partition's next owner (`worker.indexing.compaction`).
"""

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sinks.block import Block, BlockId, Lines
from sinks.sink import Sink, SinkBusy, SinkRejected
from worker.indexing.block_writer import PatientWrites
from worker.indexing.compaction import Compactor
from worker.indexing.flights import Flights
from worker.indexing.merging import TailBlock, merge_lines, merge_rules
from worker.indexing.runs import Run, Runs
from worker.runtime.retry import REMIND_S
from worker.runtime.surroundings import Surroundings

EVERY_S = 1.0
BUSY_S = 5.0
"""How long a chore rests after the sink refused it."""
EARLIER_RUNS_S = 120.0
"""From the beginning of a run until the runs before it are merged."""
LOOK_BACK_RECORDS = 1_000_000
"""Blocks that end at least this many offsets below the assignment's first record were merged by the partition's previous owners."""
TAIL_BYTES = 64 * 1024 * 1024
"""Of all small blocks that are kept for merging."""
DELETIONS_KEPT = 100_000
"""While the sink refuses to delete, earlier ones are given up: each leaves an inner block, which readers ignore."""
_MERGES_AT_ONCE = 64
_MERGE_BYTES = 4 * 1024 * 1024
_MINUTE_S = 60.0
_HOUR_S = 3_600.0
_KNOWN_LOOKED_UP = 8


class _Merge(NamedTuple):
    run: Run
    block: Block
    lines: Lines
    sources: list[BlockId]


@dataclass(slots=True, kw_only=True)
class _Chore:
    """Something that upkeep does, with its own next time. A failure is logged once, and again only after it has worked in between.

    Thread: one at a time; the upkeep's lock is held.
    """

    do: Callable[[float], bool]
    """Do what is due at this time; returns whether it works again if it failed before. Raises SinkBusy, SinkBroken."""
    failure: str
    """What cannot be done, for the log."""
    follows: str
    """What comes of that."""
    every_s: float = 0.0
    due_s: float = 0.0
    _is_logged: bool = False
    _logged_s: float = -math.inf

    def note_done(self, now_s: float, *, works: bool) -> None:
        """Note that the sink refused nothing."""
        self.due_s = now_s + self.every_s
        self._is_logged = self._is_logged and not works

    def note_failed(self, reason: str, now_s: float, say: Callable[[str], None]) -> None:
        """Note a refusal. If it works and fails in turns (a rate limit), one line a minute says so."""
        self.due_s = now_s + BUSY_S
        if not self._is_logged and now_s - self._logged_s >= REMIND_S:
            self._is_logged, self._logged_s = True, now_s
            say(f"{self.failure} ({reason}); {self.follows}; trying again")


class Upkeep:
    """A merged block, once sent, is sent again until it is answered, and only then are its sources forgotten.

    Thread: any of the store threads; one at a time does something, but for bounding the memory.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        flights: Flights,
        runs: Runs,
        writes: PatientWrites,
        masks_of: Callable[[str], str],
        surroundings: Surroundings,
    ) -> None:
        """`masks_of`: version of the masks that the templates of a topic's lines are made with."""
        self.compactor = Compactor(sink, surroundings, runs.bounds)
        self._sink = sink
        self._flights = flights
        self._runs = runs
        self._writes = writes
        self._masks_of = masks_of
        self._tally = writes.tally
        self._surroundings = surroundings
        self._merges: deque[_Merge] = deque()
        """Built, and not acknowledged yet."""
        self._passed_over: set[Run] = set()
        """The runs before these could not be merged; they are tried again after all others."""
        self._next_s = 0.0
        self._bound_s = 0.0
        """When the memory is looked at next."""
        self._retention_s = sink.retention_s
        self._dropped = 0
        """Blocks, since it was last said."""
        self._dropped_said_s = -math.inf
        self._chores = self._all_chores(surroundings.clock() + _MINUTE_S)
        self._lock = threading.Lock()

    def _all_chores(self, minute_s: float) -> list[_Chore]:
        return [
            _Chore(do=self._merge, failure="small blocks cannot be merged", follows="they stay as they are, and searches read more blocks"),
            _Chore(
                do=self._delete,
                failure="inner blocks cannot be deleted",
                follows=f"they take room, readers ignore them, and beyond {DELETIONS_KEPT:,} they are left to their partition's next owner",
            ),
            _Chore(
                do=self._compact_earlier,
                failure="blocks of earlier runs cannot be merged",
                follows="they stay as they are, and other partitions come first",
            ),
            _Chore(
                do=self._drop_expired,
                failure="blocks older than the retention cannot be dropped",
                follows="they stay",
                every_s=_MINUTE_S,
                due_s=minute_s,
            ),
            _Chore(
                do=self._check_templates,
                failure="known templates cannot be looked up",
                follows="one that is gone from the index is not noticed",
                every_s=_MINUTE_S,
                due_s=minute_s,
            ),
        ]

    def turn(self) -> None:
        """Bound the memory, and do what is due, if no other thread does. Raises SinkBroken."""
        now_s = self._surroundings.clock()
        if now_s >= self._bound_s:  # whatever follows, and while another thread waits for the sink
            self._bound_s = now_s + EVERY_S
            self._bound_tails()
        if now_s < self._next_s or self._writes.retry.is_busy or not self._lock.acquire(blocking=False):
            return
        try:
            self._next_s = now_s + EVERY_S
            self._check_retention()
            for chore in sorted(self._chores, key=lambda chore: chore.due_s):  # so one that fails goes behind the others
                if now_s < chore.due_s or not self._do(chore):
                    break
        finally:
            self._tally.add_upkeep(seconds=self._surroundings.clock() - now_s)
            self._lock.release()

    def _do(self, chore: _Chore) -> bool:
        """Do a chore; False if the sink is busy or refuses it. It rests from the refusal on: a time-out may take longer than the rest."""
        if self._writes.retry.is_busy:
            return False
        now_s = self._surroundings.clock()
        try:
            works = chore.do(now_s)
        except SinkBusy as error:
            failed_s = self._surroundings.clock()
            self._tally.failed("busy")
            self._next_s = failed_s + EVERY_S
            chore.note_failed(str(error), failed_s, self._surroundings.say)
            return False
        chore.note_done(now_s, works=works)
        return True

    def _merge(self, now_s: float) -> bool:
        self._merges = deque(merge for merge in self._merges if merge.run.assignment.alive)
        runs = [run for run in self._runs.all() if run.assignment.alive]
        rules = merge_rules(self._sink.date_ms(), self._sink.retention_s, self._runs.bounds)
        merging = {merge.run for merge in self._merges}
        for run in runs:
            if len(self._merges) >= _MERGES_AT_ONCE:
                break
            if run.tail.is_due(now_s) and run not in merging:
                self._merges += [merge for blocks in run.plan_merges(rules, now_s) if (merge := self._merged(run, blocks)) is not None]
        has_merges = bool(self._merges)
        while self._merges:
            self._write(self._next_call())
        return has_merges

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
        """Write merged blocks, the first in line. Raises SinkBusy; then they go to the end of the line, as they are."""
        started_s = self._surroundings.clock()
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
        except SinkBusy:
            self._merges.rotate(-len(merges))
            raise
        now_s = self._surroundings.clock()
        self._tally.wrote("merged", now_s - started_s)
        for merge in merges:
            self._merges.remove(merge)
            merge.run.replace_merged(merge.sources, merge.block, merge.lines)
            self.compactor.deletions.add(merge.sources, now_s)
        self._tally.add_upkeep(merged=len(merges), sources=sum(len(merge.sources) for merge in merges))

    def _delete(self, now_s: float) -> bool:
        try:
            deleted = self.compactor.delete_due()
        except SinkBusy:
            self.compactor.deletions.give_up(most=DELETIONS_KEPT)
            raise
        if deleted:
            self._tally.wrote("deleted", self._surroundings.clock() - now_s)
            self._tally.add_upkeep(deleted=deleted)
        return deleted > 0

    def _bound_tails(self) -> None:
        runs = self._runs.all()
        held_bytes = sum(run.tail.size_bytes for run in runs)
        if held_bytes <= TAIL_BYTES:
            return
        for run in sorted(runs, key=lambda run: -run.tail.size_bytes):
            held_bytes -= run.tail.size_bytes
            run.forget_tail()
            if held_bytes <= TAIL_BYTES:
                return

    def _compact_earlier(self, now_s: float) -> bool:
        """Merge the runs before one of ours, of one partition a turn."""
        begun_s = now_s - EARLIER_RUNS_S
        waiting = [run for run in self._runs.all() if not run.is_compacted and run.assignment.alive and run.began_s <= begun_s]
        if self._passed_over.issuperset(waiting):
            self._passed_over.clear()
        run = next((run for run in waiting if run not in self._passed_over), None)
        if run is None:
            return False
        first_offset = max((run.assignment.first_offset or 0) - LOOK_BACK_RECORDS, 0)
        try:
            done = self.compactor.compact(run.place, without=(run.id,), first_offset=first_offset)
        except SinkBusy:
            self._passed_over.add(run)
            raise
        run.is_compacted = True
        self._tally.add_upkeep(merged=done.merged, sources=done.sources)
        return not self._passed_over

    def _check_retention(self) -> None:
        """If the retention has changed, no template is known any more."""
        if self._sink.retention_s != self._retention_s:
            self._retention_s = self._sink.retention_s
            self._flights.forget_all()

    def _drop_expired(self, now_s: float) -> bool:
        self._dropped += self._sink.drop_expired()
        if self._dropped and now_s >= self._dropped_said_s + _HOUR_S:
            self._surroundings.say(f"dropped blocks that are older than index.retention_days: {self._dropped:,}")
            self._dropped, self._dropped_said_s = 0, now_s
        return True

    def _check_templates(self, _now_s: float) -> bool:
        """Look up a handful of known templates. If one of them is gone, none is known any more."""
        known = set(self._flights.sample_known(_KNOWN_LOOKED_UP))
        if not known:
            return False
        gone = known - self._sink.templates.stored(known)
        if gone:
            self._flights.forget_all()
            self._surroundings.say(
                f"template {min(gone)} is gone from the index, so all templates are written again when their next line comes"
            )
        return True
