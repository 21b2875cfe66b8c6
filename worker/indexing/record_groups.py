"""Groups: the records that prepare works at once, of one partition or of several that are read alike, as columns."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import PartitionLedger, Receipt
from consumers.decode.entries import Decoded
from consumers.record import Header

GROUP_RECORDS = 8_000
"""Patterns are compiled for every list of lines: a third of the masks' time with 500 lines, a tenth with 2,000."""
GROUP_BYTES = 4 * 1024 * 1024
"""Of values: what is decoded, and held by prepare, before the next look whether there is room for more."""
MOST_ENTRIES = 16_384
"""Entries that are worked at once, unless one record has more: a value of 100 KB may hold 10,000."""


class Stretch(NamedTuple):
    """Neighbouring records of one receipt.

    Thread: any.
    """

    receipt: Receipt
    first: int
    """Row of the first record in the receipt."""
    begin: int
    """Row of the first record in the group."""
    end: int
    """Row after the last record in the group."""


class OwnRecords(NamedTuple):
    """The records of one assignment in a group.

    Thread: any.
    """

    assignment: PartitionLedger
    begin: int
    """Row of the first one in the group."""
    end: int
    """Row after the last one in the group."""


class RecordGroup(NamedTuple):
    """n ≥ 1 records as columns, each of length n; those of one assignment are neighbours, in their order.

    Thread: any.
    """

    stretches: list[Stretch]
    assignments: list[OwnRecords]
    offset: NDArray[np.int64]
    time_ms: NDArray[np.int64]
    leader_epoch: NDArray[np.int32]
    arrival: NDArray[np.int64]
    value: list[bytes | None]
    headers: list[tuple[Header, ...]] | None
    """None: no record has any."""

    @property
    def size(self) -> int:
        """How many records; `len` counts the columns."""
        return len(self.value)

    @property
    def topic(self) -> str:
        """The topic of the first record; the others' topics are read in the same way."""
        return self.stretches[0].receipt.records.topic

    def keys(self) -> list[bytes | None] | None:
        """Return the key of each record; None: no record has one."""
        if all(one.receipt.records.key is None for one in self.stretches):
            return None
        keys: list[bytes | None] = []
        for receipt, first, begin, end in self.stretches:
            some = receipt.records.key
            keys += [None] * (end - begin) if some is None else some[first : first + end - begin]
        return keys

    def locate(self, row: int) -> tuple[Receipt, int]:
        """Return the receipt of a record, and its row there."""
        stretch = self.stretches[self._stretch_of(row)]
        return stretch.receipt, stretch.first + row - stretch.begin

    def topics_with(self, is_so: NDArray[np.bool_], first: int, end: int) -> set[str]:
        """Return the topics of those of the records `first` to before `end` that `is_so`, bool[n], is true of."""
        topics: set[str] = set()
        for stretch in islice(self.stretches, self._stretch_of(first), None):
            if stretch.begin >= end:
                break
            topic = stretch.receipt.records.topic
            if topic not in topics and is_so[max(first, stretch.begin) : min(end, stretch.end)].any():
                topics.add(topic)
        return topics

    def without(self, assignments: Collection[PartitionLedger]) -> "RecordGroup | None":
        """Return the records of the other assignments; None if there are none."""
        others = [one for one in self.stretches if one.receipt.assignment not in assignments]
        return _group_of([(one.receipt, one.first, one.first + one.end - one.begin) for one in others]) if others else None

    def after(self, before: Mapping[PartitionLedger, Receipt]) -> "RecordGroup":
        """Return this group with earlier records of some of its assignments in front of theirs."""
        rows: list[tuple[Receipt, int, int]] = []
        for receipt, first, begin, end in self.stretches:
            is_first = not rows or rows[-1][0].assignment is not receipt.assignment
            if is_first and (earlier := before.get(receipt.assignment)) is not None:
                rows.append((earlier, 0, earlier.records.size))
            rows.append((receipt, first, first + end - begin))
        return _group_of(rows)

    def between(self, first: int, end: int) -> "RecordGroup":
        """Return the records `first` to before `end`."""
        return _group_of(
            [
                (one.receipt, one.first + max(first - one.begin, 0), one.first + min(end, one.end) - one.begin)
                for one in self.stretches
                if one.begin < end and one.end > first
            ]
        )

    def _stretch_of(self, row: int) -> int:
        return bisect_right(self.stretches, row, key=attrgetter("end"))


