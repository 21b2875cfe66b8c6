"""Runs: what one assignment of a partition writes, under numbers that are never used twice.

Theory of operation
1. `Resume` begins a run for each assignment, before any line of it reaches the store stage. Its id is above every run it has read.
2. Lines wait in the run's builder. Whoever takes them out gives their blocks the next numbers, so a line enters exactly one number.
3. A block that is refused may still be stored, if an earlier answer was lost. So its lines go elsewhere only under a new run id (`renew`);
   blocks that are under way keep their ids.
4. When an assignment ends, its run is dropped: lines that have no number are not written, and their receipts are released.
5. A write counts as under way from before its lines leave the builder until it is answered. So once `wait_until_answered` returns for an
   assignment that has ended, nothing of it can still be sent.

Not taken: a run for each process (its numbers would begin again at 0 and overwrite), numbers by offset (a frozen worker would overwrite).
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import SystemRandom
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from consumers.ledger import Receipt
from sinks.block import Block, BlockId, BlockPlace, Lines, new_run
from sinks.build import DEFAULT_BOUNDS, BlockBounds, Builder, Built
from worker.indexing.merging import MergeRules, Tail, TailBlock

_RUN_BITS = 32
_RANDOM = SystemRandom()


class Assignment(Protocol):
    """One assignment of a partition to this process; `consumers.ledger` has one for each."""

    @property
    def alive(self) -> bool:
        """Whether the partition is still ours."""

    @property
    def first_offset(self) -> int | None:
        """Of the first record; None before it came."""


class Sealed(NamedTuple):
    """A block with its number, on its way to the sink, and whom it settles."""

    run: "Run"
    block: Block
    lines: Lines
    """Its lines are the rows `rows`, in the block's order."""
    rows: NDArray[np.int64]
    receipts: list[Receipt]
    """One for each of them."""


class Run:
    """The blocks of one assignment: lines that wait, the next number, and what may be merged.

    Thread: any; its lock is held while lines go in and out, never while anything is encoded or sent.
    """

    def __init__(self, assignment: Assignment, place: BlockPlace, run: str, builder: Builder, *, began_s: float) -> None:
        self.assignment = assignment
        self.place = place
        self.id = run
        self.began_s = began_s
        self._tail = Tail()
        self.is_compacted = False
        """Whether the runs before it were merged; set by the upkeep."""
        self._builder = builder
        self._next_number = 0
        self._tag = 0
        self._receipts: dict[int, Receipt] = {}
        """By the tag of a line that waits in the builder."""
        self._is_dropped = False
        self._lock = threading.Lock()

    @property
    def waiting_lines(self) -> int:
        """How many lines have no number yet."""
        return len(self._receipts)

    def add(self, lines: Lines, receipts: Sequence[Receipt], now_s: float) -> bool:
        """Let lines wait, each with its receipt; False if the run was dropped meanwhile, then nothing was taken."""
        with self._lock:
            if self._is_dropped:
                return False
            tags = np.arange(self._tag, self._tag + len(receipts), dtype=np.int64)
            self._tag += len(receipts)
            self._receipts.update(zip(tags.tolist(), receipts, strict=True))
            self._builder.add(lines, tags, now_s)
            return True

    def take(self, now_s: float, *, flush_s: float, everything: bool) -> list[tuple[Lines, list[Receipt]]]:
        """Take the groups of lines that are full or have waited for `flush_s`, or all of them, each line with its receipt."""
        with self._lock:
            groups = self._builder.take(now_s, flush_s=flush_s, everything=everything)
            return [(group.lines, [self._receipts.pop(tag) for tag in group.tags.tolist()]) for group in groups]

    def seal(self, lines: Lines, built: Sequence[Built], receipts: Sequence[Receipt]) -> list[Sealed]:
        """Give blocks made of `lines` the next numbers; row i of `lines` settles receipt i."""
        with self._lock:
            run, first = self.id, self._next_number
            self._next_number += len(built)
        return [
            Sealed(
                self,
                one.block._replace(id=BlockId(self.place, run, number, number)),
                lines,
                one.rows,
                [receipts[row] for row in one.rows.tolist()],
            )
            for number, one in enumerate(built, start=first)
        ]

    def renew(self, new_id: Callable[[str], str]) -> None:
        """Go on under another run id; `new_id` makes one above the given one. What was merged so far is left as it is."""
        with self._lock:
            self.id = new_id(self.id)
            self._next_number = 0
            self._tail = Tail()

    def acknowledge(self, block: Block, lines: Lines, now_s: float) -> None:
        """Note that a small block is stored, with these lines; it may be merged from now on."""
        with self._lock:
            if block.id.run == self.id and not self._is_dropped:
                self._tail.add(block, lines, now_s)

    def plan_merges(self, rules: MergeRules, now_s: float) -> list[list[TailBlock]]:
        """Return which of the acknowledged blocks to merge now."""
        with self._lock:
            return self._tail.plan(rules, now_s) if self._tail.is_due(now_s) else []

    def replace_merged(self, sources: Sequence[BlockId], merged: Block, lines: Lines) -> None:
        """Note that a merged block was acknowledged, which stands for these."""
        with self._lock:
            self._tail.replace(sources, merged, lines)

    def forget_merge(self, sources: Sequence[BlockId]) -> None:
        """Leave blocks as they are."""
        with self._lock:
            self._tail.forget(sources)

    def forget_tail(self) -> None:
        """Free the memory of all blocks that might be merged: they are left to whoever owns the partition next."""
        with self._lock:
            self._tail = Tail()

    @property
    def tail_bytes(self) -> int:
        """What the blocks take that might still be merged."""
        return self._tail.size_bytes

    def drop(self) -> list[Receipt]:
        """Give up the lines that wait, because the assignment has ended; return their receipts."""
        with self._lock:
            self._is_dropped = True
            receipts, self._receipts = list(self._receipts.values()), {}
            self._builder.take(0.0, flush_s=0.0, everything=True)
            self._tail = Tail()
            return receipts


