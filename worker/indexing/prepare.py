"""The prepare step: records become lines, and every line goes the shortest way to the index.

One thread runs it for logs, for thousands of records at a time, as columns. In this order: read back what earlier runs have stored of
these records; decode, drop and sample as their topic's reader says; redact, chunk and mask. Then a line is *stored already* (settled at
once), or its template is *known* (straight to store), *in flight* (parked), *found* in a cache or in the index (to store with its vector)
or, last, sent to the engine. Python works per batch and per distinct template.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import Receipt
from consumers.decode.entries import Decoded, Entries
from consumers.decode.kafka_times import bounded_times
from consumers.ledger import Ledger
from consumers.waiting_place import AssignmentPlace, drop_ended
from worker.indexing.group_lines import GroupLines, divide
from worker.indexing.line_batch import LineBatch
from worker.indexing.line_router import LineRouter
from worker.indexing.open_events import OpenEvents
from worker.indexing.pieces import lines_of_pieces, split_entries
from worker.indexing.record_groups import RecordGroup, groups_of, parts_of
from worker.indexing.record_outcomes import RecordOutcomes, emptied_records, let_follow, overlong_records, rows_by_assignment
from worker.indexing.sampling import Sampler, Sampling, without_texts
from worker.indexing.schema_wait import SchemaWait
from worker.indexing.stored_before import StoredBefore
from worker.indexing.topic_readers import TopicReader
from worker.runtime.surroundings import Surroundings

_WAIT_S = 0.1


class Prepare:
    """Every record it is given is dropped, refused, or expects exactly the pieces that were sent on.

    Thread: one, and all that it is given is of that thread.
    """

    def __init__(
        self,
        *,
        ledger: Ledger,
        reader_of: Callable[[str], TopicReader],
        stored_before: StoredBefore,
        outcomes: RecordOutcomes,
        router: LineRouter,
        surroundings: Surroundings,
        schema_wait: SchemaWait | None = None,
    ) -> None:
        """`reader_of` returns the reader of a topic; `schema_wait`: where records wait for their schemas, if any do."""
        self._ledger = ledger
        self._reader_of = reader_of
        self._stored_before = stored_before
        self._outcomes = outcomes
        self._router = router
        self._surroundings = surroundings
        self._schema_wait = schema_wait
        self._open_events = OpenEvents(ledger, outcomes.rule_tally)
        self._sampling = Sampling()
        resume = stored_before.resume
        self.places: tuple[AssignmentPlace, ...] = (self._open_events, resume, self._sampling, *((schema_wait,) if schema_wait else ()))
        """Where this step lets records wait, or keeps something of their assignments."""

    def step(self, receipts: Sequence[Receipt]) -> None:
        """Work the records of several receipts, in groups that bound the decoded bytes. Raises LimitReached.

        Those whose schemas are not known yet wait, and come back with a later step: an empty list when nothing else has come.
        """
        drop_ended(self.places)
        if self._schema_wait is not None:
            receipts = self._schema_wait.admit(receipts)
        if not self._stored_before.resume.look_back(receipts, self._open_events.first_offsets()):
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
        parts = reader.decoder.decode_parts(group.value, bounded_times(group.time_ms, self._surroundings.wall_ms()), group.headers)
        while True:
            with self._surroundings.computing:
                part = next(parts, None)
            if part is None:
                return
            yield part

    def finish(self) -> None:
        """Work what waits for its schemas, until nothing waits or the service stops hard; nothing more is taken. Raises LimitReached."""
        while self._schema_wait is not None and not self._schema_wait.is_empty and not self._surroundings.is_abandoned():
            self._schema_wait.wait(_WAIT_S)
            self.step(())

    def _wait_for_room(self) -> bool:
        """Wait until there is room for more decoded bytes; False: the service stops hard."""
        while not self._ledger.wait_for_decoded_room(_WAIT_S):
            if self._surroundings.is_abandoned():
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
        resumes = self._stored_before.has_any(group)
        if resumes:
            self._stored_before.hide(group, emptied_records(group, decoded, reader), decoded.empty)
        with self._surroundings.computing:
            batches, decoded, too_long = self._lines_to_send(group, decoded, reader)
        if resumes and len(too_long):
            self._stored_before.hide(group, overlong_records(group, decoded.entries, too_long))
        self._outcomes.judge(group, decoded, too_long)  # a dead letter may wait for room in its producer
        self._surroundings.fail_point("decoded")
        if batches:
            self._router.send(batches)

    def _lines_to_send(
        self, group: RecordGroup, decoded: Decoded, reader: TopicReader
    ) -> tuple[list[LineBatch], Decoded, NDArray[np.int64]]:
        """Return the lines of a group, what was decoded without what rules drop, and the entries of too many chunks."""
        self._outcomes.drop_empty(group, decoded)
        decoded = self._outcomes.drop_by_rule(group, decoded, reader)
        pieces = split_entries(decoded.entries, redactor=reader.redactor, chunker=reader.chunker)
        lines = lines_of_pieces(pieces, group.offset, group.time_ms, group.leader_epoch)
        found = divide(group, lines, decoded.entries.row[pieces.cut.row])
        stored = self._stored_before.find(found)  # with their texts or without
        if reader.sampler is not None:
            loses_text = self._sample(group, decoded.entries, reader.sampler)[pieces.cut.row]
            if loses_text.any():
                found = divide(group, without_texts(lines, loses_text), found.row)
        if stored.any():
            found = found.take(np.flatnonzero(~stored))
        too_long = pieces.cut.too_long
        let_follow(group, decoded.entries)
        self._expect(found, decoded.entries.row, too_long)
        return found.batches, decoded, too_long

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

    def _expect(self, found: GroupLines, entry_row: NDArray[np.int64], too_long: NDArray[np.int64]) -> None:
        """Say of each record that has entries how many pieces will be settled: its lines, and its entries of too many chunks.

        A record without any, for all of its lines are stored already, is settled at once.
        """
        group, lines, row, batches = found
        pieces = np.bincount(row, minlength=group.size) + np.bincount(entry_row[too_long], minlength=group.size)
        held = np.zeros(group.size, np.int64)
        if batches:
            begins = np.cumsum([0, *(batch.size for batch in batches[:-1])])
            of_lines = self._router.held_bytes(lines, begins.tolist())
            held += np.bincount(row, of_lines, minlength=group.size).astype(np.int64)
        has_entries = np.zeros(group.size, np.bool_)
        has_entries[entry_row] = True
        for assignment, rows in rows_by_assignment(group, has_entries):
            assignment.expect(group.arrival[rows], np.maximum(pieces[rows], 1), held[rows])
        for assignment, rows in rows_by_assignment(group, has_entries & (pieces == 0)):
            assignment.settle(group.arrival[rows])
