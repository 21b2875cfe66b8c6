"""A partition that is read again from an earlier offset: where it begins, and what its records wait for."""

import pytest

from consumers.kafka.resume_point import PartitionState
from tests.consumers.kafka.broker import Broker, stopped
from tests.consumers.kafka.messages import Message
from tests.consumers.records import LOGS_0, LOGS_1

LATER_S = 1.0
"""When what was put back is fetched again."""


def logs_0(*offsets: int) -> list[Message]:
    return [Message(LOGS_0, offset) for offset in offsets]


@pytest.fixture
def broker() -> Broker:
    """Both partitions hold records from 2 on; the first is read up to 6."""
    broker = Broker()
    broker.states = dict.fromkeys([LOGS_0, LOGS_1], PartitionState(5, 2, 9))
    assert broker.turn(*logs_0(5, 6)) == [5, 6]
    broker.calls.clear()
    return broker


def begin_again(broker: Broker, offset: int) -> int | None:
    return broker.executor.begin_again({LOGS_0: offset}, 0.0).get(LOGS_0)


def take_commit(broker: Broker, *, is_accepted: bool = True) -> int | None:
    """Answer the commit of the start, if there is one to send."""
    starts = broker.executor.intake.start_commits
    start = starts.take_unsent().get(LOGS_0)
    assert start is None or starts.on_outcome(LOGS_0, start, is_accepted=is_accepted)
    return start


def test_the_client_is_moved_there_and_nothing_leaves_before_that_is_committed(broker: Broker) -> None:
    assert begin_again(broker, 3) == 3
    assert broker.turn(*logs_0(7), now_s=LATER_S) == [], "of the old position"
    assert broker.calls == [("move", LOGS_0, 3)], "no callback: the caller knows"
    assert broker.turn(*logs_0(3, 4), Message(LOGS_1, 2), now_s=LATER_S) == [2]
    assert take_commit(broker, is_accepted=False) == 3
    assert broker.turn(*logs_0(5), now_s=LATER_S) == []
    assert take_commit(broker) == 3
    assert broker.turn(*logs_0(6), now_s=LATER_S) == [3, 4, 5, 6]
    assert take_commit(broker) is None


def test_what_kafka_no_longer_holds_is_left_out(broker: Broker) -> None:
    assert begin_again(broker, 1) == 2
    broker.turn(now_s=LATER_S)
    assert broker.calls == [("move", LOGS_0, 2)]


def test_without_an_answer_or_while_the_client_has_stopped_it_nothing_is_changed(broker: Broker) -> None:
    states, broker.states = broker.states, {}
    assert begin_again(broker, 3) is None
    broker.turn(stopped(LOGS_0))
    broker.states = states
    assert begin_again(broker, 3) is None
    assert broker.turn(now_s=LATER_S) == []
    assert broker.calls == [("move", LOGS_0, 7)]
    assert broker.turn(*logs_0(7), now_s=LATER_S) == [7]


def test_records_that_waited_are_dropped_and_its_end_is_not_reached(broker: Broker) -> None:
    begin_again(broker, 3)
    broker.turn(now_s=LATER_S)
    broker.turn(*logs_0(3, 4, 5), Message(LOGS_0, 6, error="_PARTITION_EOF"), now_s=LATER_S)
    assert broker.executor.intake.reached() == {}, "its records wait"
    assert begin_again(broker, 2) == 2
    broker.turn(now_s=LATER_S)
    assert take_commit(broker) == 2
    assert broker.turn(*logs_0(2), now_s=LATER_S) == [2]


def test_a_revocation_ends_it(broker: Broker) -> None:
    begin_again(broker, 3)
    broker.executor.intake.end([LOGS_0])
    broker.turn(now_s=LATER_S)
    assert broker.calls == []
    assert take_commit(broker) is None
