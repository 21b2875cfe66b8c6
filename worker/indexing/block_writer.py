"""Sends blocks and settles what they hold: a record only when its block is acknowledged.

While the sink is busy the blocks are held and sent again, same ids and same bytes, for ever unless the service stops: records stay
open, so intake slows by itself. A block that the sink refuses may still be stored, because an earlier answer may have been lost. So its
lines are split by entries under a new run id, until one entry is refused alone; that one is a dead letter.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count

import numpy as np

from consumers.rejection import Rejection
from sinks.block import Lines
from sinks.build import build
from sinks.lines import hollowed, take_lines
from sinks.sink import Sink, SinkBusy, SinkRejected
from worker.indexing.dead_letter_reasons import refused_by_sink
from worker.indexing.line_batch import LineBatch
from worker.indexing.runs import Run, Runs, Sealed
from worker.indexing.store_tally import StoreTally, WriteKind
from worker.runtime.limits import FaultLimit
from worker.runtime.retry import SinkRetry
from worker.runtime.stage import Abandoned
from worker.runtime.surroundings import Surroundings

_CALL_BYTES = 4 * 1024 * 1024
_CALL_BLOCKS = 512
_MOST_HOLLOW_TRIES = 5


class PatientWrites:
    """Repeats a write until the sink takes or refuses it.

    Thread: any of the store threads.
    """

    def __init__(self, surroundings: Surroundings, tally: StoreTally) -> None:
        self.retry = SinkRetry(say=surroundings.say)
        self.tally = tally
        self._surroundings = surroundings

    def write(self, kind: WriteKind, rows: int, write: Callable[[bool], None]) -> None:
        """Call `write`, with whether it was called before, until it returns. Raises SinkRejected, SinkBroken, Abandoned."""
        clock = self._surroundings.clock
        for attempt in count():
            started_s = clock()
            try:
                write(attempt > 0)
            except SinkBusy as error:
                self.tally.failed("busy")
                self.retry.refused(str(error), rows, clock())
                if self._surroundings.pause(self.retry.pause_s(attempt)):
                    raise Abandoned from error
            except SinkRejected:
                self.tally.failed("rejected")
                if attempt:
                    self.retry.taken(clock())
                raise
            else:
                self.tally.wrote(kind, clock() - started_s)
                if attempt:
                    self.retry.taken(clock())
                return


class BlockWriter:
    """Within a run a line is in exactly one number, and a number always has the same bytes.

    Thread: any of the store threads.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        runs: Runs,
        writes: PatientWrites,
        masks_of: Callable[[str], str],
        refused: FaultLimit,
        surroundings: Surroundings,
    ) -> None:
        """`masks_of`: version of the masks that the templates of a topic's lines are made with."""
        self._sink = sink
        self._runs = runs
        self._writes = writes
        self._masks_of = masks_of
        self._refused = refused
        self._surroundings = surroundings
        self._tally = writes.tally

    def write(self, sealed: Iterable[Sealed]) -> None:
        """Write blocks as they come, settle their lines, and note their writes as answered. Raises Abandoned, LimitReached, SinkBroken.

        At the limit nothing of the call in hand is settled and none is blamed: it is read again, under other settings.
        """
        for part in _calls(sealed):
            self._write_call(part)
            self._runs.writes_end([one.run.place for one in part])

    def write_hollow(self, run: Run, lines: Lines) -> None:
        """Write hollow entries, which settle nothing. Raises Abandoned, SinkBroken, SinkRejected."""
        self._runs.writes_begin(run.place)
        try:
            for attempt in count(1):
                built = build(lines, masks="", written_ms=int(self._surroundings.wall_ms()), bounds=self._runs.bounds)
                try:
                    self._send(run.seal(lines, built, np.zeros(lines.size, np.int64)), was_sent=False)
                except SinkRejected:  # nothing in them can be refused: an earlier answer was lost
                    if attempt == _MOST_HOLLOW_TRIES:
                        raise
                    self._runs.renew(run)
                else:
                    return
        finally:
            self._runs.writes_end([run.place])

    def _write_call(self, part: Sequence[Sealed]) -> None:
        stored: list[Sealed] = []
        rejected: list[tuple[Sealed, Rejection]] = []
        todo: list[tuple[Sequence[Sealed], bool]] = [(part, False)]
        while todo:
            blocks, was_sent = todo.pop()
            try:
                self._send(blocks, was_sent=was_sent)
            except SinkRejected as error:
                if len(blocks) > 1:  # the others of the call may be stored or not: each is sent again as it is
                    middle = len(blocks) // 2
                    todo += [(blocks[middle:], True), (blocks[:middle], True)]
                elif halves := self._split(blocks[0]):
                    todo += [([half], False) for half in reversed(halves)]
                else:
                    rejected.append((blocks[0], refused_by_sink(error)))
                    self._refused.fault(str(error))
            else:
                self._refused.good()
                stored += blocks
        self._settle(stored)
        for one, rejection in rejected:
            self._runs.renew(one.run)  # the refused block may still be stored
            self.write_hollow(one.run, hollowed(take_lines(one.lines, one.rows[:1])))
            LineBatch(one.run.assignment, one.arrival, take_lines(one.lines, one.rows)).reject(rejection)

    def _send(self, blocks: Sequence[Sealed], *, was_sent: bool) -> None:
        content = [one.block for one in blocks]
        lines = sum(len(one.arrival) for one in blocks)
        self._surroundings.fail_point("before_blocks")
        self._writes.write("blocks", lines, lambda again: self._sink.write_blocks(content, again=again or was_sent))
        self._surroundings.fail_point("after_blocks")

    def _split(self, refused: Sealed) -> list[Sealed]:
        """Return the lines of a refused block in two halves under another run id; empty if they are one entry."""
        lines = take_lines(refused.lines, refused.rows)
        begins = np.flatnonzero((np.diff(lines.offset) != 0) | (np.diff(lines.sub) != 0)) + 1
        if not len(begins):
            return []
        self._runs.renew(refused.run)
        middle = int(begins[len(begins) // 2])
        halves: list[Sealed] = []
        masks = self._masks_of(refused.run.place.topic)
        for begin, end in ((0, middle), (middle, lines.size)):
            half = take_lines(lines, np.arange(begin, end))
            built = build(half, masks=masks, written_ms=refused.block.head.written_ms, bounds=self._runs.bounds)
            halves += refused.run.seal(half, built, refused.arrival[begin:end])
        return halves

    def _settle(self, stored: Sequence[Sealed]) -> None:
        now_s = self._surroundings.clock()
        for one in stored:
            if 2 * len(one.rows) <= self._runs.bounds.lines:  # larger ones are not merged
                one.run.acknowledge(one.block, take_lines(one.lines, one.rows), now_s)
        times_ms = np.concatenate([one.lines.kafka_time[one.rows] for one in stored] or [np.empty(0, np.int64)])
        lines = sum(len(one.arrival) for one in stored)
        self._tally.add(lines=lines, blocks=len(stored), block_bytes=sum(one.block.size_bytes for one in stored))
        self._tally.note_ages(times_ms, self._surroundings.wall_ms())
        for one in stored:
            one.run.assignment.settle(one.arrival)


def _calls(sealed: Iterable[Sealed]) -> Iterator[Sequence[Sealed]]:
    """Cut blocks into lists that one call may carry."""
    part: list[Sealed] = []
    size_bytes = 0
    for one in sealed:
        if part and (size_bytes + one.block.size_bytes > _CALL_BYTES or len(part) >= _CALL_BLOCKS):
            yield part
            part, size_bytes = [], 0
        part.append(one)
        size_bytes += one.block.size_bytes
    if part:
        yield part
