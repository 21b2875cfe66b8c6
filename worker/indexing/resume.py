"""Resume: which records an earlier run has stored already, so that a restart writes only what is missing.

Theory of operation
1. Before the first record of an assignment goes on, prepare reads back what is stored at and above it, in windows of offsets as long as
   the cap, until a window holds nothing. Later records need no look-up. After a kill that is what was in flight; after an offset reset it
   is the whole partition, window by window, ahead of the lines.
2. First it waits until this process's own writes to the partition are answered, then it reads at Strong. So what it does not see was
   not written, but for a write of another worker that arrives late; that one is a copy, which readers resolve.
3. A record is skipped only if what a reader gets of its offset is exactly what this run would write, or that without its texts, and the
   rows of its stored templates are there. Offset and sub alone prove nothing: a log may have been cut and grown again, or settings changed.
   Else all of the record is written again, never a part of it: readers decide by record (`sinks.reading.versions`). Where a record
   holds nothing, and readers get something else in its place, prepare has a hollow entry written (`hold_other`).
4. Where the first record of an assignment is inside a stored entry of several records, the assignment begins again at the first of them:
   from the middle on they would be joined otherwise, and if the log was cut there, what it has kept of them is to be written again.
5. A run begins above every run that was seen (`Runs.begin`), so that of two copies the new one holds.
6. While the sink is busy, it is asked again without end: going on without an answer would write a second copy of everything.

Not taken: comparing ids (commits lines that were not written after a cut log), one read of the whole partition (no bound), a mark of what
is stored outside of the index (it may be older or newer than the index, after a restore of either).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger, Receipt
from sinks.block import BlockPlace
from sinks.heads import Heads
from sinks.line import Line
from sinks.reading.between import RecordRange
from sinks.reading.reader import BlockReader
from sinks.row import TemplateText, template_id
from sinks.sink import BlockFilter, OffsetSpan, Sink, SinkBusy
from worker.indexing.line_batch import LineBatch
from worker.indexing.runs import Run, Runs
from worker.indexing.stored_entries import MOST_OFFSETS, EntryHashes, StoredEntries, hash_stored
from worker.runtime.retry import BACK_OFF_S
from worker.runtime.surroundings import Surroundings

_SLICE_PIECES = 16_384
"""About how many lines are in memory at once while a window is read."""
_MOST_LISTED = 16_384
"""Blocks that one query for several partitions may list; if there are more, each half of them is asked for by itself."""
_LISTED_AT_ONCE = 64
"""Partitions that one query asks for."""
_SHORTEST_SHARE = 64
"""A window is never shorter than this part of the longest: while many partitions are read back at once, their windows are shorter."""
_QUERIES_AT_ONCE = 16
"""A query takes 50 to 100 ms at Strong, most of it waiting, and a worker may be given a thousand partitions at once."""
_ANSWER_WAIT_S = 0.1


@dataclass(slots=True)
class ResumeTally:
    """Counters that only grow.

    Thread: written by the prepare thread, read by any.
    """

    skipped_lines: int = 0
    """Lines that were stored already: not embedded, not written, settled at once."""
    read_entries: int = 0
    """Entries that were read back."""
    windows: int = 0
    seconds: float = 0.0
    """Spent reading back, waiting for the sink included."""


class _Window(NamedTuple):
    """Offsets of one partition that must be read back before its records go on."""

    assignment: PartitionLedger
    place: BlockPlace
    first_offset: int
    end_offset: int


@dataclass(slots=True)
class _Assigned:
    """How far one assignment was read back."""

    run: Run
    read: list[StoredEntries] = field(default_factory=list)
    """Windows that records may still ask for."""
    end_offset: int = -1
    """Before this offset all is read back."""
    is_over: bool = False
    """A window held nothing: no more are read."""


class Resume:
    """An entry that it reports as stored is what readers get, template rows included; no run begins below one that it saw.

    Thread: one, the prepare thread; while several partitions are read back, it waits for threads of its own that query side by side.
    """

    def __init__(
        self,
        *,
        sink: Sink,
        reader: BlockReader,
        runs: Runs,
        window_records: int,
        surroundings: Surroundings,
    ) -> None:
        """`window_records` is the cap of the ledger."""
        self._sink = sink
        self._reader = reader
        self._runs = runs
        self._window_records = min(window_records, MOST_OFFSETS)
        self._surroundings = surroundings
        self._assigned: dict[PartitionLedger, _Assigned] = {}
        self._template_texts: set[TemplateText] = set()
        """Of templates whose rows are there, since the last windows were begun."""
        self._busy_since_s: float | None = None
        self.tally = ResumeTally()

    def look_back(self, receipts: Sequence[Receipt], waiting: Mapping[PartitionLedger, int] = MappingProxyType({})) -> bool:
        """Read back what is needed before these records go on; begins the runs of new assignments. False: the service stops hard.

        `waiting` are the offsets of earlier records that have not gone on yet.
        """
        self._forget_windows(receipts, waiting)
        attempt = 0
        while windows := self._due(receipts):
            started_s = self._surroundings.clock()
            try:
                if not self._read_windows(windows):
                    return False
            except SinkBusy as error:
                self._note_busy(str(error), len(windows))
                if self._surroundings.pause(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)]):
                    return False
                attempt += 1
            else:
                self._note_answer()
                attempt = 0
            finally:
                self.tally.seconds += self._surroundings.clock() - started_s
        return True

    def has_windows(self, assignment: PartitionLedger) -> bool:
        """Whether anything was found that records of this assignment may still ask for."""
        assigned = self._assigned.get(assignment)
        return assigned is not None and bool(assigned.read)

    def stored(self, batch: LineBatch) -> NDArray[np.bool_]:
        """Return which lines are of a record that is stored exactly so: bool[n]. All lines of a record are in the batch, as neighbours."""
        assigned = self._assigned.get(batch.assignment)
        stored = np.zeros(batch.size, np.bool_)
        windows = assigned.read if assigned is not None else ()
        for read in windows:
            stored |= read.holds(batch.lines)
        if len(windows) > 1 and stored.any():  # an entry of one window may reach into the next
            lines = batch.lines
            stored &= np.sum([read.touch(lines.offset, lines.offset + lines.records) for read in windows], axis=0) == 1
        return stored

    def hold_other(
        self, assignment: PartitionLedger, offset: NDArray[np.int64], leader_epoch: NDArray[np.int32], is_empty: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return in whose place readers get something else, though the record holds nothing (`StoredEntries.hold_other`): bool[n]."""
        assigned = self._assigned.get(assignment)
        other = np.zeros(len(offset), np.bool_)
        for read in assigned.read if assigned is not None else ():
            other |= read.hold_other(offset, leader_epoch, is_empty)
        return other

    def assignments(self) -> Collection[PartitionLedger]:
        """Return the assignments that anything was read back for (AssignmentPlace)."""
        return self._assigned.keys()

    def drop(self, gone: Collection[PartitionLedger]) -> None:
        """Forget what was read back of these assignments (WaitingPlace)."""
        for assignment in gone:
            self._assigned.pop(assignment, None)

    def _forget_windows(self, receipts: Sequence[Receipt], waiting: Mapping[PartitionLedger, int]) -> None:
        """Forget the windows before these records: records come in the order of their offsets."""
        begins = {receipt.assignment: int(receipt.records.offset[0]) for receipt in reversed(receipts)}
        for assignment, first_offset in {**begins, **waiting}.items():
            assigned = self._assigned.get(assignment)
            if assigned is not None and assigned.read:
                assigned.read = [read for read in assigned.read if read.reach > first_offset]

    def _due(self, receipts: Sequence[Receipt]) -> list[_Window]:
        """Return the next window of each assignment whose records are not all read back."""
        due: dict[PartitionLedger, _Window] = {}
        for receipt in receipts:
            assignment, records = receipt.assignment, receipt.records
            assigned = self._assigned.get(assignment)
            if assigned is not None and (assigned.is_over or records.offset[-1] < assigned.end_offset):
                continue
            if assignment not in due and assignment.alive:
                read_before = 0 if assigned is None else np.searchsorted(records.offset, assigned.end_offset)
                first_offset = int(records.offset[read_before])
                place = BlockPlace(records.topic, records.epoch, records.partition)
                due[assignment] = _Window(assignment, place, first_offset, first_offset)
        if not due:
            return []
        length = self._window_length(len(due))
        return [window._replace(end_offset=window.first_offset + length) for window in due.values()]

    def _window_length(self, windows: int) -> int:
        """Return how long the next windows are: all that are kept hold about as many entries as the longest window has offsets."""
        kept = sum(len(read) for assigned in self._assigned.values() for read in assigned.read)
        return max((self._window_records - kept) // windows, self._window_records // _SHORTEST_SHARE, 1)

    def _read_windows(self, windows: Sequence[_Window]) -> bool:
        """Read a window of each of several assignments. Raises SinkBusy; those that were read by then count."""
        for window in windows:
            while window.assignment not in self._assigned and not self._runs.wait_until_answered(window.place, _ANSWER_WAIT_S):
                if self._surroundings.is_abandoned():
                    return False
                if not window.assignment.alive:
                    return True  # `look_back` sees what is still due
        self._template_texts.clear()
        with ThreadPoolExecutor(_QUERIES_AT_ONCE, "resume") as pool:
            mapped = pool.map if len(windows) > 1 else map
            found = [one for several in mapped(self._list_blocks, _listed_together(windows)) for one in several]
            listed = [
                one for one, is_inside in zip(found, mapped(self._is_inside_entry, *zip(*found, strict=True)), strict=True) if not is_inside
            ]
            if not listed:
                return True
            for (window, heads), read in zip(listed, mapped(self._read_entries, *zip(*listed, strict=True)), strict=True):
                self._surroundings.fail_point("resume_read")
                self._note_read(window, heads, read)
        return True

    def _is_inside_entry(self, window: _Window, heads: Heads) -> bool:
        """Whether an assignment begins inside a stored entry; then it begins again at the first record of that. Thread: any."""
        reaches_in = (heads.first_offset < window.first_offset) & (heads.last_offset >= window.first_offset)
        if window.assignment in self._assigned or not reaches_in.any():
            return False
        start = self._reader.event_start(window.place, window.first_offset)
        return start < window.first_offset and window.assignment.begin_again(start)

    def _note_read(self, window: _Window, heads: Heads, read: StoredEntries | None) -> None:
        """Note what a window holds; None: nothing. Begins the assignment's run, or another one if a later run came in sight."""
        assigned = self._assigned.get(window.assignment)
        seen = max((block.run for block in heads.ids), default="")
        if assigned is None:
            assigned = self._assigned[window.assignment] = _Assigned(self._runs.begin(window.assignment, window.place, seen))
        elif seen > assigned.run.id:
            self._runs.begin(window.assignment, window.place, seen)
        assigned.end_offset = window.end_offset
        assigned.is_over = read is None
        if read is not None:
            assigned.end_offset = read.end_offset
            assigned.read.append(read)
            self.tally.read_entries += len(read)
        self.tally.windows += 1

    def _list_blocks(self, windows: Sequence[_Window]) -> list[tuple[_Window, Heads]]:
        """Return windows of one topic and epoch, each with the blocks that overlap it; one query if that lists few. Thread: any."""
        topic, epoch, _ = windows[0].place
        spans = tuple(OffsetSpan(window.place.partition, window.first_offset, window.end_offset) for window in windows)
        most = _MOST_LISTED if len(windows) > 1 else None
        found = self._sink.find_blocks(BlockFilter((topic,), epoch, spans=spans), limit=most, strong=True)
        if found.is_all:
            return _of_each_partition(found.heads, windows)  # of each only those that overlap its span
        middle = len(windows) // 2
        return self._list_blocks(windows[:middle]) + self._list_blocks(windows[middle:])

    def _read_entries(self, window: _Window, heads: Heads) -> StoredEntries | None:
        """Read back a window slice by slice, or as much of it as has about as many lines as the longest window has offsets.

        None if there are no blocks. Thread: any.
        """
        if not heads.size:
            return None
        hashes: list[EntryHashes] = []
        read_lines = 0
        end_offset = window.first_offset
        for next_end in _slice_ends(heads, window):
            if read_lines >= self._window_records:
                break
            lines = self._read_lines(window.place, end_offset, next_end)
            self._find_templates({line.template_text for line in lines})
            hashes.append(hash_stored(lines, self._template_texts))
            read_lines += len(lines)
            end_offset = next_end
        return StoredEntries(window.first_offset, end_offset, hashes)

    def _find_templates(self, texts: set[TemplateText]) -> None:
        """Look for the rows of templates that were not found a moment ago. Thread: any."""
        ids = {template_id(text): text for text in texts - self._template_texts}
        if ids:
            self._template_texts.update(ids[template] for template in self._sink.templates.stored(ids.keys()))

    def _read_lines(self, place: BlockPlace, first_offset: int, end_offset: int) -> Sequence[Line]:
        """Return what readers get of these offsets; nothing if they miss something, for then they may get something else later."""
        stored = self._reader.lines_between(RecordRange(place.topic, place.partition, first_offset, end_offset, place.epoch), strong=True)
        return stored.lines if stored.complete else ()

    def _note_busy(self, reason: str, partitions: int) -> None:
        if self._busy_since_s is None:
            self._busy_since_s = self._surroundings.clock()
            self._surroundings.say(
                f"{partitions} partitions cannot be read back from the sink ({reason}); their records wait; trying again"
            )

    def _note_answer(self) -> None:
        if self._busy_since_s is not None:
            lasted_s, self._busy_since_s = self._surroundings.clock() - self._busy_since_s, None
            self._surroundings.say(f"the sink can be read back again, after {lasted_s:.0f} s")


def _listed_together(windows: Sequence[_Window]) -> list[list[_Window]]:
    """Group windows of one topic and epoch, as many as one query asks for."""
    by_topic: dict[tuple[str, str], list[_Window]] = defaultdict(list)
    for window in windows:
        by_topic[window.place.topic, window.place.epoch].append(window)
    return [of_topic[at : at + _LISTED_AT_ONCE] for of_topic in by_topic.values() for at in range(0, len(of_topic), _LISTED_AT_ONCE)]


def _of_each_partition(heads: Heads, windows: Sequence[_Window]) -> list[tuple[_Window, Heads]]:
    """Return each window with the blocks of its partition."""
    rows: dict[BlockPlace, list[int]] = defaultdict(list)
    for row, block in enumerate(heads.ids):
        rows[block.place].append(row)
    return [(window, heads.select(np.array(rows[window.place], np.int64))) for window in windows]


def _slice_ends(heads: Heads, window: _Window) -> list[int]:
    """Return where to cut a window, so that each slice has about `_SLICE_PIECES` lines at most; the last end is the window's."""
    lines = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(heads.pieces)])[heads.start])
    order = np.argsort(heads.first_offset, kind="stable")
    ends: list[int] = []
    begun, lines_before = window.first_offset, 0
    for first_offset, count in zip(heads.first_offset[order].tolist(), lines[order].tolist(), strict=True):
        if lines_before and lines_before + count > _SLICE_PIECES and first_offset > begun:
            ends.append(first_offset)
            begun, lines_before = first_offset, 0
        lines_before += count
    return [*ends, window.end_offset]
