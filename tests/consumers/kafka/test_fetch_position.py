"""The fetch position of a partition: which offset can be next, and when damaged data is fetched again."""

import numpy as np

from consumers.kafka.fetch_position import FetchPosition
from consumers.record import Partition

LOGS = Partition("logs", 3)
FAR = 1_000


def accept(position: FetchPosition, *offsets: int, end: int = FAR) -> int:
    """Return how many of the first are accepted."""
    return position.accept_offsets(LOGS, np.array(offsets, np.int64), end)


def test_the_first_record_of_an_empty_log_cannot_be() -> None:
    assert accept(FetchPosition(), 0, end=0) == 0, "where nothing says that it is the next one"


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
    assert accept(position, 5) == 1
    position.schedule_refetch(LOGS, 0.0)
    assert position.due_refetches(0.1) == [LOGS]


def test_with_its_assignment_a_course_ends() -> None:
    position = FetchPosition()
    position.start_at(LOGS, 40)
    position.schedule_refetch(LOGS, 0.0)
    position.drop([LOGS])
    assert position.next_offset(LOGS) is None
    assert position.due_refetches(99.0) == []
