"""Records that are admitted and settled together: sizes, waiting, letters, and what is still reachable afterwards."""

import tracemalloc

import numpy as np

from consumers.assignment import Receipt
from consumers.ledger import Ledger
from consumers.record import Record, Records, records_of
from tests.consumers.records import LOGS_0, Letters, admit_batch, new_ledger, numbers, record, rejection


class Value(bytes):
    """The value of a record, which says when it is freed."""

    freed: list[bytes]

    def __del__(self) -> None:
        self.freed.append(bytes(self))


def batch(*values: bytes) -> Records:
    return records_of([record(offset, value) for offset, value in enumerate(values)])


def expect_all(receipt: Receipt, pieces: int = 1, decoded_bytes: int = 10) -> None:
    size = receipt.records.size
    receipt.expect(numbers(*range(size)), numbers(*[pieces] * size), numbers(*[decoded_bytes] * size))


def values_of(receipt: Receipt | None) -> list[bytes | None]:
    return [] if receipt is None else list(receipt.records.value)


def test_sizes_at_hand_are_not_measured_again() -> None:
    ledger = new_ledger(cap_bytes=100)
    admitted = ledger.admit(batch(b"x", b"y", b"z"), numbers(40, 50, 60))
    assert values_of(admitted) == [b"x", b"y"]
    assert ledger.open_bytes == 90


def test_since_when_the_oldest_record_is_open_follows_the_batches() -> None:
    now_s = [100.0]
    ledger = Ledger(cap_records=100, cap_bytes=1_000, dead_letter=Letters(), clock=lambda: now_s[0])
    ledger.assign([LOGS_0])
    first = admit_batch(ledger, record(0), record(1))
    now_s[0] = 107.0
    second = admit_batch(ledger, record(2), record(3))
    second.drop(numbers(0), "empty")
    first.drop(numbers(0), "empty")
    assert ledger.oldest_open_s() == {LOGS_0: 100.0}
    first.drop(numbers(1), "empty")
    assert ledger.oldest_open_s() == {LOGS_0: 107.0}
    second.drop(numbers(1), "empty")
    assert ledger.oldest_open_s() == {}


def test_waiting_for_room_ends_when_the_record_fits_and_an_eighth_of_the_cap_is_free() -> None:
    ledger = new_ledger(cap_records=8, cap_bytes=800)
    claims = [admit_batch(ledger, record(offset, b"x" * 100)).claim(0) for offset in range(8)]
    assert not ledger.wait_for_room(1, 0.0)
    claims[1].drop("empty")
    assert not ledger.wait_for_room(1, 0.0), "its place is not free, behind an open record"
    claims[0].drop("empty")
    assert ledger.wait_for_room(200, 0.0)
    assert not ledger.wait_for_room(201, 0.0)
    for claim in claims[2:]:
        claim.drop("empty")
    assert ledger.wait_for_room(801, 0.0), "nothing else is open"


def admitted_values(ledger: Ledger, freed: list[bytes], sizes_bytes: list[int]) -> Receipt:
    """Admit values that append themselves to `freed` when nothing can reach them."""
    Value.freed = freed
    return admit_batch(ledger, *(record(offset, Value(b"%d" % offset * size)) for offset, size in enumerate(sizes_bytes)))


def test_values_of_finished_records_are_let_go_once_less_than_half_of_the_bytes_are_open() -> None:
    freed: list[bytes] = []
    ledger = new_ledger()
    receipt = admitted_values(ledger, freed, [10, 10, 10, 10, 61])
    assignment, arrival = receipt.assignment, receipt.arrival
    expect_all(receipt)
    del receipt
    assignment.settle(arrival[[0, 2]])
    assert freed == []
    assignment.settle(arrival[[4]])
    assert sorted(freed) == [b"0" * 10, b"2" * 10, b"4" * 61]
    assignment.settle(arrival[[3]])
    assert len(freed) == 3, "half of what is kept is open"
    assignment.settle(arrival[[1]])
    assert len(freed) == 5


def test_a_letter_brings_the_original_though_its_batch_was_cut_several_times() -> None:
    letters = Letters()
    ledger = new_ledger(letters=letters)
    receipt = ledger.admit(
        records_of([record(offset, b"line %d" % offset, key=b"key %d" % offset, headers=(("n", b"%d" % offset),)) for offset in range(64)])
    )
    assert receipt is not None
    expect_all(receipt)
    others = [row for row in range(64) if row not in (37, 63)]
    for rows in (others[::2], others[1::4], others[3::4]):
        receipt.settle(numbers(*rows))
    receipt.reject(37, 0, 0, rejection("bad"))
    receipt.reject(63, 0, 0, rejection("bad"))
    originals: list[Record] = [claim.record for claim, _, _ in letters.posted]
    assert originals == [receipt.records.record(37), receipt.records.record(63)]
    assert originals[0].value == b"line 37"


def test_a_backlog_that_is_settled_leaves_no_memory_behind() -> None:
    ledger = Ledger(cap_records=10**6, cap_bytes=10**9, dead_letter=Letters())
    ledger.assign([LOGS_0])
    tracemalloc.start()
    receipts = [admit_batch(ledger, *map(record, range(begin, begin + 10_000))) for begin in range(0, 50_000, 10_000)]
    backlog_bytes, _ = tracemalloc.get_traced_memory()
    while receipts:
        receipts.pop().drop(np.arange(10_000), "empty")
    left_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ledger.committable() == {LOGS_0: 50_000}
    assert backlog_bytes > 3_000_000
    assert left_bytes < 100_000
