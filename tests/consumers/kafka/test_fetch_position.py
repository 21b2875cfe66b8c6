"""The fetch position of a partition: which offset can be next, and when damaged data is fetched again."""

from consumers.kafka.fetch_position import FetchPosition
from consumers.record import Partition

LOGS = Partition("logs", 3)
FAR = 1_000


def test_records_come_in_order_and_gaps_are_no_harm() -> None:
    position = FetchPosition()
    assert all(position.accept_offset(LOGS, offset, FAR) for offset in (7, 8, 40))
    assert position.next_offset(LOGS) == 41


def test_what_came_before_or_lies_behind_the_end_cannot_be_next() -> None:
    position = FetchPosition()
    position.start_at(LOGS, 40)
    assert not position.accept_offset(LOGS, 39, FAR)
    assert not position.accept_offset(LOGS, FAR, FAR)
    assert position.next_offset(LOGS) == 40
    assert position.accept_offset(LOGS, FAR, -1001), "a broker that said nothing of an end is no proof"


def test_the_very_next_record_is_taken_though_the_end_that_came_with_it_is_older() -> None:
    position = FetchPosition()
    position.start_at(LOGS, 40)
    assert position.accept_offset(LOGS, 40, 40)
    assert position.accept_offset(LOGS, 41, 38)
    assert not position.accept_offset(LOGS, 43, 38)


def test_a_partition_that_is_set_back_goes_back_after_a_while_and_longer_each_time_in_vain() -> None:
    position = FetchPosition()
    waits_s: list[float] = []
    for _ in range(9):
        position.schedule_refetch(LOGS, 0.0)
        waits_s.append(next(hundredths / 100 for hundredths in range(2000) if position.due_refetches(hundredths / 100)))
        position.on_refetch(LOGS)
        assert not position.is_refetching(LOGS)
    assert waits_s[:3] == [0.1, 0.2, 0.4]
    assert waits_s[-1] == 10.0
    assert position.accept_offset(LOGS, 5, FAR)
    position.schedule_refetch(LOGS, 0.0)
    assert position.due_refetches(0.1) == [LOGS]


def test_with_its_assignment_a_course_ends() -> None:
    position = FetchPosition()
    position.start_at(LOGS, 40)
    position.schedule_refetch(LOGS, 0.0)
    position.end_assignment([LOGS])
    assert position.next_offset(LOGS) is None
    assert position.due_refetches(99.0) == []
