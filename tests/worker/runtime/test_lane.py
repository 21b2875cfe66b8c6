"""Lanes between threads: order, urgency, sizes, wakes, the two ways to end, and the ages of what waits."""

import threading
from collections import Counter, deque
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.runtime.fair_share import FairQueue
from worker.runtime.lane import Lane, QueueAges

WAIT_S = 20.0
_MOMENT_S = 0.02
"""Long enough for a thread that does not wait to return."""


@pytest.fixture
def lane() -> Lane[int]:
    return Lane("test")


class Taker(threading.Thread):
    """Takes once, on its own thread."""

    def __init__(self, lane: Lane[int]) -> None:
        super().__init__(daemon=True)
        self.taken: list[int] | str | None = "nothing yet"
        self._lane = lane
        self.start()

    def run(self) -> None:
        self.taken = self._lane.take(10)


def test_what_is_put_in_comes_out_in_order(lane: Lane[int]) -> None:
    lane.put([1, 2])
    lane.put([3])
    assert lane.take(10) == [1, 2, 3]
    assert lane.take(10, wait=False) == []


def test_urgent_entries_come_first_and_in_their_order(lane: Lane[int]) -> None:
    lane.put([1, 2])
    lane.put([11, 12], urgent=True)
    lane.put([3])
    lane.put([13], urgent=True)
    assert lane.take(4) == [11, 12, 13, 1]
    assert lane.take(4) == [2, 3]


def test_no_more_is_taken_than_asked_for(lane: Lane[int]) -> None:
    lane.put([1, 2, 3])
    lane.put([11, 12, 13], urgent=True)
    assert lane.take(2) == [11, 12]
    assert len(lane) == 4
    assert lane.take(2) == [13, 1]
    assert lane.take(2) == [2, 3]


def test_a_lane_of_batches_counts_and_gives_out_by_their_sizes() -> None:
    lane: Lane[str] = Lane("batches", size=len)
    lane.put(["aaa", "bb"])
    lane.put(["ccccc"], urgent=True)
    lane.put(["d"])
    assert len(lane) == 11
    assert lane.take(6) == ["ccccc", "aaa"], "no batch is divided"
    assert len(lane) == 3
    assert lane.take(2) == ["bb"]
    assert lane.take(2) == ["d"]
    assert len(lane) == 0


def test_a_batch_larger_than_asked_for_is_taken_alone() -> None:
    lane: Lane[str] = Lane("batches", size=len)
    lane.put(["aaaaaaaa", "b"])
    assert lane.take(2) == ["aaaaaaaa"]
    lane.put(["cccc"], urgent=True)
    assert lane.take(4) == ["cccc"]
    assert lane.take(1) == ["b"]


def test_a_closed_lane_gives_the_rest_and_then_none(lane: Lane[int]) -> None:
    lane.put([1, 2, 3])
    lane.close()
    assert lane.take(2) == [1, 2]
    assert lane.take(2, wait=False) == [3]
    assert lane.take(2) is None
    assert lane.take(2, wait=False) is None
    assert not lane.is_abandoned


def test_putting_into_a_closed_lane_is_an_error_that_names_the_lane(lane: Lane[int]) -> None:
    lane.close()
    with pytest.raises(RuntimeError, match="the test lane is closed"):
        lane.put([1])


def test_putting_nothing_into_a_closed_lane_is_no_error(lane: Lane[int]) -> None:
    lane.close()
    lane.put([])
    assert lane.take(1) is None


def test_an_abandoned_lane_forgets_what_is_inside_and_what_comes_later(lane: Lane[int]) -> None:
    lane.put([1])
    lane.put([2], urgent=True)
    lane.abandon()
    lane.put([3])
    assert len(lane) == 0
    assert lane.take(10) is None
    assert lane.is_abandoned


def test_a_closed_lane_can_still_be_abandoned(lane: Lane[int]) -> None:
    lane.put([1])
    lane.close()
    lane.abandon()
    lane.put([2])
    assert lane.take(10) is None


@pytest.mark.parametrize(
    ("wake", "taken"),
    [
        (lambda lane: lane.put([7]), [7]),
        (lambda lane: lane.put([7], urgent=True), [7]),
        (lambda lane: lane.close(), None),
        (lambda lane: lane.abandon(), None),
        (lambda lane: lane.wake(), []),
    ],
    ids=["put", "urgent", "close", "abandon", "wake"],
)
def test_whoever_waits_is_woken(lane: Lane[int], wake: Callable[[Lane[int]], None], taken: list[int] | None) -> None:
    taker = Taker(lane)
    wake(lane)
    taker.join(WAIT_S)
    assert taker.taken == taken


def test_a_wake_before_the_wait_is_not_lost_and_counts_once(lane: Lane[int]) -> None:
    lane.wake()
    lane.wake()
    assert lane.take(10) == []
    taker = Taker(lane)
    taker.join(_MOMENT_S)
    assert taker.is_alive(), "one wake ends one wait"
    lane.put([1])
    taker.join(WAIT_S)
    assert taker.taken == [1]


@pytest.mark.parametrize("wait", [True, False])
def test_a_wake_takes_nothing_away_and_ends_with_the_next_take(lane: Lane[int], *, wait: bool) -> None:
    lane.put([1, 2])
    lane.wake()
    assert lane.take(10, wait=wait) == [1, 2]
    taker = Taker(lane)
    taker.join(_MOMENT_S)
    assert taker.is_alive()
    lane.wake()
    taker.join(WAIT_S)
    assert taker.taken == []


