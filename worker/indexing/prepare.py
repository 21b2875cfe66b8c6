"""The prepare step: records become lines, and every line goes the shortest way to the index.

One thread runs it for logs, for thousands of records at a time, as columns. In this order: read back what earlier runs have stored of
these records; decode, drop and sample as their topic's reader says; redact, chunk and mask. Then a line is *stored already* (settled at
once), or its template is *known* (straight to store), *in flight* (parked), *found* in a cache or in the index (to store with its vector)
or, last, sent to the engine. Python works per batch and per distinct template.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger, Receipt
from consumers.decode.entries import Decoded, Entries
from consumers.decode.kafka_times import bounded_times
from consumers.ledger import Ledger
from consumers.rejection import Rejection
from consumers.text.redact import Redactor
from consumers.waiting_place import AssignmentPlace, drop_ended
from sinks.block import Lines
from sinks.lines import empty_records, lines_between, take_lines
from worker.indexing.flights import Flights
from worker.indexing.line_batch import LineBatch, StoreItem
from worker.indexing.line_memory import held_bytes
from worker.indexing.new_templates import NewTemplates
from worker.indexing.open_events import OpenEvents
from worker.indexing.pieces import lines_of_pieces, split_entries
from worker.indexing.record_groups import RecordGroup, groups_of, parts_of
from worker.indexing.record_outcomes import RecordOutcomes, emptied_records, let_follow, overlong_records, rows_by_assignment
from worker.indexing.resume import Resume
from worker.indexing.sampling import Sampler, Sampling, without_texts
from worker.indexing.schema_wait import SchemaWait
from worker.indexing.topic_readers import RuleTally, TopicReader
from worker.runtime.lane import Outlet
from worker.runtime.limits import TopicFaultLimits

_WAIT_S = 0.1


class _Prepared(NamedTuple):
    """The lines of a group that are to be stored, and which records they are of."""

    lines: Lines
    row: NDArray[np.int64]
    """int64[n]: which record of the group each line is of; ascending."""
    batches: list[LineBatch]
    """The same lines by assignment."""


class Prepare:
    """Every record it is given is dropped, refused, or expects exactly the pieces that were sent on.

    Thread: one; so is what it owns: resume and readers.
    """

    def __init__(  # noqa: PLR0913 - a step's whole world, handed in by name
        self,
        *,
        ledger: Ledger,
        reader_of: Callable[[str], TopicReader],
        rule_tally: RuleTally,
        redactor: Redactor,
        resume: Resume,
        flights: Flights,
        new_templates: NewTemplates,
        dim: int,
        hide: Callable[[PartitionLedger, Lines], None],
        reject: Callable[[LineBatch, Rejection], None],
        store: Outlet[StoreItem],
        undecodable: TopicFaultLimits,
        abandoned: Callable[[], bool],
        computing: AbstractContextManager[object],
        wall_ms: Callable[[], float],
        schema_wait: SchemaWait | None = None,
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """`reader_of` returns the reader of a topic. `computing` is held while columns are computed (`worker.runtime.fair_lock`).

        `dim`: numbers in a vector. `hide` writes hollow entries and returns when they are acknowledged; `reject` does so for the lines that
        it rejects. `abandoned` says that the service is stopping hard. `schema_wait`: where records wait for their schemas, if any do.
        """
        self._ledger = ledger
        self._reader_of = reader_of
        self._redactor = redactor
        self._resume = resume
        self._flights = flights
        self._new_templates = new_templates
        self._dim = dim
        self._hide = hide
        self._reject = reject
        self._store = store
        self._abandoned = abandoned
        self._schema_wait = schema_wait
        self._computing = computing
        self._wall_ms = wall_ms
        self._fail_point = fail_point
        self._outcomes = RecordOutcomes(undecodable, rule_tally)
        self._open_events = OpenEvents(ledger, rule_tally)
        self._sampling = Sampling()
        self.places: tuple[AssignmentPlace, ...] = (self._open_events, resume, self._sampling, *((schema_wait,) if schema_wait else ()))
        """Where this step lets records wait, or keeps something of their assignments."""

    def step(self, receipts: Sequence[Receipt]) -> None:
        """Work the records of several receipts, in groups that bound the decoded bytes. Raises LimitReached.

        Those whose schemas are not known yet wait, and come back with a later step: an empty list when nothing else has come.
        """
        drop_ended(self.places)
        if self._schema_wait is not None:
            receipts = self._schema_wait.admit(receipts)
        if not self._resume.look_back(receipts, self._open_events.first_offsets()):
            return
        for group in groups_of(receipts, kind_of=self._reader_of):
            if not self._wait_for_room():
                return
            alive = self._drop_revoked(group)
            if alive is None:
                continue
            reader = self._reader_of(alive.topic)
            for first, end, decoded in self._decoded(alive, reader):
                few = alive if end - first == alive.size else alive.between(first, end)
                if reader.joiner is not None:
                    few, decoded = self._open_events.join(few, decoded, reader.joiner)  # noqa: PLW2901 - the same with joined events
                for part, decoded_part in parts_of(few, decoded):
                    if not self._wait_for_room():
                        return
                    self._work(part, decoded_part, reader)

    def _decoded(self, group: RecordGroup, reader: TopicReader) -> Iterator[tuple[int, int, Decoded]]:
        """Decode the values of a group, as `Decoder.decode_parts` does."""
        parts = reader.decoder.decode_parts(group.value, bounded_times(group.time_ms, self._wall_ms()), group.headers)
        while True:
            with self._computing:
                part = next(parts, None)
            if part is None:
                return
            yield part

    def finish(self) -> None:
        """Work what waits for its schemas, until nothing waits or the service stops hard; nothing more is taken. Raises LimitReached."""
        while self._schema_wait is not None and not self._schema_wait.is_empty and not self._abandoned():
            self._schema_wait.wait(_WAIT_S)
            self.step(())

    def _wait_for_room(self) -> bool:
        """Wait until there is room for more decoded bytes; False: the service stops hard."""
        while not self._ledger.wait_for_decoded_room(_WAIT_S):
            if self._abandoned():
                return False
        return True

    def _drop_revoked(self, group: RecordGroup) -> RecordGroup | None:
        """Drop the records of dead assignments unread, and those of theirs that are held; return the others."""
        revoked = [own for own in group.assignments if not own.assignment.alive]
        if revoked:  # a held record that stays open keeps those behind it, and so their room, for ever
            drop_ended(self.places)
        for assignment, begin, end in revoked:
            assignment.drop(group.arrival[begin:end], "revoked")
        return group.without({own.assignment for own in revoked}) if revoked else group

    def _work(self, group: RecordGroup, decoded: Decoded, reader: TopicReader) -> None:
        """Send the lines of a group on; what holds none is dropped, refused or rejected."""
        resumes = any(self._resume.has_windows(own.assignment) for own in group.assignments)
        if resumes:
            self._hide_stored(group, emptied_records(group, decoded, reader), decoded.empty)
        with self._computing:
            batches, decoded, too_long = self._lines_to_send(group, decoded, reader)
        if resumes and len(too_long):
            self._hide_stored(group, overlong_records(group, decoded.entries, too_long))
        self._outcomes.judge(group, decoded, too_long)  # a dead letter may wait for room in its producer
        self._fail_point("decoded")
        if batches:
            self._send(batches)

    def _hide_stored(self, group: RecordGroup, is_emptied: NDArray[np.bool_], empty: Sequence[int] | NDArray[np.int64] = ()) -> None:
        """Write hollow entries for records that hold nothing, before those settle, where readers would get something else in their place.

        `is_emptied`: bool[n]. The rows `empty` of them are lines of events as well, if they are joined otherwise.
        """
        is_empty = np.zeros(group.size, np.bool_)
        is_empty[empty] = True
        for assignment, begin, end in group.assignments:
            rows = begin + np.flatnonzero(is_emptied[begin:end])
            offset, leader_epoch = group.offset[rows], group.leader_epoch[rows]
            is_other = self._resume.hold_other(assignment, offset, leader_epoch, is_empty[rows])
            if is_other.any():
                self._hide(assignment, empty_records(offset[is_other], group.time_ms[rows][is_other], leader_epoch[is_other]))

    def _lines_to_send(
        self, group: RecordGroup, decoded: Decoded, reader: TopicReader
    ) -> tuple[list[LineBatch], Decoded, NDArray[np.int64]]:
        """Return the lines of a group, what was decoded without what rules drop, and the entries of too many chunks."""
        self._outcomes.drop_empty(group, decoded)
        decoded = self._outcomes.drop_by_rule(group, decoded, reader)
        pieces = split_entries(decoded.entries, redactor=self._redactor, chunker=reader.chunker)
        lines = lines_of_pieces(pieces, group.offset, group.time_ms, group.leader_epoch)
        prepared = _prepared(group, lines, decoded.entries.row[pieces.cut.row])
        loses_text = None if reader.sampler is None else self._sample(group, decoded.entries, reader.sampler)[pieces.cut.row]
        prepared = self._without_stored(group, prepared, loses_text)
        too_long = pieces.cut.too_long
        let_follow(group, decoded.entries)
        self._expect(group, prepared, decoded.entries.row, too_long)
        return prepared.batches, decoded, too_long

    def _sample(self, group: RecordGroup, entries: Entries, sampler: Sampler) -> NDArray[np.bool_]:
        """Return which entries lose text and fields, because there are many such ones at their time: bool[n]."""
        chosen = np.zeros(entries.size, np.bool_)
        ends = np.searchsorted(entries.row, [own.end for own in group.assignments]).tolist()
        for own, first, end in zip(group.assignments, [0, *ends], ends, strict=False):
            if end > first:
                rows = np.arange(first, end)
                row = entries.row[rows]
                seconds = self._sampling.seconds_of(own.assignment)
                chosen[rows] = sampler.choose(entries.take(rows), group.offset[row], group.time_ms[row], seconds)
        return chosen

    def _without_stored(self, group: RecordGroup, prepared: _Prepared, loses_text: NDArray[np.bool_] | None) -> _Prepared:
        """Pass over the lines whose records an earlier run has stored, with their texts or without; others may lose theirs now."""
        resumed = [self._resume.has_windows(batch.assignment) for batch in prepared.batches]
        stored = self._find_stored(prepared, resumed) if any(resumed) else np.zeros(prepared.lines.size, np.bool_)
        lines = prepared.lines
        if loses_text is not None and loses_text.any():
            lines = without_texts(lines, loses_text)
        if stored.any():
            left = np.flatnonzero(~stored)
            return _prepared(group, take_lines(lines, left), prepared.row[left])
        return prepared if lines is prepared.lines else _prepared(group, lines, prepared.row)

    def _find_stored(self, prepared: _Prepared, resumed: Sequence[bool]) -> NDArray[np.bool_]:
        """Return which lines an earlier run has stored: bool[n]; `resumed` says of which batches anything was read back."""
        stored = np.concatenate(
            [
                self._resume.stored(batch) if has_windows else np.zeros(batch.size, np.bool_)
                for batch, has_windows in zip(prepared.batches, resumed, strict=True)
            ]
        )
        self._resume.tally.skipped_lines += int(stored.sum())
        return stored

    def _expect(self, group: RecordGroup, prepared: _Prepared, entry_row: NDArray[np.int64], too_long: NDArray[np.int64]) -> None:
        """Say of each record that has entries how many pieces will be settled: its lines, and its entries of too many chunks.

        A record without any, for all of its lines are stored already, is settled at once.
        """
        lines, row, batches = prepared
        pieces = np.bincount(row, minlength=group.size) + np.bincount(entry_row[too_long], minlength=group.size)
        held = np.zeros(group.size, np.int64)
        if batches:
            begins = np.cumsum([0, *(batch.size for batch in batches[:-1])])
            is_new = self._flights.are_new(lines.template.values)
            of_lines = held_bytes(lines, begins=begins.tolist(), is_new=is_new, dim=self._dim)
            held += np.bincount(row, of_lines, minlength=group.size).astype(np.int64)
        has_entries = np.zeros(group.size, np.bool_)
        has_entries[entry_row] = True
        for assignment, rows in rows_by_assignment(group, has_entries):
            assignment.expect(group.arrival[rows], np.maximum(pieces[rows], 1), held[rows])
        for assignment, rows in rows_by_assignment(group, has_entries & (pieces == 0)):
            assignment.settle(group.arrival[rows])

    def _send(self, batches: Sequence[LineBatch]) -> None:
        joined = self._flights.join(batches)
        for batch, rejection in joined.rejected:
            self._reject(batch, rejection)
        self._store.put(joined.known)
        self._new_templates.begin(joined.mine)


def _prepared(group: RecordGroup, lines: Lines, row: NDArray[np.int64]) -> _Prepared:
    """Divide lines by assignment; `row` is the record of each."""
    batches: list[LineBatch] = []
    ends: list[int] = np.searchsorted(row, [own.end for own in group.assignments]).tolist()
    first = 0
    for own, end in zip(group.assignments, ends, strict=True):
        if end > first:
            batches.append(LineBatch(own.assignment, group.arrival[row[first:end]], lines_between(lines, first, end)))
            first = end
    return _Prepared(lines, row, batches)
