"""How much one poll takes: little more than its budget of bytes, or as many small records as asked for, in order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.poll_budget import BUDGET_BYTES, PollBudget

MOST_MESSAGES = 500
SHARED = memoryview(bytes(2 * BUDGET_BYTES))


class Message:
    """A message of the client, with a size only; every third is a key without a value."""

    def __init__(self, number: int, size_bytes: int) -> None:
        self.number, self.size_bytes = number, size_bytes
        self.key_bytes = 0 if number % 3 else size_bytes

    def __len__(self) -> int:
        return self.size_bytes - self.key_bytes

    def key(self) -> Any:  # noqa: ANN401 - a view weighs nothing, bytes of 500 records would
        return SHARED[: self.key_bytes] if self.key_bytes else None


class Queue:
    def __init__(self, sizes: list[int]) -> None:
        self.left: list[Any] = [Message(number, size) for number, size in enumerate(sizes)]
        self.asked: list[int] = []

    def more(self, most: int) -> list[Any]:
        self.asked.append(most)
        given, self.left = self.left[:most], self.left[most:]
        return given

    def poll(self, budget: PollBudget, most_messages: int = MOST_MESSAGES) -> list[Any]:
        return budget.collect_messages(self.more(1)[0], most_messages, self.more)


def total_bytes(messages: list[Any]) -> int:
    return sum(message.size_bytes for message in messages)


@given(sizes=st.lists(st.sampled_from([0, 100, 10_000, 1_000_000, BUDGET_BYTES, 2 * BUDGET_BYTES]), min_size=1), most=st.integers(1, 40))
def test_everything_comes_once_and_in_order_and_never_more_than_asked_for(sizes: list[int], most: int) -> None:
    queue, budget = Queue(sizes), PollBudget()
    taken: list[Any] = []
    while queue.left:
        polled = queue.poll(budget, most)
        assert 1 <= len(polled) <= most
        taken += polled
    assert [message.number for message in taken] == list(range(len(sizes)))


@pytest.mark.parametrize("size_bytes", [0, 100, 10_000, 300_000, 1_000_000, 2 * BUDGET_BYTES])
def test_of_records_of_one_size_a_portion_is_full_or_has_what_was_asked_for(size_bytes: int) -> None:
    queue = Queue([size_bytes] * 1_000)
    polled = queue.poll(PollBudget())
    assert len(polled) == MOST_MESSAGES or BUDGET_BYTES <= total_bytes(polled) <= BUDGET_BYTES + size_bytes


def test_after_large_records_a_portion_begins_carefully() -> None:
    queue, budget = Queue([1_000_000] * 10 + [10, *[1_000_000] * 10, *[10] * 4_000]), PollBudget()
    for most_bytes in [BUDGET_BYTES + 1_000_000] * 4:
        assert total_bytes(queue.poll(budget)) <= most_bytes
    while total_bytes(queue.poll(budget)) > MOST_MESSAGES * 10:
        pass
    assert len(queue.poll(budget)) == MOST_MESSAGES, "one poll of small records is enough to forget it"


@pytest.mark.parametrize("small", [0, 70, 1_000])
def test_records_that_grow_within_a_portion_are_found_before_there_are_twice_as_many(small: int) -> None:
    queue = Queue([10] * small + [1_000_000] * 5_000)
    assert len(queue.poll(PollBudget(), 8_000)) <= max(2 * small, 9)
