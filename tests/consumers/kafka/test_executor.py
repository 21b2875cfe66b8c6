"""Stopped partitions, questions without an answer, calls that the client refuses: all is tried again, and nothing happens twice."""

import pytest

from consumers.kafka.resume_point import PartitionState, Position
from tests.consumers.kafka.broker import Broker, stopped
from tests.consumers.kafka.messages import Message
from tests.consumers.records import LOGS_0, LOGS_1


@pytest.fixture
def broker() -> Broker:
    return Broker()


def test_without_an_answer_it_waits_for_the_next_turn(broker: Broker) -> None:
    broker.turn(stopped(LOGS_0), stopped(LOGS_1))
    assert (broker.states_asked, broker.calls) == ([[LOGS_0, LOGS_1]], []), "all are asked about once a turn"
    broker.states[LOGS_1] = PartitionState(None, 3, 9)
    broker.turn()
    assert (broker.states_asked, broker.calls) == ([[LOGS_0, LOGS_1]], [("move", LOGS_1, 3)])
    broker.states[LOGS_0] = PartitionState(None, 2, 9)
    broker.turn()
    assert (broker.states_asked, broker.calls) == ([[LOGS_0]], [("move", LOGS_0, 2)])
    broker.turn()
    assert (broker.states_asked, broker.calls) == ([], [])


def test_a_move_that_is_refused_is_tried_again(broker: Broker) -> None:
    broker.states = {LOGS_0: PartitionState(None, 2, 9), LOGS_1: PartitionState(None, 3, 9)}
    broker.obeys = False
    broker.turn(stopped(LOGS_0), stopped(LOGS_1))
    assert broker.calls == [("move", LOGS_0, 2)]
    assert broker.said == ["logs/0 cannot resume at 2 yet; trying again"]
    broker.obeys = True
    broker.turn()
    broker.turn()
    assert broker.said == ["logs/0 cannot resume at 2 yet; trying again"]
    assert broker.turn(Message(LOGS_0, 2), Message(LOGS_1, 3)) == [2, 3]


def test_what_is_revoked_is_not_resumed(broker: Broker) -> None:
    broker.turn(stopped(LOGS_0))
    broker.executor.intake.end([LOGS_0])
    broker.states[LOGS_0] = PartitionState(None, 2, 9)
    broker.turn()
    assert broker.calls == []


def test_damaged_data_whose_move_is_refused_is_fetched_again_at_the_next_turn(broker: Broker) -> None:
    assert broker.turn(Message(LOGS_0, 0), Message(LOGS_0, 1), Message(LOGS_0, -1, error="_BAD_MSG"), Message(LOGS_0, 5)) == [0, 1]
    broker.obeys = False
    assert broker.turn(Message(LOGS_0, 6), now_s=1.0) == []
    assert broker.calls == [("move", LOGS_0, 2)]
    broker.obeys = True
    assert broker.turn(Message(LOGS_0, 7), now_s=1.0) == []
    assert broker.calls == [("move", LOGS_0, 2)]
    assert broker.turn(Message(LOGS_0, 2), now_s=1.0) == [2]
    assert broker.calls == []


def test_a_check_that_is_refused_has_the_partition_read_again(broker: Broker) -> None:
    broker.positions = {LOGS_0: Position(10, 1)}
    broker.obeys = False
    assert broker.turn(Message(LOGS_0, 10, leader_epoch=2)) == []
    assert broker.calls == [("check", LOGS_0, 10)]
    broker.obeys = True
    assert broker.turn(Message(LOGS_0, 10, leader_epoch=2), now_s=1.0) == []
    assert broker.calls == [("move", LOGS_0, 10)]


def test_while_a_partition_waits_to_be_fetched_again_its_records_ask_nothing(broker: Broker) -> None:
    broker.positions = None
    for _ in range(5):
        assert broker.turn(Message(LOGS_0, 0), Message(LOGS_0, 1, error="_PARTITION_EOF")) == []
    assert broker.asked == [{LOGS_0, LOGS_1}], "a question without an answer holds up polling for a second"


def test_of_a_topic_that_was_re_created_nothing_that_waited_leaves_and_its_partitions_begin_anew() -> None:
    broker = Broker(topic_epoch=None)
    assert broker.turn(Message(LOGS_0, 0), Message(LOGS_1, 0), now_s=1.0) == [0, 0]
    broker.topic_number = 2
    broker.states = dict.fromkeys([LOGS_0, LOGS_1], PartitionState(1, 0, 9))
    assert broker.turn(Message(LOGS_0, 1), now_s=9.0) == []
    both = (LOGS_0, LOGS_1)
    assert [what for what, *_ in broker.calls] == ["lost", "lost", "assign", "assign", "move", "move"]
    assert sorted(broker.calls[:4], key=repr) == [(what, partition, None) for what in ("assign", "lost") for partition in both]
    assert {(partition, offset) for what, partition, offset in broker.calls if what == "move"} == {(LOGS_0, 0), (LOGS_1, 0)}
    assert len(broker.said) == 1
    assert broker.executor.intake.start_commits.take_unsent() == dict.fromkeys(both, 0)
    assert broker.turn(Message(LOGS_0, 0), now_s=9.1) == [0]
