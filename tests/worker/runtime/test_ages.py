"""QueueAges of what waits: against a queue that notes each entry."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from worker.runtime.lane import QueueAges

STEPS = st.lists(st.tuples(st.booleans(), st.integers(min_value=0, max_value=7)))


@given(STEPS)
def test_the_first_to_go_is_as_old_as_if_each_had_been_noted(steps: list[tuple[bool, int]]) -> None:
    ages, queue = QueueAges(), deque[float]()
    for now_s, (is_coming, count) in enumerate(steps):
        if is_coming:
            ages.came(count, now_s)
            queue.extend([now_s] * count)
        elif 0 < count <= len(queue):
            gone = [queue.popleft() for _ in range(count)]
            assert ages.gone(count) == gone[0]


def test_what_was_cleared_is_forgotten() -> None:
    ages = QueueAges()
    ages.came(3, 1.0)
    ages.clear()
    ages.came(1, 5.0)
    assert ages.gone(1) == 5.0
