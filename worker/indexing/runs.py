"""Runs: what one assignment of a partition writes, under numbers that are never used twice.

Theory of operation
1. `Resume` begins a run for each assignment, before any line of it reaches the store stage. Its id is above every run it has read.
2. Lines wait in the run, first as they came, then in its builder. What waits is a copy if its batch is much larger, so that a few lines
   do not hold the memory of thousands. Whoever takes lines out gives their blocks the next numbers, so a line enters exactly one number.
3. A block that is refused may still be stored, if an earlier answer was lost. So its lines go elsewhere only under a new run id (`renew`);
   blocks that are under way keep their ids.
4. When an assignment ends, its run is dropped: lines that have no number are not written, and their records are released.
5. A write counts as under way from before its lines leave the builder until it is answered. So once `wait_until_answered` returns for an
   assignment that has ended, nothing of it can still be sent.

Not taken: a run for each process (its numbers would begin again at 0 and overwrite), numbers by offset (a frozen worker would overwrite).
"""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from random import SystemRandom
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger
from sinks.arrow import PackedColumn, concat, has_values
from sinks.block import Block, BlockId, BlockPlace, CodedColumn, Lines, new_run
from sinks.build import DEFAULT_BOUNDS, BlockBounds, Builder, Built, LineGroup
from sinks.lines import join_lines
from worker.indexing.merging import MergeRules, RunTail, TailBlock
from worker.runtime.surroundings import Surroundings

_MOST_HELD = 2
"""Lines whose batch takes more than this many times their memory are copied before they wait."""
_RUN_BITS = 32
_RANDOM = SystemRandom()


class Sealed(NamedTuple):
    """A block with its number, on its way to the sink, and the records that it settles."""

    run: "Run"
    block: Block
    lines: Lines
    """Its lines are the rows `rows`, in the block's order."""
    rows: NDArray[np.int64]
    arrival: NDArray[np.int64]
    """int64[n]: the arrival number of the record of each of them."""


class Run:
    """The blocks of one assignment: lines that wait, the next number, and what may be merged.

    Thread: any; its lock is held while lines go in and out, never while anything is encoded or sent.
    """

    def __init__(self, assignment: PartitionLedger, place: BlockPlace, run: str, bounds: BlockBounds, *, began_s: float) -> None:
        self.assignment = assignment
        self.place = place
        self.id = run
        self.began_s = began_s
        self.waiting_lines = 0
        """How many lines have no number yet."""
        self.tail = RunTail()
        """Read without the lock: `size_bytes` and `is_due`."""
        self.is_compacted = False
        """Whether the runs before it were merged; set by the upkeep."""
        self._bounds = bounds
        self._arrived: list[LineGroup] = []
        """Lines that are not in the builder yet: to add ten lines to it takes as long as to add a thousand."""
        self._builder = Builder(bounds)
        self._waiting_bytes = 0
        self._since_s = 0.0
        """When the oldest line that waits was added."""
        self._next_number = 0
        self._is_dropped = False
        self._lock = threading.Lock()

    def add(self, lines: Lines, arrival: NDArray[np.int64], now_s: float) -> bool:
        """Let lines wait, each with its record's arrival number; False if the run was dropped meanwhile, then nothing was taken."""
        size_bytes = lines.text.nbytes + (lines.fields.nbytes if has_values(lines.fields) else 0)
        if lines.text.get_total_buffer_size() + lines.fields.get_total_buffer_size() > _MOST_HELD * size_bytes:
            lines, arrival = Lines._make(map(_copied, lines)), arrival.copy()
        with self._lock:
            if self._is_dropped:
                return False
            if not self.waiting_lines:
                self._since_s = now_s
            self.waiting_lines += lines.size
            self._arrived.append(LineGroup(lines, arrival, now_s))
            self._waiting_bytes += size_bytes
            return True

    def is_due(self, now_s: float, flush_s: float) -> bool:
        """Whether lines wait that may be a full block, or have waited for `flush_s`."""
        is_full = self.waiting_lines >= self._bounds.lines or self._waiting_bytes > self._bounds.raw_bytes
        return self.waiting_lines > 0 and (is_full or now_s - self._since_s >= flush_s)

    def take(self, now_s: float, *, flush_s: float, everything: bool) -> list[LineGroup]:
        """Take the groups of lines that are full or have waited for `flush_s`, or all of them; their tags are arrival numbers."""
        with self._lock:
            self._pour()
            groups = self._builder.take(now_s, flush_s=flush_s, everything=everything)
            self._waiting_bytes = self._builder.bytes
            oldest_s = self._builder.oldest_s
            self._since_s = now_s if oldest_s is None else oldest_s
            self.waiting_lines = self._builder.lines
            return groups

    def seal(self, lines: Lines, built: Sequence[Built], arrival: NDArray[np.int64]) -> list[Sealed]:
        """Give blocks made of `lines` the next numbers; `arrival` has an arrival number for each line."""
        with self._lock:
            run, first = self.id, self._next_number
            self._next_number += len(built)
        return [
            Sealed(self, one.block._replace(id=BlockId(self.place, run, number, number)), lines, one.rows, arrival[one.rows])
            for number, one in enumerate(built, start=first)
        ]

    def renew(self, new_id: Callable[[str], str]) -> None:
        """Go on under another run id; `new_id` makes one above the given one. What was merged so far is left as it is."""
        with self._lock:
            self.id = new_id(self.id)
            self._next_number = 0
            self.tail = RunTail()

    def acknowledge(self, block: Block, lines: Lines, now_s: float) -> None:
        """Note that a small block is stored, with these lines; it may be merged from now on."""
        with self._lock:
            if block.id.run == self.id and not self._is_dropped:
                self.tail.add(block, lines, now_s)

    def plan_merges(self, rules: MergeRules, now_s: float) -> list[list[TailBlock]]:
        """Return which of the acknowledged blocks to merge now."""
        with self._lock:
            return self.tail.plan(rules, now_s)

    def replace_merged(self, sources: Sequence[BlockId], merged: Block, lines: Lines) -> None:
        """Note that a merged block was acknowledged, which stands for these."""
        with self._lock:
            self.tail.replace(sources, merged, lines)

    def forget_merge(self, sources: Sequence[BlockId]) -> None:
        """Leave blocks as they are."""
        with self._lock:
            self.tail.forget(sources)

    def forget_tail(self) -> None:
        """Free the memory of all blocks that might be merged: they are left to whoever owns the partition next."""
        with self._lock:
            self.tail = RunTail()

    def end(self) -> NDArray[np.int64]:
        """Give up the lines that wait, because the assignment has ended; return the arrival numbers of their records."""
        with self._lock:
            self._is_dropped = True
            self._pour()
            groups = self._builder.take(0.0, flush_s=0.0, everything=True)
            self.waiting_lines = 0
            self.tail = RunTail()
            return np.concatenate([np.empty(0, np.int64), *(group.tags for group in groups)])

    def _pour(self) -> None:
        """Put what has arrived into the builder. The last part keeps its own time, for it is what stays there when a block is full."""
        if early := self._arrived[:-1]:
            tags = np.concatenate([part.tags for part in early])
            self._builder.add(join_lines([part.lines for part in early]), tags, early[0].since_s)
        for last in self._arrived[-1:]:
            self._builder.add(last.lines, last.tags, last.since_s)
        self._arrived = []


