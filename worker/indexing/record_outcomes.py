"""What becomes of records in prepare besides their lines: dropped, refused, rejected in part, or ended with the record before them.

Everything here settles records or says how they will be; the groups of records are those of `worker.indexing.prepare`, its only caller.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger
from consumers.decode.entries import Decoded, Entries
from consumers.decode.found import UNDECODABLE, UNKNOWN_SCHEMA
from consumers.rejection import Rejection
from worker.indexing.dead_letter_reasons import TOO_MANY_CHUNKS
from worker.indexing.entry_rules import NO_RULE
from worker.indexing.record_groups import RecordGroup
from worker.indexing.topic_readers import RuleTally, TopicReader
from worker.runtime.limits import TopicFaultLimits


class RecordOutcomes:
    """Each record of a group is in at most one of what its calls drop, refuse and reject.

    Thread: one, prepare's.
    """

    def __init__(self, undecodable: TopicFaultLimits, rule_tally: RuleTally) -> None:
        self._undecodable = undecodable
        self.rule_tally = rule_tally

    def drop_empty(self, group: RecordGroup, decoded: Decoded) -> None:
        """Drop the records that hold nothing to index."""
        if not len(decoded.empty):
            return
        is_empty, is_tombstone = np.zeros(group.size, np.bool_), np.zeros(group.size, np.bool_)
        is_empty[decoded.empty] = True
        is_tombstone[[row for row in decoded.empty.tolist() if group.value[row] is None]] = True
        for reason, is_so in (("tombstone", is_tombstone), ("empty", is_empty & ~is_tombstone)):
            for assignment, rows in rows_by_assignment(group, is_so):
                assignment.drop(group.arrival[rows], reason)

    def drop_by_rule(self, group: RecordGroup, decoded: Decoded, reader: TopicReader) -> Decoded:
        """Drop the entries that rules of the settings name, and the records that have no other ones."""
        entries = decoded.entries
        rule_of = reader.dropped_by(entries)
        if rule_of is None or reader.drop is None:
            return decoded
        is_left = rule_of == NO_RULE
        has_left = np.zeros(group.size, np.bool_)
        has_left[entries.row[is_left]] = True
        last_rule = np.full(group.size, NO_RULE)
        last_rule[entries.row] = rule_of
        for row, records in () if entries.records is None else zip(entries.row.tolist(), entries.records.tolist(), strict=True):
            last_rule[row : row + records] = last_rule[row]
        for place, rule in enumerate(reader.drop.rules):
            self.rule_tally.dropped[rule.name] += int(np.count_nonzero(rule_of == place))
            for assignment, rows in rows_by_assignment(group, (last_rule == place) & ~has_left):
                assignment.drop(group.arrival[rows], f"rule:{rule.name}")
        return decoded._replace(entries=entries.take(np.flatnonzero(is_left)))

    def judge(self, group: RecordGroup, decoded: Decoded, too_long: NDArray[np.int64]) -> None:
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
            if rejection.kind in (UNDECODABLE, UNKNOWN_SCHEMA):
                self._undecodable.fault(receipt.records.topic, rejection.reason)
        self._note_good(group, is_good, done, group.size)

    def _note_good(self, group: RecordGroup, is_good: NDArray[np.bool_], first: int, end: int) -> None:
        for topic in group.topics_with(is_good, first, end):
            self._undecodable.good(topic)


def emptied_records(group: RecordGroup, decoded: Decoded, reader: TopicReader) -> NDArray[np.bool_]:
    """Return which records hold nothing to index: bool[n]."""
    entries = decoded.entries
    emptied = np.zeros(group.size, np.bool_)
    emptied[decoded.empty] = True
    emptied[[row for row, _ in decoded.rejected]] = True
    rule_of = reader.dropped_by(entries)
    if rule_of is not None:
        emptied[entries.row] = True
        emptied[entries.row[rule_of == NO_RULE]] = False
    return emptied


def overlong_records(group: RecordGroup, entries: Entries, too_long: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the same of records whose every entry has too many chunks."""
    emptied = np.zeros(group.size, np.bool_)
    emptied[entries.row[too_long]] = True
    emptied[np.delete(entries.row, too_long)] = False
    return emptied


def let_follow(group: RecordGroup, entries: Entries) -> None:
    """Let the other records of an event end as its first one does."""
    if entries.records is None or (entries.records == 1).all():
        return
    followers = np.zeros(group.size, np.int64)
    followers[entries.row] = entries.records - 1
    for assignment, rows in rows_by_assignment(group, followers > 0):
        assignment.follow(group.arrival[rows], followers[rows])


def rows_by_assignment(group: RecordGroup, is_so: NDArray[np.bool_]) -> Iterator[tuple[PartitionLedger, NDArray[np.int64] | slice]]:
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
