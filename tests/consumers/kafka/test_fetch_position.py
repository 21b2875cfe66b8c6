"""The course of a partition: what can be next, and when what came damaged is fetched again."""

from consumers.kafka.fetch_position import FetchPosition
from consumers.record import Partition

LOGS = Partition("logs", 3)
FAR = 1_000


def test_records_come_in_order_and_gaps_are_no_harm() -> None:
    course = FetchPosition()
    assert all(course.takes(LOGS, offset, FAR) for offset in (7, 8, 40))
    assert course.next_offset(LOGS) == 41


def test_what_came_before_or_lies_behind_the_end_cannot_be_next() -> None:
    course = FetchPosition()
    course.begin(LOGS, 40)
    assert not course.takes(LOGS, 39, FAR)
    assert not course.takes(LOGS, FAR, FAR)
    assert course.next_offset(LOGS) == 40
    assert course.takes(LOGS, FAR, -1001), "a broker that said nothing of an end is no proof"


def test_the_very_next_record_is_taken_though_the_end_that_came_with_it_is_older() -> None:
    course = FetchPosition()
    course.begin(LOGS, 40)
    assert course.takes(LOGS, 40, 40)
    assert course.takes(LOGS, 41, 38)
    assert not course.takes(LOGS, 43, 38)


def test_a_partition_that_is_set_back_goes_back_after_a_while_and_longer_each_time_in_vain() -> None:
    course = FetchPosition()
    waits_s: list[float] = []
    for _ in range(9):
        course.set_back(LOGS, 0.0)
        waits_s.append(next(hundredths / 100 for hundredths in range(2000) if course.due(hundredths / 100)))
        course.returned(LOGS)
        assert not course.is_set_back(LOGS)
    assert waits_s[:3] == [0.1, 0.2, 0.4]
    assert waits_s[-1] == 10.0
    assert course.takes(LOGS, 5, FAR)
    course.set_back(LOGS, 0.0)
    assert course.due(0.1) == [LOGS]


def test_with_its_assignment_a_course_ends() -> None:
    course = FetchPosition()
    course.begin(LOGS, 40)
    course.set_back(LOGS, 0.0)
    course.forget([LOGS])
    assert course.next_offset(LOGS) is None
    assert course.due(99.0) == []
