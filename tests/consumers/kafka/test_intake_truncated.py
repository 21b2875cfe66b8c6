"""A truncated log at the intake: what comes again after it, and how a start finds out that its position is of another history."""

import pytest

from consumers.kafka.resume_point import PartitionState, Position
from consumers.source import SourceExpired
from tests.consumers.kafka.broker import Broker, stopped
from tests.consumers.kafka.messages import Message
from tests.consumers.records import LOGS_0, LOGS_1

TRUNCATED_AT_6 = (
    "Partition log truncation detected at offset 10 (leader epoch 1): broker end offset is 6 (offset leader epoch 1). "
    "Reset to INVALID.: Local: Partition log truncation detected (broker 2)"
)


def records(offsets: range, leader_epoch: int) -> list[Message]:
    return [Message(LOGS_0, offset, leader_epoch=leader_epoch) for offset in offsets]


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.mark.parametrize(("committed", "offset"), [(4, 4), (10, 6)])
def test_after_a_truncation_the_assignment_begins_anew_before_the_first_record_that_comes_again(
    broker: Broker, committed: int, offset: int
) -> None:
    assert broker.turn(*records(range(10), 1)) == list(range(10))
    broker.states[LOGS_0] = PartitionState(committed, 0, 20)
    assert broker.turn(stopped(LOGS_0, TRUNCATED_AT_6)) == []
    assert broker.calls == [("move", LOGS_0, offset), ("lost", LOGS_0, None), ("assign", LOGS_0, None)]
    assert broker.moved_to == [Position(offset, 1 if offset == 6 else None)]
    assert broker.executor.intake.start_commits.take_unsent() == {LOGS_0: offset}
    assert broker.turn(*records(range(offset, 6), 1)) == list(range(offset, 6))
    assert [f"resuming at {offset}" in line for line in broker.said] == [True]


def test_records_that_were_waiting_when_the_log_was_truncated_are_not_handed_out(broker: Broker) -> None:
    broker.states[LOGS_0] = PartitionState(None, 0, 20)
    assert broker.turn(*records(range(10), 1), stopped(LOGS_0, TRUNCATED_AT_6)) == []
    assert broker.moved_to == [Position(0, None)]


def test_a_truncation_behind_everything_that_was_read_takes_nothing_back(broker: Broker) -> None:
    broker.states[LOGS_0] = PartitionState(None, 0, 20)
    assert broker.turn(*records(range(6), 1)) == list(range(6))
    broker.turn(stopped(LOGS_0, TRUNCATED_AT_6))
    assert broker.calls == [("move", LOGS_0, 6)]
    assert broker.said == []


def test_where_the_client_finds_a_truncation_the_committed_offset_is_gone(broker: Broker) -> None:
    broker.positions = {LOGS_0: Position(10, 1)}
    broker.states[LOGS_0] = PartitionState(10, 0, 20, leader_epoch=1)
    broker.turn(*records(range(10, 15), 2))
    broker.turn(stopped(LOGS_0, TRUNCATED_AT_6))
    assert broker.calls == [("move", LOGS_0, 6)], "nothing was delivered, so nothing is lost"
    assert broker.moved_to == [Position(6, 1)]
    assert broker.executor.intake.start_commits.take_unsent() == {LOGS_0: 6}


def test_one_question_is_enough_for_all_partitions_and_without_an_answer_it_is_asked_again(broker: Broker) -> None:
    broker.positions = None
    assert broker.turn(*records(range(2), 1)) == []
    broker.positions = {}
    broker.turn(now_s=1.0)
    assert broker.calls == [("move", LOGS_0, None)], "from where its group stands"
    assert broker.turn(*records(range(2), 1), Message(LOGS_1, 0, leader_epoch=1), now_s=1.0) == [0, 1, 0]
    assert broker.asked == [{LOGS_0, LOGS_1}] * 2


def test_stop_is_said_where_the_log_has_grown_beyond_the_position() -> None:
    broker = Broker(expired="stop")
    broker.turn(*records(range(10), 1))
    broker.states[LOGS_0] = PartitionState(10, 0, 20)
    with pytest.raises(SourceExpired, match="offset 10 is next, but the log was truncated at 6 and ends at 20 now with other records"):
        broker.turn(stopped(LOGS_0, TRUNCATED_AT_6))
