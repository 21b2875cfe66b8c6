"""The ledger by example, and its thread safety; `tests/properties/test_ledger.py` has the longer histories."""

import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from consumers.assignment import Claim
from consumers.ledger import Ledger
from consumers.rejection import RejectedPiece
from tests.consumers.records import LOGS_0, LOGS_1, Letters, admit, admit_batch, new_ledger, numbers, record, rejection

WAIT_S = 20.0
FOR_EVER_S = 10_000.0


def settle(claim: Claim) -> None:
    claim.expect(1, decoded_bytes=10)
    claim.settle()


def ends_after(waiting: Callable[[], bool], what: Callable[[], object]) -> bool:
    """Return whether an unlimited wait on another thread returns True once `what` is done here."""
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(waiting()), daemon=True)
    thread.start()
    what()
    thread.join(WAIT_S)
    return results == [True]


@pytest.fixture
def threads_switch_all_the_time() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_a_record_with_rejects_is_committable_when_its_letter_is_delivered_not_before() -> None:
    too_long, not_finite = rejection("too long"), rejection("not finite")
    letters = Letters()
    ledger = new_ledger(letters=letters)
    receipt = admit_batch(ledger, record(0))
    receipt.expect(numbers(0), numbers(3), numbers(9))
    receipt.reject(0, 0, 1, too_long)
    receipt.settle(numbers(0))
    assert letters.posted == []
    receipt.reject(0, 1, 0, not_finite)
    ((claim, first, rejects),) = letters.posted
    assert (claim.record, first) == (record(0), too_long)
    assert rejects == [RejectedPiece(0, 1, too_long), RejectedPiece(1, 0, not_finite)]
    assert ledger.committable() == {}
    letters.deliver_all()
    assert ledger.committable() == {LOGS_0: 1}
    assert ledger.decoded_bytes == 0
    assert ledger.tally == {"admitted": 1, "dead_letter": 1}


def test_waiting_ends_when_the_last_record_of_the_watched_partitions_is_settled() -> None:
    ledger = new_ledger()
    watched, _other = admit(ledger, record(0), record(0, partition=LOGS_1))
    assert not ledger.wait_until_settled([LOGS_0], 0.0)
    assert ends_after(lambda: ledger.wait_until_settled([LOGS_0], FOR_EVER_S), lambda: settle(watched))
    assert not ledger.wait_until_settled([LOGS_0, LOGS_1], 0.0)


def test_waiting_for_decoded_room_ends_when_a_record_is_done() -> None:
    ledger = new_ledger(cap_bytes=100)
    (claim,) = admit(ledger, record(0))
    claim.expect(1, decoded_bytes=100)
    assert not ledger.wait_for_decoded_room(0.0)
    assert ends_after(lambda: ledger.wait_for_decoded_room(FOR_EVER_S), claim.settle)


@pytest.mark.usefixtures("threads_switch_all_the_time")
def test_pieces_settled_by_many_threads_are_each_counted_once() -> None:
    letters = Letters()
    ledger = Ledger(cap_records=10_000, cap_bytes=10**9, dead_letter=letters)
    ledger.assign([LOGS_0, LOGS_1])
    receipts = [
        admit_batch(ledger, *(record(offset, partition=partition) for offset in range(begin + (partition is LOGS_0), begin + 20, 2)))
        for begin in range(0, 400, 20)
        for partition in (LOGS_0, LOGS_1)
    ]
    rows = np.arange(10)
    for receipt in receipts:
        receipt.expect(rows, np.full(10, 4), np.full(10, 3))
    start = threading.Barrier(4)

    def work(number: int) -> None:
        start.wait(WAIT_S)
        for receipt in receipts:
            rejected = rows[receipt.records.offset % 5 == 0] if number == 3 else rows[:0]
            for row in rejected.tolist():
                receipt.reject(row, 0, number, rejection("asked to"))
            receipt.settle(np.setdiff1d(rows, rejected))

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert len(letters.posted) == 80
    assert len({claim.record[1:3] for claim, _, _ in letters.posted}) == 80
    letters.deliver_all()
    assert (ledger.open_records, ledger.open_bytes, ledger.decoded_bytes) == (0, 0, 0)
    assert ledger.committable() == {LOGS_0: 400, LOGS_1: 399}
    assert ledger.tally == {"admitted": 400, "indexed": 320, "dead_letter": 80}
