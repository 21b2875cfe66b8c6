"""Records that wait: for their topic's epoch, and for room; in order, and together with those of their partition."""

import numpy as np

from consumers.kafka.poll_budget import BUDGET_BYTES
from consumers.kafka.waiting import Arrived, WaitingRecords
from consumers.record import Partition
from tests.consumers.kafka.messages import Content, Message
from tests.consumers.records import LOGS_0, LOGS_1


def arrived(partition: Partition, *offsets: int, at_s: float = 0.0, value: bytes = b"x", key: bytes | None = None) -> Arrived:
    messages = [Message(partition, offset, content=Content(value, key)) for offset in offsets]
    return Arrived(at_s, partition, np.array(offsets, np.int64), messages)


def release(waiting: WaitingRecords, *, known: bool = True) -> list[tuple[Partition, str, list[int]]]:
    released = waiting.release(lambda partition, _at_s: "e" if known or partition == LOGS_1 else None, is_paused=False)
    return [(records.source, records.epoch, records.offset.tolist()) for records in released.records]


def test_records_without_an_epoch_wait_and_the_others_leave() -> None:
    waiting = WaitingRecords()
    for came in (arrived(LOGS_0, 0, 1), arrived(LOGS_1, 5, at_s=1.0), arrived(LOGS_0, 2, at_s=2.0)):
        waiting.add(came)
    assert waiting.topics() == {"logs": 2.0}
    assert release(waiting, known=False) == [(LOGS_1, "e", [5])]
    assert waiting.partitions() == {LOGS_0}
    assert release(waiting) == [(LOGS_0, "e", [0, 1, 2])]
    assert waiting.topics() == {}


def test_records_of_two_epochs_leave_apart() -> None:
    waiting = WaitingRecords()
    waiting.add(arrived(LOGS_0, 0, at_s=0.0))
    waiting.add(arrived(LOGS_0, 1, at_s=1.0))
    released = waiting.release(lambda _partition, at_s: f"e{at_s:.0f}", is_paused=False)
    assert [(records.epoch, records.offset.tolist()) for records in released.records] == [("e0", [0]), ("e1", [1])]


def test_what_has_no_room_leaves_first_the_next_time() -> None:
    waiting = WaitingRecords()
    half = bytes(BUDGET_BYTES // 2)
    for came in (arrived(LOGS_0, 0, 1, 2, value=half), arrived(LOGS_1, 7), arrived(LOGS_0, 3)):
        waiting.add(came)
    assert release(waiting) == [(LOGS_0, "e", [0, 1])]
    assert release(waiting) == [(LOGS_0, "e", [2, 3]), (LOGS_1, "e", [7])]
