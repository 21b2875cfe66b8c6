"""The store step: templates first, then the lines that point to them, by the thousand; only an acknowledged block settles a record.

Theory of operation
1. A template is written at once. When it is acknowledged its flight lands, and the lines that waited for it are written like known ones.
2. Lines wait in the builder of their run until a block is full or the oldest of them has waited for `index.flush_s`. With many active
   partitions they wait longer, so that a worker never writes more than about `_BLOCKS_PER_S` small blocks a second.
3. Lines are not kept waiting where little can join them. When nothing has come for a moment, nothing else is on its way and few runs wait,
   or when the intake waits for room in the ledger, every builder is emptied.
4. Lines of an assignment that has ended are dropped when they are taken and when they wait; to settle them moves no offset.

A row that the sink refuses alone becomes a dead letter; too many of them in a row stop the service.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from consumers.assignment import PartitionLedger
from consumers.ledger import Ledger
from consumers.rejection import Rejection
from consumers.waiting_place import AssignmentPlace, drop_ended
from sinks.block import Lines
from sinks.build import build
from sinks.lines import hollowed, take_lines
from sinks.row import TemplateId, TemplateRow
from sinks.sink import Sink, SinkRejected, TemplateView
from worker.indexing.block_writer import BlockWriter, PatientWrites
from worker.indexing.dead_letter_reasons import refused_by_sink
from worker.indexing.flights import Completed, Flights
from worker.indexing.line_batch import EmbeddedTemplate, LineBatch, StoreItem
from worker.indexing.runs import Run, Runs, Sealed
from worker.indexing.store_tally import StoreTally
from worker.indexing.upkeep import Upkeep
from worker.runtime.lane import Lane
from worker.runtime.limits import FaultLimit
from worker.runtime.stage import Meter
from worker.runtime.surroundings import Surroundings

MOST_FLUSH_S = 5.0
"""A line waits no longer, whatever the number of partitions: a revocation waits for open records, too."""
_BLOCKS_PER_S = 400
_STEP_LINES = 8_000
_TURN_RUNS = 16
"""Most runs whose small blocks are built in one turn of computing (or `_STEP_LINES` lines): some tens of milliseconds."""
_FEW_RUNS = 16
"""Not more are written early: of a producer that sends to many partitions in bursts, each burst would be as many small blocks."""
_WAKE_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRules:
    """How blocks are made, and how much the sink may refuse."""

    masks_of: Callable[[str], str]
    """Returns the version of the masks of a topic."""
    flush_s: float
    """How long a line may wait for its block to fill, where few partitions are active."""
    most_refused: int
    """Lines, or templates, that the sink may refuse in a row, across batches."""


class Store:
    """A line settles only when its block *and* its template are acknowledged; the refusal that reaches the limit makes no dead letter.

    Thread: any of the store threads.
    """

    def __init__(self, *, sink: Sink, flights: Flights, runs: Runs, ledger: Ledger, rules: StoreRules, surroundings: Surroundings) -> None:
        self.tally = StoreTally()
        self.runs = runs
        self.writes = PatientWrites(surroundings, self.tally)
        self.upkeep = Upkeep(sink=sink, flights=flights, runs=runs, writes=self.writes, masks_of=rules.masks_of, surroundings=surroundings)
        self.places: tuple[AssignmentPlace, ...] = (runs,)
        """Where lines wait for their blocks; those that wait for a template leave when its flight ends, and are dropped by `step`."""
        self._sink = sink
        self._flights = flights
        self._ledger = ledger
        self._rules = rules
        self._surroundings = surroundings
        self._taken_s = -math.inf
        """When something was last taken from the lane, by any store thread."""
        self._refused_templates = FaultLimit("templates that the sink refuses", most=rules.most_refused)
        self._blocks = BlockWriter(
            sink=sink,
            runs=runs,
            writes=self.writes,
            masks_of=rules.masks_of,
            refused=FaultLimit("lines that the sink refuses", most=rules.most_refused),
            surroundings=surroundings,
        )

    def body(self, lane: Lane[StoreItem], meter: Meter) -> None:
        """Empty the lane until it is closed and empty, then write what waits. Raises as `step` does."""
        clock = self._surroundings.clock
        wake_s = min(_WAKE_S, max(self._rules.flush_s / 5, 0.005))
        while (taken := lane.take(_STEP_LINES, timeout_s=wake_s)) is not None:
            started_s = clock()
            if taken:
                self._taken_s = started_s
                self.step(taken)
            self.flush(is_idle=started_s - self._taken_s >= wake_s)
            self.upkeep.turn()
            meter.add(clock() - started_s)
        if not lane.is_abandoned:
            self.flush(everything=True)

    def step(self, items: Sequence[StoreItem]) -> None:
        """Write the templates of a list, and let its lines wait for their blocks. Raises Abandoned, LimitReached, SinkBroken."""
        batches = [item for item in items if isinstance(item, LineBatch)]
        embedded = [item for item in items if isinstance(item, EmbeddedTemplate)]
        if embedded:
            batches += self._store_templates(embedded)
        now_s = self._surroundings.clock()
        for assignment, arrival, lines in batches:
            run = self.runs.of(assignment) if assignment.alive else None
            if run is None or not run.add(lines, arrival, now_s):
                assignment.settle(arrival)  # moves no offset: the partition's new owner writes these lines

    def flush(self, *, is_idle: bool = False, everything: bool = False) -> None:
        """Write the blocks that are full or due, or everything that waits. `is_idle`: nothing came for a while. Raises as `step` does."""
        drop_ended(self.places)
        waiting = [run for run in self.runs.all() if run.waiting_lines]
        if not waiting:
            return
        now_s = self._surroundings.clock()
        flush_s = min(max(self._rules.flush_s, len(waiting) / _BLOCKS_PER_S), MOST_FLUSH_S)
        everything = everything or self._waiting_gains_little(waiting, is_idle=is_idle)
        due = waiting if everything else [run for run in waiting if run.is_due(now_s, flush_s)]
        self._blocks.write(self._close_all(due, now_s, flush_s=flush_s, everything=everything))

    def hide(self, assignment: PartitionLedger, lines: Lines) -> None:
        """Write hollow entries at once, for records that hold nothing now but have something stored. Raises as `step` does."""
        run = self.runs.of(assignment) if assignment.alive else None
        if run is not None:
            self._blocks.write_hollow(run, lines)

    def reject(self, batch: LineBatch, rejection: Rejection) -> None:
        """Reject lines, behind hollow entries: nothing that was stored before is shown in their place. Raises as `step` does."""
        rows = np.flatnonzero(batch.lines.chunks == 1)  # of other entries the rest may be stored
        if len(rows):
            self.hide(batch.assignment, hollowed(take_lines(batch.lines, rows)))
        batch.reject(rejection)

    def fail_flight(self, template: TemplateId, rejection: Rejection) -> None:
        """Remember a template as rejected, and reject the lines that waited for it. Raises as `step` does."""
        for parked in self._flights.fail(template, rejection):
            self.reject(parked, rejection)

    @property
    def waiting_lines(self) -> int:
        """How many lines wait for their block."""
        return sum(run.waiting_lines for run in self.runs.all())

    def _waiting_gains_little(self, waiting: Sequence[Run], *, is_idle: bool) -> bool:
        """Whether hardly any line can join those that wait: none is on its way, or the intake waits for these to be written.

        None is on its way if as many lines wait as records are open; of records with several lines, some may still be.
        """
        if not self._ledger.has_decoded_room():
            return True
        are_all = sum(run.waiting_lines for run in waiting) >= self._ledger.open_records
        if not self._ledger.has_room():
            return is_idle or are_all
        return is_idle and are_all and len(waiting) <= _FEW_RUNS

    def _close_all(self, due: Sequence[Run], now_s: float, *, flush_s: float, everything: bool) -> Iterator[Sealed]:
        """Yield the blocks of runs that are full or due, as they are wanted."""
        for turn in _turns(due):
            with self._surroundings.computing:
                sealed = [one for run in turn for one in self._close(run, now_s, flush_s=flush_s, everything=everything)]
            if sealed:
                self._surroundings.fail_point("closed")
            yield from sealed

    def _close(self, run: Run, now_s: float, *, flush_s: float, everything: bool) -> Sequence[Sealed]:
        """Number and build the blocks of a run that are full or due."""
        self.runs.writes_begin(run.place)  # before the look whether it has ended: see the fifth rule of `worker.indexing.runs`
        sealed: list[Sealed] = []
        if run.assignment.alive:
            for group in run.take(now_s, flush_s=flush_s, everything=everything):
                masks, written_ms = self._rules.masks_of(run.place.topic), self._sink.date_ms()
                built = build(group.lines, masks=masks, written_ms=written_ms, bounds=self.runs.bounds)
                sealed += run.seal(group.lines, built, group.tags)
        self.runs.writes_begin(run.place, len(sealed))
        self.runs.writes_end([run.place])
        return sealed

    def _store_templates(self, embedded: Sequence[EmbeddedTemplate]) -> list[LineBatch]:
        by_view: dict[int, tuple[TemplateView, list[TemplateRow]]] = {}
        for one in embedded:
            by_view.setdefault(id(one.view), (one.view, []))[1].append(TemplateRow(one.template, one.vector, one.text))
        self._surroundings.fail_point("before_templates")
        refused: dict[TemplateId, Rejection] = {}
        for view, rows in by_view.values():  # of two only while the model changes
            refused |= self._write_templates(view, rows)
        self._surroundings.fail_point("after_templates")
        self.tally.add(templates=len(embedded) - len(refused))
        for one in embedded:
            if one.template in refused:
                self.fail_flight(one.template, refused[one.template])
        freed = self._flights.land([Completed(one.template, one.tokens, one.source) for one in embedded if one.template not in refused])
        self._surroundings.fail_point("landed")
        return freed

    def _write_templates(self, view: TemplateView, rows: Sequence[TemplateRow]) -> dict[TemplateId, Rejection]:
        """Write all rows; return those that the sink refuses alone, by id. At the limit none is blamed: they are read again."""
        refused: dict[TemplateId, Rejection] = {}
        todo: list[Sequence[TemplateRow]] = [rows]
        while todo:
            part = todo.pop()
            try:
                self.writes.write("templates", len(part), partial(_upsert, view, part))
            except SinkRejected as error:
                if len(part) == 1:
                    refused[part[0].template] = refused_by_sink(error)
                    self._refused_templates.fault(str(error))
                else:
                    middle = len(part) // 2
                    todo += [part[middle:], part[:middle]]
            else:
                self._refused_templates.good()
        return refused


def _upsert(view: TemplateView, rows: Sequence[TemplateRow], _again: bool) -> None:  # noqa: FBT001 - as `PatientWrites` calls it
    view.upsert(rows)


def _turns(runs: Sequence[Run]) -> Iterator[Sequence[Run]]:
    """Cut runs into lists whose blocks are built in one turn of computing."""
    turn: list[Run] = []
    lines = 0
    for run in runs:
        turn.append(run)
        lines += run.waiting_lines
        if len(turn) >= _TURN_RUNS or lines >= _STEP_LINES:
            yield turn
            turn, lines = [], 0
    if turn:
        yield turn
