"""Which entries are stored without text and fields, because a rule of `[[sample]]` meets more of them than are wanted.

A rule counts the entries of a partition by the second of Kafka's time, so a replay of old records samples as their day would have. The
first `above_per_s` of a second keep their texts, and of the others one in `keep`, by a hash of offset and entry. Where reading begins
within a second, other entries may be the first: so an entry that is stored without text counts as stored, whatever would become of it
now (`worker.indexing.stored_entries`), and one that is stored with its text stays so.
"""

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger
from consumers.columns import null_column, replace_rows
from consumers.decode.entries import Entries
from sinks.block import Lines
from worker.indexing.entry_rules import NO_RULE, EntryRules
from worker.settings.rule_tables import SampleTable

_MOST_SECONDS = 64
"""Seconds that a rule remembers of a partition: records of several producers come a little out of order."""
_BEGIN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
"""Of splitmix64, which is a good hash of a number (Steele and others 2014)."""


class SampledSeconds:
    """How many entries a rule has met in each of the latest seconds, of one partition.

    Thread: one, prepare's.
    """

    def __init__(self) -> None:
        self._met: dict[int, dict[int, int]] = {}
        """By rule, then by second."""

    def ranks(self, rule: int, second: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each of n ≥ 1 entries that a rule meets how many it has met before of that second: int64[n]."""
        met_before = self._met.setdefault(rule, {})
        order = np.argsort(second, kind="stable")
        ordered = second[order]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        sizes = np.diff(np.append(begins, len(ordered)))
        before = np.array([met_before.pop(one, 0) for one in ordered[begins].tolist()], np.int64)
        ranks = np.empty(len(second), np.int64)
        ranks[order] = np.arange(len(second)) - np.repeat(begins - before, sizes)
        met_before.update(zip(ordered[begins].tolist(), (before + sizes).tolist(), strict=True))
        for one in list(met_before)[: max(len(met_before) - _MOST_SECONDS, 0)]:
            del met_before[one]
        return ranks


class Sampling:
    """The seconds that the rules have met of each assignment.

    Thread: one, prepare's.
    """

    def __init__(self) -> None:
        self._seconds: dict[PartitionLedger, SampledSeconds] = {}

    def seconds_of(self, assignment: PartitionLedger) -> SampledSeconds:
        """Return the seconds of an assignment, for `Sampler.choose` to go on with."""
        return self._seconds.setdefault(assignment, SampledSeconds())

    def assignments(self) -> Collection[PartitionLedger]:
        """Return the assignments that entries were met of (AssignmentPlace)."""
        return self._seconds.keys()

    def drop(self, gone: Collection[PartitionLedger]) -> None:
        """Forget these assignments (WaitingPlace)."""
        for assignment in gone:
            self._seconds.pop(assignment, None)


class Sampler:
    """Chooses the entries that are stored without text and fields.

    Thread: one, prepare's.
    """

    def __init__(self, rules: Sequence[SampleTable], tally: Counter[str]) -> None:
        """`rules` are of this topic; `tally` counts what loses its text, by rule."""
        self._rules = rules
        self._entry_rules = EntryRules(rules)
        self._tally = tally

    def choose(
        self, entries: Entries, offset: NDArray[np.int64], kafka_ms: NDArray[np.int64], seconds: SampledSeconds
    ) -> NDArray[np.bool_]:
        """Return which of n entries of one partition lose their texts: bool[n]. `offset` and `kafka_ms` are int64[n], of their records."""
        met = self._entry_rules.first_met(entries)
        chosen = np.zeros(entries.size, np.bool_)
        for place in np.unique(met[met != NO_RULE]).tolist():
            rule = self._rules[place]
            rows = np.flatnonzero(met == place)
            rank = seconds.ranks(place, kafka_ms[rows] // 1000)
            is_above = rank >= rule.above_per_s
            is_kept = hash_places(offset[rows], entries.sub[rows]) % np.uint64(rule.keep) == 0
            chosen[rows] = is_above & ~is_kept
            self._tally[rule.name] += int(np.count_nonzero(chosen[rows]))
        return chosen


def hash_places(offset: NDArray[np.int64], sub: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return a hash of each entry's offset and number: uint64[n]."""
    hashed = (offset.astype(np.uint64) << np.uint64(20) ^ sub.astype(np.uint64)) + _BEGIN
    for shift, factor in zip((30, 27), _MIX, strict=True):
        hashed = (hashed ^ hashed >> np.uint64(shift)) * factor
    return hashed ^ hashed >> np.uint64(31)


def without_texts(lines: Lines, is_chosen: NDArray[np.bool_]) -> Lines:
    """Return the lines, some without text and fields; everything else stays, also how they were cut."""
    rows = np.flatnonzero(is_chosen)
    nulls = null_column(len(rows))
    return lines._replace(text=replace_rows(lines.text, rows, nulls), fields=replace_rows(lines.fields, rows, nulls))
