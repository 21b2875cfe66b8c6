"""What a poll returned, split: each partition in its own order, nothing lost, and no record beyond an error."""

from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.runs import runs_of
from consumers.record import Partition
from tests.consumers.kafka.messages import Message

PLACES = [Partition(topic, number) for topic in ("logs", "more") for number in (0, 1)]
EOF = "_PARTITION_EOF"


def test_partitions_that_come_mixed_are_one_run_each() -> None:
    messages = [Message(PLACES[number % 4], number) for number in range(12)]
    runs = runs_of(messages)
    assert [run.partition for run in runs] == PLACES
    assert [[message.offset() for message in run.messages] for run in runs] == [[n, n + 4, n + 8] for n in range(4)]


def test_an_error_is_a_run_of_its_own_between_those_before_and_behind_it() -> None:
    runs = runs_of([Message(PLACES[0], 0), Message(PLACES[1], 7, error=EOF), Message(PLACES[0], 1), Message(PLACES[0], 2)])
    assert [(run.partition, len(run.messages), run.error is not None) for run in runs] == [
        (PLACES[0], 1, False),
        (PLACES[1], 1, True),
        (PLACES[0], 2, False),
    ]


@given(st.lists(st.tuples(st.sampled_from(PLACES), st.booleans()), max_size=30))
def test_every_message_is_in_one_run_behind_those_of_its_partition_that_came_before(given: list[tuple[Partition, bool]]) -> None:
    messages = [Message(place, number, error=EOF if is_error else "") for number, (place, is_error) in enumerate(given)]
    runs = runs_of(messages)
    for place in PLACES:
        split = [message.offset() for run in runs if run.partition == place for message in run.messages]
        assert split == [number for number, (where, _) in enumerate(given) if where == place]
    errors = [run.messages[0].offset() for run in runs if run.error is not None]
    assert errors == [number for number, (_, is_error) in enumerate(given) if is_error]
    assert all(run.messages and (run.error is None or len(run.messages) == 1) for run in runs)