def groups_of(
    receipts: Sequence[Receipt],
    *,
    kind_of: Callable[[str], Hashable] = lambda _topic: None,
    most_records: int = GROUP_RECORDS,
    most_bytes: int = GROUP_BYTES,
) -> Iterator[RecordGroup]:
    """Cut the records of several receipts into groups; one whose value is larger than `most_bytes` is a group of its own.

    Topics with different `kind_of` are never in one group.
    """
    by_kind: dict[Hashable, dict[PartitionLedger, list[Receipt]]] = {}
    for receipt in receipts:
        by_kind.setdefault(kind_of(receipt.records.topic), {}).setdefault(receipt.assignment, []).append(receipt)
    for by_assignment in by_kind.values():
        yield from _cut([one for own in by_assignment.values() for one in own], most_records, most_bytes)


def _cut(receipts: Sequence[Receipt], most_records: int, most_bytes: int) -> Iterator[RecordGroup]:
    """Cut receipts, in their order; those of an assignment are neighbours."""
    group: list[tuple[Receipt, int, int]] = []
    records = size_bytes = 0
    for receipt in receipts:
        sizes = receipt.records.value_bytes()
        first, left_bytes = 0, int(sizes.sum())
        while first < len(sizes):
            if records + len(sizes) - first <= most_records and size_bytes + left_bytes <= most_bytes:
                end, taken_bytes = len(sizes), left_bytes
            else:
                sums_bytes = np.cumsum(sizes[first : first + most_records - records])
                fitting = int(np.searchsorted(sums_bytes, most_bytes - size_bytes, side="right"))
                if not fitting and group:
                    yield _group_of(group)
                    group, records, size_bytes = [], 0, 0
                    continue
                end = first + max(fitting, 1)
                taken_bytes = int(sums_bytes[end - first - 1])
            group.append((receipt, first, end))
            records, size_bytes = records + end - first, size_bytes + taken_bytes
            first, left_bytes = end, left_bytes - taken_bytes
    if group:
        yield _group_of(group)


def parts_of(group: RecordGroup, decoded: Decoded, *, most_entries: int = MOST_ENTRIES) -> Iterator[tuple[RecordGroup, Decoded]]:
    """Cut a group between records, so that few entries are worked at once, however many its records have."""
    entries = decoded.entries
    if entries.size <= most_entries:
        yield group, decoded
        return
    first = 0
    while first < group.size:
        after = int(np.searchsorted(entries.row, first)) + most_entries
        end = group.size if after >= entries.size else max(int(entries.row[after]), first + 1)
        yield group.between(first, end), _decoded_between(decoded, first, end)
        first = end


def _decoded_between(decoded: Decoded, first: int, end: int) -> Decoded:
    """Copy what became of the values `first` to before `end`."""
    entries, empty = decoded.entries, decoded.empty
    rows = np.arange(*np.searchsorted(entries.row, [first, end]))
    return Decoded(
        entries.take(rows)._replace(row=entries.row[rows] - first),
        empty[(empty >= first) & (empty < end)] - first,
        [(row - first, rejection) for row, rejection in decoded.rejected if first <= row < end],
    )


def _group_of(rows: Sequence[tuple[Receipt, int, int]]) -> RecordGroup:
    """Return rows `first` to before `end` of each of several receipts."""
    stretches: list[Stretch] = []
    assignments: list[OwnRecords] = []
    begin = 0
    for receipt, first, end in rows:
        stretches.append(Stretch(receipt, first, begin, begin + end - first))
        is_next = not assignments or assignments[-1].assignment is not receipt.assignment
        own_begin = begin if is_next else assignments.pop().begin
        begin += end - first
        assignments.append(OwnRecords(receipt.assignment, own_begin, begin))
    return RecordGroup(
        stretches,
        assignments,
        np.concatenate([receipt.records.offset[first:end] for receipt, first, end in rows]),
        np.concatenate([receipt.records.time_ms[first:end] for receipt, first, end in rows]),
        np.concatenate([receipt.records.leader_epochs()[first:end] for receipt, first, end in rows]),
        np.concatenate([receipt.arrival[first:end] for receipt, first, end in rows]),
        [value for receipt, first, end in rows for value in receipt.records.value[first:end]],
        _headers_of(rows),
    )


def _headers_of(rows: Sequence[tuple[Receipt, int, int]]) -> list[tuple[Header, ...]] | None:
    if all(receipt.records.headers is None for receipt, _, _ in rows):
        return None
    headers: list[tuple[Header, ...]] = []
    for receipt, first, end in rows:
        some = receipt.records.headers
        headers += [()] * (end - first) if some is None else some[first:end]
    return headers
