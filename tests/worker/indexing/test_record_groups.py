"""Groups of records: what is worked at once, in which order, and where each record came from."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.assignment import Receipt
from consumers.columns import as_texts, coded_texts, null_column, string_column
from consumers.decode.entries import Decoded, Entries
from consumers.ledger import Ledger
from consumers.record import Partition
from tests.consumers.records import admit_batch, new_ledger, record, rejection
from worker.indexing.record_groups import RecordGroup, groups_of, parts_of

LOGS_0, LOGS_1, OTHER = Partition("logs", 0), Partition("logs", 1), Partition("other", 0)


class Admitted:
    """Admits records; each has its own offset, and a value of the size that is asked for."""

    def __init__(self) -> None:
        self.ledger: Ledger = new_ledger(cap_records=1_000, cap_bytes=1 << 20)
        self.ledger.assign([OTHER])
        self._offset = 0

    def receipt(self, *sizes: int | None, partition: Partition = LOGS_0) -> Receipt:
        first, self._offset = self._offset, self._offset + len(sizes)
        values = [None if size is None else b"x" * size for size in sizes]
        made = [record(offset, value, partition=partition) for offset, value in enumerate(values, start=first)]
        return admit_batch(self.ledger, *made)


def offsets(groups: Sequence[RecordGroup]) -> list[list[int]]:
    return [group.offset.tolist() for group in groups]


@pytest.fixture
def admitted() -> Admitted:
    return Admitted()


def test_the_records_of_an_assignment_are_neighbours_and_keep_their_order(admitted: Admitted) -> None:
    receipts = [admitted.receipt(1, 1), admitted.receipt(1, partition=LOGS_1), admitted.receipt(1), admitted.receipt(1, partition=OTHER)]
    (group,) = groups_of(receipts)
    assert group.offset.tolist() == [0, 1, 3, 2, 4]
    assert group.arrival.tolist() == [0, 1, 2, 0, 0]
    assert group.time_ms.tolist() == [record(offset).time_ms for offset in group.offset.tolist()]
    assert [(own.assignment.partition, own.begin, own.end) for own in group.assignments] == [
        (LOGS_0, 0, 3),
        (LOGS_1, 3, 4),
        (OTHER, 4, 5),
    ]


def test_a_new_assignment_of_the_same_partition_is_another_one(admitted: Admitted) -> None:
    old = admitted.receipt(1)
    admitted.ledger.revoke([LOGS_0])
    admitted.ledger.assign([LOGS_0])
    (group,) = groups_of([old, admitted.receipt(1)])
    assert [own.assignment for own in group.assignments] == [old.assignment, group.stretches[1].receipt.assignment]
    alive = group.without({old.assignment})
    assert alive is not None
    assert (alive.offset.tolist(), alive.arrival.tolist()) == ([1], [0])
    assert alive.without({alive.stretches[0].receipt.assignment}) is None


def test_a_group_is_full_by_the_bytes_of_its_values(admitted: Admitted) -> None:
    receipts = [admitted.receipt(4, None, 6), admitted.receipt(1, 9, 0)]
    assert offsets(list(groups_of(receipts, most_bytes=10))) == [[0, 1, 2], [3, 4, 5]]
    assert offsets(list(groups_of(receipts, most_bytes=9))) == [[0, 1], [2, 3], [4, 5]]


def test_a_value_that_is_larger_than_a_group_is_worked_alone(admitted: Admitted) -> None:
    assert offsets(list(groups_of([admitted.receipt(1, 50, 60, 1)], most_bytes=10))) == [[0], [1], [2], [3]]
    assert offsets(list(groups_of([admitted.receipt(50)], most_bytes=10))) == [[4]]
    assert list(groups_of([])) == []


def test_a_record_is_found_again_in_its_receipt(admitted: Admitted) -> None:
    receipts = [admitted.receipt(1, 1, 1), admitted.receipt(1, partition=OTHER), admitted.receipt(1, 1)]
    for group in groups_of(receipts, most_records=4):
        for part in (group, group.between(1, group.size)) if group.size > 1 else (group,):
            for row in range(part.size):
                receipt, row_there = part.locate(row)
                assert receipt.records.offset[row_there] == part.offset[row]
                assert receipt.arrival[row_there] == part.arrival[row]
                assert receipt.records.value[row_there] is part.value[row]


def test_topics_are_those_of_the_records_in_question(admitted: Admitted) -> None:
    receipts = [admitted.receipt(1, 1), admitted.receipt(1, 1, partition=OTHER), admitted.receipt(1, partition=LOGS_1)]
    (group,) = groups_of(receipts)
    is_so = np.array([False, True, True, False, False])
    assert group.topics_with(is_so, 0, 5) == {"logs", "other"}
    assert group.topics_with(is_so, 0, 1) == group.topics_with(is_so, 3, 5) == group.topics_with(is_so, 2, 2) == set()
    assert group.topics_with(is_so, 1, 2) == {"logs"}
    assert group.topics_with(is_so, 2, 5) == {"other"}


def decoded_of(entries_of: Sequence[int]) -> Decoded:
    """Return what became of records with so many entries each; of those without any, every second one was rejected."""
    row = np.repeat(np.arange(len(entries_of)), entries_of)
    sub = np.array([sub for entries in entries_of for sub in range(entries)], np.int32)
    names = [f"entry {r} {s}" for r, s in zip(row.tolist(), sub.tolist(), strict=True)]
    none = [r for r, entries in enumerate(entries_of) if not entries]
    entries = Entries(
        row, sub, string_column(names), row * 10, coded_texts(name[:7] for name in names), coded_texts(names), null_column(len(names))
    )
    return Decoded(entries, np.array(none[::2], np.int64), [(r, rejection(f"{r}")) for r in none[1::2]])


@settings(deadline=None)
@given(
    entries_of=st.lists(st.integers(0, 5), min_size=1, max_size=20), most=st.integers(1, 8), sizes=st.lists(st.integers(1, 5), min_size=20)
)
def test_parts_are_whole_records_with_few_entries_and_together_they_are_the_group(
    entries_of: list[int], most: int, sizes: list[int]
) -> None:
    admitted = Admitted()
    receipts: list[Receipt] = []
    for size in sizes:
        left = len(entries_of) - sum(receipt.records.size for receipt in receipts)
        if left:
            receipts.append(admitted.receipt(*[1] * min(size, left), partition=(LOGS_0, LOGS_1)[len(receipts) // 2 % 2]))
    (group,) = groups_of(receipts)
    decoded = decoded_of(entries_of)
    first = 0
    for part, own in parts_of(group, decoded, most_entries=most):
        assert own.entries.size <= most or len(set(own.entries.row.tolist())) == 1
        assert part.offset.tolist() == group.offset[first : first + part.size].tolist()
        assert part.arrival.tolist() == group.arrival[first : first + part.size].tolist()
        texts, levels = as_texts(own.entries.text), [own.entries.level.text(i) for i in range(own.entries.size)]
        assert texts == levels == [f"entry {row + first} {sub}" for row in range(part.size) for sub in range(entries_of[row + first])]
        assert set(own.entries.level.values) == set(levels), "values that are used"
        assert (own.entries.time_ms == (own.entries.row + first) * 10).all()
        there = range(first, first + part.size)
        assert [row + first for row in own.empty.tolist()] == [row for row in decoded.empty.tolist() if row in there]
        assert [(row + first, why) for row, why in own.rejected] == [(row, why) for row, why in decoded.rejected if row in there]
        first += part.size
    assert first == group.size
