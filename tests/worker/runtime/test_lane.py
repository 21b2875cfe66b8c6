"""Lanes between threads: order, urgency, sizes, wakes, the two ways to end, and the ages of what waits."""

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.runtime.fair_share import FairQueue
from worker.runtime.lane import Lane

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


class Entry(NamedTuple):
    topic: str
    size: int
    number: int


def fair_queue() -> FairQueue[Entry]:
    weights = {"a": 1.0, "b": 1.0, "c": 2.0}
    return FairQueue(topic_of=lambda entry: entry.topic, size_of=lambda entry: entry.size, weight_of=weights.__getitem__)


some_entries = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5)), max_size=6)
steps = st.lists(st.one_of(st.tuples(some_entries, st.booleans()), st.integers(1, 12)), max_size=40)
"""Entries to put, urgent or not, or how much to take."""


@given(steps, st.booleans())
def test_urgent_entries_leave_first_until_sizes_are_enough_and_the_wait_of_the_first_usual_one_is_noted(
    plan: Sequence[tuple[list[tuple[str, int]], bool] | int],
    shared: bool,  # noqa: FBT001 - drawn
) -> None:
    """As from two queues of which the second is fair, if topics share the lane; each step takes a second."""
    now = [0.0]
    lane: Lane[Entry] = Lane("test", size=lambda entry: entry.size, shared=fair_queue() if shared else None, clock=lambda: now[0])
    urgent, usual = deque[Entry](), fair_queue() if shared else deque[Entry]()
    arrived_s: dict[int, float] = {}
    waits_s: list[float] = []
    waiting = 0
    for step in plan:
        now[0] += 1.0
        if isinstance(step, int):
            taken: list[Entry] = []
            while (urgent or usual) and sum(entry.size for entry in taken) < step:
                taken.append(urgent.popleft() if urgent else usual.popleft())
            waits_s += [now[0] - arrived_s[entry.number] for entry in taken if entry.number in arrived_s][:1]
            waiting -= sum(entry.size for entry in taken)
            assert lane.take(step, wait=False) == taken
        else:
            described, is_urgent = step
            entries = [Entry(topic, size, 100 * round(now[0]) + place) for place, (topic, size) in enumerate(described)]
            waiting += sum(entry.size for entry in entries)
            (urgent if is_urgent else usual).extend(entries)
            arrived_s |= {} if is_urgent else {entry.number: now[0] for entry in entries}
            lane.put(entries, urgent=is_urgent)
        assert len(lane) == waiting
    assert (lane.waits.seen().buckets[-1][1], lane.waits.seen().total) == (len(waits_s), sum(waits_s))


def test_a_closed_lane_gives_the_rest_and_then_none_and_takes_no_more(lane: Lane[int]) -> None:
    lane.put([1, 2, 3])
    lane.close()
    lane.put([])
    with pytest.raises(RuntimeError, match="the test lane is closed"):
        lane.put([4])
    assert lane.take(2) == [1, 2]
    assert lane.take(2, wait=False) == [3]
    assert (lane.take(2), lane.take(2, wait=False)) == (None, None)
    assert not lane.is_abandoned


@pytest.mark.parametrize("closed", [False, True])
def test_an_abandoned_lane_forgets_what_is_inside_and_what_comes_later(lane: Lane[int], *, closed: bool) -> None:
    lane.put([1])
    lane.put([2], urgent=True)
    if closed:
        lane.close()
    lane.abandon()
    lane.put([3])
    assert (len(lane), lane.take(10), lane.is_abandoned) == (0, None, True)


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