def test_a_wake_after_the_end_changes_nothing(lane: Lane[int]) -> None:
    lane.put([1])
    lane.close()
    lane.wake()
    assert lane.take(10) == [1]
    lane.wake()
    assert lane.take(10) is None


def test_closing_wakes_everyone_who_waits(lane: Lane[int]) -> None:
    takers = [Taker(lane) for _ in range(3)]
    lane.close()
    for taker in takers:
        taker.join(WAIT_S)
    assert [taker.taken for taker in takers] == [None] * 3


def test_many_threads_lose_nothing_and_take_nothing_twice() -> None:
    lane: Lane[tuple[int, int]] = Lane("busy")
    lists = 400
    taken: list[list[tuple[int, int]]] = [[] for _ in range(3)]

    def put(thread: int) -> None:
        for number in range(lists):
            lane.put([(thread, 3 * number + i) for i in range(3)], urgent=number % 5 == 0)

    def take(mine: list[tuple[int, int]]) -> None:
        while (found := lane.take(7)) is not None:
            mine += found

    putters = [threading.Thread(target=put, args=(thread,)) for thread in range(4)]
    takers = [threading.Thread(target=take, args=(mine,)) for mine in taken]
    for thread in (*takers, *putters):
        thread.start()
    for thread in putters:
        thread.join(WAIT_S)
    lane.close()
    for thread in takers:
        thread.join(WAIT_S)
    counts = Counter(entry for mine in taken for entry in mine)
    assert counts == Counter((thread, number) for thread in range(4) for number in range(3 * lists))


def test_the_wait_that_is_noted_is_that_of_the_first_usual_entry_of_each_list_taken() -> None:
    now = [0.0]
    lane: Lane[int] = Lane("test", clock=lambda: now[0])
    lane.put([1, 2])
    now[0] = 4.0
    lane.put([3])
    lane.put([11], urgent=True)
    now[0] = 5.0
    assert lane.take(2) == [11, 1]
    assert lane.waits.seen().total == 5.0
    now[0] = 6.0
    assert lane.take(2) == [2, 3]
    assert lane.waits.seen().total == 5.0 + 6.0
    lane.put([4])
    now[0] = 6.5
    assert lane.take(1) == [4]
    assert lane.waits.seen().total == 5.0 + 6.0 + 0.5
    lane.put([12], urgent=True)
    assert lane.take(1) == [12]
    assert lane.waits.seen().buckets[-1][1] == 3


def test_the_wait_that_is_noted_is_that_of_the_first_batch_of_each_list_taken() -> None:
    now = [0.0]
    lane: Lane[str] = Lane("test", size=len, clock=lambda: now[0])
    lane.put(["aaa", "bb"])
    now[0] = 4.0
    lane.put(["cc"])
    now[0] = 5.0
    assert lane.take(3) == ["aaa"]
    now[0] = 6.0
    assert lane.take(4) == ["bb", "cc"]
    assert lane.waits.seen().total == 5.0 + 6.0
    lane.put(["d"])
    now[0] = 6.5
    assert lane.take(1) == ["d"]
    assert lane.waits.seen().total == 5.0 + 6.0 + 0.5


def shared_lane(clock: Callable[[], float] = lambda: 0.0) -> Lane[str]:
    """Return a lane of words whose first letter is their topic and whose length is their size."""
    shared: FairQueue[str] = FairQueue(topic_of=lambda word: word[0], size_of=len, weight_of={"a": 1.0, "b": 1.0, "c": 2.0}.__getitem__)
    return Lane("shared", size=len, shared=shared, clock=clock)


def test_topics_that_share_a_lane_are_taken_by_weight_and_urgent_entries_before_them() -> None:
    lane = shared_lane()
    lane.put(["a1", "a2", "a3", "a4", "b1", "b2", "c1", "c2", "c3"])
    lane.put(["x"], urgent=True)
    assert lane.take(9) == ["x", "a1", "b1", "c1", "c2"]
    assert len(lane) == 10
    assert lane.take(100) == ["a2", "b2", "c3", "a3", "a4"]


def test_in_a_shared_lane_the_wait_that_is_noted_is_that_of_the_entry_taken_first() -> None:
    now = [0.0]
    lane = shared_lane(lambda: now[0])
    lane.put(["a1", "a2"])
    now[0] = 4.0
    lane.put(["b1", "a3"])
    now[0] = 5.0
    lane.put(["x"], urgent=True)
    assert lane.take(3) == ["x", "a1"]
    assert lane.waits.seen().total == 5.0
    assert lane.take(2) == ["b1"]
    assert lane.waits.seen().total == 5.0 + 1.0
    assert lane.take(9) == ["a2", "a3"]
    assert lane.waits.seen().total == 5.0 + 1.0 + 5.0
    lane.put(["b2"])
    lane.abandon()
    assert (len(lane), lane.take(1)) == (0, None)


@given(st.lists(st.tuples(st.booleans(), st.integers(min_value=0, max_value=7))))
def test_the_first_to_leave_is_as_old_as_if_each_entry_had_been_noted(steps: list[tuple[bool, int]]) -> None:
    ages, queue = QueueAges(), deque[float]()
    for now_s, (is_arrival, count) in enumerate(steps):
        if is_arrival:
            ages.arrived(count, now_s)
            queue.extend([now_s] * count)
        elif 0 < count <= len(queue):
            gone = [queue.popleft() for _ in range(count)]
            assert ages.left(count) == gone[0]


def test_cleared_ages_are_forgotten() -> None:
    ages = QueueAges()
    ages.arrived(3, 1.0)
    ages.clear()
    ages.arrived(1, 5.0)
    assert ages.left(1) == 5.0