class Runs:
    """The runs of all assignments that are alive, and how many writes to each partition are under way.

    Thread: any.
    """

    def __init__(
        self,
        surroundings: Surroundings,
        *,
        bounds: BlockBounds = DEFAULT_BOUNDS,
        draw_bits: Callable[[int], int] = _RANDOM.getrandbits,
    ) -> None:
        """`draw_bits(n)` returns a random number of n bits."""
        self.bounds = bounds
        self._surroundings = surroundings
        self._draw_bits = draw_bits
        self._runs: dict[PartitionLedger, Run] = {}
        self._last_ids: dict[BlockPlace, str] = {}
        self._writing: Counter[BlockPlace] = Counter()
        self._changed = threading.Condition()

    def begin(self, assignment: PartitionLedger, place: BlockPlace, above: str) -> Run:
        """Begin the run of an assignment, above the greatest run that is known of the partition; a second call begins another run id."""
        with self._changed:
            run = self._runs.get(assignment)
            if run is None:
                new_id = self._new_id(place, above)
                run = self._runs[assignment] = Run(assignment, place, new_id, self.bounds, began_s=self._surroundings.clock())
                return run
        run.renew(lambda old: self._new_id(place, max(old, above)))
        return run

    def renew(self, run: Run) -> None:
        """Let a run go on under another id."""
        run.renew(lambda old: self._new_id(run.place, old))

    def of(self, assignment: PartitionLedger) -> Run | None:
        """Return the run of an assignment; None if it has ended. Raises RuntimeError if it is alive and was never begun."""
        run = self._runs.get(assignment)
        if run is None and assignment.alive:
            raise RuntimeError("a line came to the store stage before its run was begun")
        return run

    def all(self) -> list[Run]:
        """Return all runs."""
        with self._changed:
            return list(self._runs.values())

    def assignments(self) -> Collection[PartitionLedger]:
        """Return the assignments that have a run (AssignmentPlace)."""
        with self._changed:
            return list(self._runs)

    def drop(self, gone: Collection[PartitionLedger]) -> None:
        """Drop the runs of these assignments; records of lines that were not written settle, which moves no offset (WaitingPlace)."""
        with self._changed:
            dropped = [(assignment, self._runs.pop(assignment)) for assignment in gone if assignment in self._runs]
        for assignment, run in dropped:
            assignment.settle(run.end())

    def writes_begin(self, place: BlockPlace, writes: int = 1) -> None:
        """Note that writes to a partition are under way."""
        with self._changed:
            self._writing[place] += writes

    def writes_end(self, places: Iterable[BlockPlace]) -> None:
        """Note that writes were answered, one for each of `places`."""
        with self._changed:
            for place in places:
                self._writing[place] -= 1
                if not self._writing[place]:
                    del self._writing[place]
            self._changed.notify_all()

    def writes_answered(self, place: BlockPlace) -> bool:
        """Whether no write of this process to a partition is under way."""
        return place not in self._writing

    def wait_until_answered(self, place: BlockPlace, timeout_s: float) -> bool:
        """Wait until no write of this process to a partition is under way; False when the time is up first."""
        with self._changed:
            return self._changed.wait_for(lambda: self.writes_answered(place), timeout_s)

    def _new_id(self, place: BlockPlace, above: str) -> str:
        """Return a run id above the given one and above all that this process has given the partition."""
        new_id = new_run(int(self._surroundings.wall_ms()), self._draw_bits(_RUN_BITS), max(above, self._last_ids.get(place, "")))
        self._last_ids[place] = new_id
        return new_id


def _copied(column: PackedColumn) -> PackedColumn:
    """Return a column that shares no memory with its batch."""
    if isinstance(column, np.ndarray):
        return column.copy()
    return CodedColumn(column.codes.copy(), column.values) if isinstance(column, CodedColumn) else concat([column])