class Runs:
    """The runs of all assignments that are alive, and how many writes to each partition are under way.

    Thread: any.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        wall_ms: Callable[[], float],
        bounds: BlockBounds = DEFAULT_BOUNDS,
        draw_bits: Callable[[int], int] = _RANDOM.getrandbits,
    ) -> None:
        """`draw_bits(n)` returns a random number of n bits."""
        self.bounds = bounds
        self._clock = clock
        self._wall_ms = wall_ms
        self._draw_bits = draw_bits
        self._runs: dict[Assignment, Run] = {}
        self._last_ids: dict[BlockPlace, str] = {}
        self._writing: Counter[BlockPlace] = Counter()
        self._changed = threading.Condition()

    def begin(self, assignment: Assignment, place: BlockPlace, above: str) -> Run:
        """Begin the run of an assignment, above the greatest run that is known of the partition; a second call begins another run id."""
        with self._changed:
            run = self._runs.get(assignment)
            if run is None:
                new_id = self._new_id(place, above)
                run = self._runs[assignment] = Run(assignment, place, new_id, Builder(self.bounds), began_s=self._clock())
                return run
        run.renew(lambda old: self._new_id(place, max(old, above)))
        return run

    def renew(self, run: Run) -> None:
        """Let a run go on under another id."""
        run.renew(lambda old: self._new_id(run.place, old))

    def of(self, assignment: Assignment) -> Run | None:
        """Return the run of an assignment; None if it has ended. Raises RuntimeError if it is alive and was never begun."""
        run = self._runs.get(assignment)
        if run is None and assignment.alive:
            raise RuntimeError("a line came to the store stage before its run was begun")
        return run

    def all(self) -> list[Run]:
        """Return all runs."""
        with self._changed:
            return list(self._runs.values())

    def drop_ended(self) -> list[Receipt]:
        """Drop the runs whose assignments have ended; return the receipts of their lines that were not written."""
        with self._changed:
            ended = [assignment for assignment in self._runs if not assignment.alive]
            runs = [self._runs.pop(assignment) for assignment in ended]
        return [receipt for run in runs for receipt in run.drop()]

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
        new_id = new_run(int(self._wall_ms()), self._draw_bits(_RUN_BITS), max(above, self._last_ids.get(place, "")))
        self._last_ids[place] = new_id
        return new_id
