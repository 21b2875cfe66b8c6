"""The prepare step: records become lines, and every line goes the shortest way to the index.

One thread runs it for logs, for thousands of records at a time, as columns. In this order: read back what earlier runs have stored of
these records, decode, redact, chunk and mask; then a line is *stored already* (settled at once), or its template is *known* (straight to
store), *in flight* (parked), *found* in a cache or in the index (to store with its vector) or, last, sent to the engine. Python works per
batch and per distinct template.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger, Receipt
from consumers.decode.decoder import UNDECODABLE, Decoder
from consumers.decode.entries import Decoded
from consumers.ledger import Ledger
from consumers.rejection import Rejection
from consumers.text.chunk import Chunker
from consumers.text.redact import Redactor
from sinks.block import Lines
from sinks.lines import lines_between, take_lines
from worker.embedding.cache.levels import Levels
from worker.embedding.model.space import Digester
from worker.embedding.tokenizer import Tokenizer
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.flights import Completed, Flights
from worker.indexing.line_memory import held_bytes
from worker.indexing.pieces import lines_of_pieces, split_entries
from worker.indexing.record_groups import Group, groups_of, parts_of
from worker.indexing.resume import Resume
from worker.messages import EmbeddedTemplate, EncodedTemplate, LineBatch, StoreItem
from worker.runtime.lane import Outlet
from worker.runtime.limits import TopicFaultLimits

_FIRST_TEMPLATES = 128
_MOST_TEMPLATES = 2_048
"""New templates are sent on in growing slices, so that the engine begins with the first while the next are tokenised."""
_WAIT_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlets:
    """Where prepared lines and templates go.

    Thread: any.
    """

    embed: Outlet[EncodedTemplate]
    store: Outlet[StoreItem]


class _Prepared(NamedTuple):
    """The lines of a group that are to be stored, and which records they are of."""

    lines: Lines
    row: NDArray[np.int64]
    """int64[n]: which record of the group each line is of; ascending."""
    batches: list[LineBatch]
    """The same lines by assignment."""


class Prepare:
    """Every record it is given is dropped, refused, or expects exactly the pieces that were sent on.

    Thread: one; so is what it owns: resume, decoder, chunker and tokenizer.
    """

    def __init__(  # noqa: PLR0913 - a step's whole world, handed in by name
        self,
        *,
        ledger: Ledger,
        decoder: Decoder,
        redactor: Redactor,
        chunker: Chunker,
        tokenizer: Tokenizer,
        digester: Digester,
        document_prefix: str,
        resume: Resume,
        flights: Flights,
        levels: Levels,
        rewrite_found: Callable[[], bool],
        outlets: Outlets,
        undecodable: TopicFaultLimits,
        abandoned: Callable[[], bool],
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """`rewrite_found`: rows do not live for ever, so a template found in the index, however old, is written again.

        `abandoned` says that the service is stopping hard.
        """
        self._ledger = ledger
        self._decoder = decoder
        self._redactor = redactor
        self._chunker = chunker
        self._tokenizer = tokenizer
        self._digester = digester
        self._prefix = document_prefix
        self._resume = resume
        self._flights = flights
        self._levels = levels
        self._rewrite_found = rewrite_found
        self._outlets = outlets
        self._undecodable = undecodable
        self._abandoned = abandoned
        self._fail_point = fail_point

    def step(self, receipts: Sequence[Receipt]) -> None:
        """Work the records of several receipts, in groups that bound the decoded bytes. Raises LimitReached."""
        if not self._resume.look_back(receipts):
            return
        for group in groups_of(receipts):
            if not self._wait_for_room():
                return
            alive = self._drop_revoked(group)
            if alive is None:
                continue
            for part, decoded in parts_of(alive, self._decoder.decode(alive.value, alive.time_ms)):
                if not self._wait_for_room():
                    return
                self._work(part, decoded)

    def _wait_for_room(self) -> bool:
        """Wait until there is room for more decoded bytes; False: the service stops hard."""
        while not self._ledger.wait_for_decoded_room(_WAIT_S):
            if self._abandoned():
                return False
        return True

    def _drop_revoked(self, group: Group) -> Group | None:
        """Drop the records of dead assignments unread; return the others."""
        revoked = [own for own in group.assignments if not own.assignment.alive]
        for assignment, begin, end in revoked:
            assignment.drop(group.arrival[begin:end], "revoked")
        return group.without({own.assignment for own in revoked}) if revoked else group

    def _work(self, group: Group, decoded: Decoded) -> None:
        """Send the lines of a group on; what holds none is dropped, refused or rejected."""
        self._drop_empty(group, decoded)
        pieces = split_entries(decoded.entries, redactor=self._redactor, chunker=self._chunker)
        lines = lines_of_pieces(pieces, group.offset, group.time_ms)
        prepared = self._without_stored(group, _prepared(group, lines, decoded.entries.row[pieces.cut.row]))
        too_long = pieces.cut.too_long
        self._expect(group, prepared, decoded.entries.row, too_long)
        self._judge(group, decoded, too_long)
        self._fail_point("decoded")
        if prepared.batches:
            self._send(prepared.batches)

    def _drop_empty(self, group: Group, decoded: Decoded) -> None:
        """Drop the records that hold nothing to index."""
        if not len(decoded.empty):
            return
        is_empty, is_tombstone = np.zeros(group.size, np.bool_), np.zeros(group.size, np.bool_)
        is_empty[decoded.empty] = True
        is_tombstone[[row for row in decoded.empty.tolist() if group.value[row] is None]] = True
        for reason, is_so in (("tombstone", is_tombstone), ("empty", is_empty & ~is_tombstone)):
            for assignment, rows in _rows_by_assignment(group, is_so):
                assignment.drop(group.arrival[rows], reason)

    def _without_stored(self, group: Group, prepared: _Prepared) -> _Prepared:
        """Pass over the lines whose entries an earlier run has stored."""
        resumed = [self._resume.has_windows(batch.assignment) for batch in prepared.batches]
        if not any(resumed):
            return prepared
        stored = np.concatenate(
            [
                self._resume.stored(batch) if has_windows else np.zeros(batch.size, np.bool_)
                for batch, has_windows in zip(prepared.batches, resumed, strict=True)
            ]
        )
        self._resume.tally.skipped_lines += int(stored.sum())
        left = np.flatnonzero(~stored)
        return _prepared(group, take_lines(prepared.lines, left), prepared.row[left]) if stored.any() else prepared

    def _expect(self, group: Group, prepared: _Prepared, entry_row: NDArray[np.int64], too_long: NDArray[np.int64]) -> None:
        """Say of each record that has entries how many pieces will be settled: its lines, and its entries of too many chunks.

        A record without any, for all of its lines are stored already, is settled at once.
        """
        lines, row, batches = prepared
        pieces = np.bincount(row, minlength=group.size) + np.bincount(entry_row[too_long], minlength=group.size)
        held = np.zeros(group.size, np.int64)
        if batches:
            begins = np.cumsum([0, *(batch.size for batch in batches[:-1])])
            is_new = self._flights.are_new(lines.template.values)
            of_lines = held_bytes(lines, begins=begins.tolist(), is_new=is_new, dim=self._digester.dim)
            held += np.bincount(row, of_lines, minlength=group.size).astype(np.int64)
        has_entries = np.zeros(group.size, np.bool_)
        has_entries[entry_row] = True
        for assignment, rows in _rows_by_assignment(group, has_entries):
            assignment.expect(group.arrival[rows], np.maximum(pieces[rows], 1), held[rows])
        for assignment, rows in _rows_by_assignment(group, has_entries & (pieces == 0)):
            assignment.settle(group.arrival[rows])

    def _judge(self, group: Group, decoded: Decoded, too_long: NDArray[np.int64]) -> None:
        """Refuse records and reject entries, in the order of the records, so that faults in a row are counted as they came."""
        entries = decoded.entries
        faults: list[tuple[int, int | None, Rejection]] = [(row, None, rejection) for row, rejection in decoded.rejected]
        faults += [(int(entries.row[i]), int(entries.sub[i]), TOO_MANY_CHUNKS) for i in too_long.tolist()]
        faults.sort(key=lambda fault: fault[0])
        is_good = np.zeros(group.size, np.bool_)
        is_good[entries.row] = True
        is_good[entries.row[too_long]] = False
        done = 0
        for row, sub, rejection in faults:
            self._note_good(group, is_good, done, row)
            done = row
            receipt, row_there = group.locate(row)
            if sub is not None:
                receipt.reject(row_there, sub, 0, rejection)
                continue
            receipt.refuse(row_there, rejection)
            if rejection.kind == UNDECODABLE:
                self._undecodable.fault(receipt.records.topic, rejection.reason)
        self._note_good(group, is_good, done, group.size)

    def _note_good(self, group: Group, is_good: NDArray[np.bool_], first: int, end: int) -> None:
        for topic in group.topics_with(is_good, first, end):
            self._undecodable.good(topic)

    def _send(self, batches: Sequence[LineBatch]) -> None:
        joined = self._flights.join(batches)
        for batch, rejection in joined.rejected:
            batch.reject(rejection)
        self._outlets.store.put(joined.known)
        first, size = 0, _FIRST_TEMPLATES
        while first < len(joined.mine):
            self._take_off(joined.mine[first : first + size])
            first, size = first + size, min(2 * size, _MOST_TEMPLATES)

    def _take_off(self, mine: Sequence[tuple[str, str]]) -> None:
        """Finish the templates that are cached or stored already; the others go to the engine."""
        encoded = self._tokenizer.encode([self._prefix + text for _, text in mine])
        keys = {template: self._digester.digest(text) for template, text in mine}
        vectors = self._levels.find(keys)
        rewrite_found = self._rewrite_found()
        landings: list[Completed] = []
        cached: list[EmbeddedTemplate] = []
        to_embed: list[EncodedTemplate] = []
        for i, (template, text) in enumerate(mine):
            ids = encoded.text(i)
            found = vectors.get(template)
            if found is None:
                to_embed.append(EncodedTemplate(template, keys[template], text, ids))
            elif found.source == "index" and not rewrite_found:
                landings.append(Completed(template, len(ids), found.source))
            else:
                cached.append(EmbeddedTemplate(template, keys[template], text, found.vector, len(ids), found.source))
        self._outlets.store.put(cached)
        self._outlets.embed.put(to_embed)
        if landings:
            self._outlets.store.put(self._flights.land(landings))


def _rows_by_assignment(group: Group, is_so: NDArray[np.bool_]) -> Iterator[tuple[PartitionLedger, NDArray[np.int64] | slice]]:
    """Return the rows that `is_so`, bool[n], is true of, by assignment; those without any are left out."""
    if is_so.all():
        for assignment, begin, end in group.assignments:
            yield assignment, slice(begin, end)
        return
    rows = np.flatnonzero(is_so)
    first = 0
    for own, end in zip(group.assignments, np.searchsorted(rows, [own.end for own in group.assignments]).tolist(), strict=True):
        if end > first:
            yield own.assignment, rows[first:end]
            first = end


def _prepared(group: Group, lines: Lines, row: NDArray[np.int64]) -> _Prepared:
    """Divide lines by assignment; `row` is the record of each."""
    batches: list[LineBatch] = []
    ends: list[int] = np.searchsorted(row, [own.end for own in group.assignments]).tolist()
    first = 0
    for own, end in zip(group.assignments, ends, strict=True):
        if end > first:
            batches.append(LineBatch(own.assignment, group.arrival[row[first:end]], lines_between(lines, first, end)))
            first = end
    return _Prepared(lines, row, batches)
