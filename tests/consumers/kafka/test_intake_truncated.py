"""A truncated log at the intake: what comes again after it, and how a start finds out that its position is of another history."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from consumers.kafka.client import Client
from consumers.kafka.executor import Executor
from consumers.kafka.resume_point import ExpiredPolicy, PartitionState, Position
from consumers.kafka.settings import KafkaSourceSettings
from consumers.record import Partition
from consumers.source import SourceExpired
from tests.consumers.kafka.messages import Message, each_of
from tests.consumers.records import LOGS_0, LOGS_1

TRUNCATED_AT_6 = (
    "Partition log truncation detected at offset 10 (leader epoch 1): broker end offset is 6 (offset leader epoch 1). "
    "Reset to INVALID.: Local: Partition log truncation detected (broker 2)"
)


class Broker:
    """What the client is asked and told, and what the poller is told.

    Thread: the test's.
    """

    def __init__(self, expired: ExpiredPolicy = "earliest") -> None:
        self.committed: dict[Partition, Position] | None = {}
        self.state = PartitionState(None, 0, 20)
        self.asked: list[set[Partition]] = []
        self.told: list[tuple[str, Partition, Position | None]] = []
        self.said: list[str] = []
        client = Client(
            ask_topic_ids=lambda _topics: {},
            ask_states=lambda partitions: dict.fromkeys(partitions, self.state),
            ask_positions=self._ask_positions,
            end_of=lambda _partition: -1,
            move=lambda partition, position: self._tell("move", partition, position),
            check=lambda partition, position: self._tell("check", partition, position),
        )
        settings = KafkaSourceSettings(topic_epoch="e", on_expired_offset=expired)
        self._executor = Executor(settings, client, say=self.said.append)
        self._executor.subscribe(self)
        self.intake = self._executor.intake
        self.intake.begin([LOGS_0, LOGS_1], 0.0)

    def _ask_positions(self, partitions: Collection[Partition]) -> Mapping[Partition, Position] | None:
        self.asked.append(set(partitions))
        return self.committed

    def _tell(self, what: str, partition: Partition, position: Position | None) -> bool:
        self.told.append((what, partition, position))
        return True

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        self.told += [("assign", partition, None) for partition in partitions]

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        raise AssertionError(partitions)

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        self.told += [("lost", partition, None) for partition in partitions]

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        raise AssertionError(accepted, refused)

    def take(self, *messages: Message, now_s: float = 0.0) -> list[int]:
        return [record.offset for record in each_of(self._executor.take_turn(messages, now_s, is_paused=False))]


def records(offsets: range, leader_epoch: int) -> list[Message]:
    return [Message(LOGS_0, offset, leader_epoch=leader_epoch) for offset in offsets]


def truncated() -> Message:
    return Message(LOGS_0, -1, error="_AUTO_OFFSET_RESET", reason=TRUNCATED_AT_6)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.mark.parametrize(("committed", "offset"), [(4, 4), (10, 6)])
def test_after_a_truncation_the_assignment_begins_anew_before_the_first_record_that_comes_again(
    broker: Broker, committed: int, offset: int
) -> None:
    assert broker.take(*records(range(10), 1)) == list(range(10))
    broker.state = PartitionState(committed, 0, 20)
    assert broker.take(truncated()) == []
    position = Position(offset, 1 if offset == 6 else None)
    assert broker.told == [("move", LOGS_0, position), ("lost", LOGS_0, None), ("assign", LOGS_0, None)]
    assert broker.intake.start_commits.take_unsent() == {LOGS_0: offset}
    assert broker.take(*records(range(offset, 6), 1)) == list(range(offset, 6))
    assert [f"resuming at {offset}" in line for line in broker.said] == [True]


def test_records_that_were_waiting_when_the_log_was_truncated_are_not_handed_out(broker: Broker) -> None:
    broker.state = PartitionState(None, 0, 20)
    assert broker.take(*records(range(10), 1), truncated()) == []
    assert broker.told[0] == ("move", LOGS_0, Position(0, None))


def test_a_truncation_behind_everything_that_was_read_takes_nothing_back(broker: Broker) -> None:
    assert broker.take(*records(range(6), 1)) == list(range(6))
    broker.take(truncated())
    assert broker.told == [("move", LOGS_0, Position(6, None))]
    assert broker.said == []


def test_a_position_knows_its_leader_epoch_wherever_it_is_read_again(broker: Broker) -> None:
    broker.take(*records(range(3), 7), Message(LOGS_0, 9, error="_BAD_MSG"))
    broker.take(now_s=1.0)
    assert broker.told == [("move", LOGS_0, Position(3, 7))]


def test_the_first_record_of_another_leader_epoch_than_the_committed_one_has_the_client_check(broker: Broker) -> None:
    broker.committed = {LOGS_0: Position(10, 1)}
    assert broker.take(*records(range(10, 15), 2)) == []
    assert broker.told == [("check", LOGS_0, Position(10, 1))]
    assert broker.take(*records(range(10, 15), 2)) == list(range(10, 15)), "the client found nothing wrong"
    assert len(broker.told) == 1


def test_an_end_that_came_with_records_to_be_read_again_is_not_reached(broker: Broker) -> None:
    broker.committed = {LOGS_0: Position(10, 1)}
    assert broker.take(*records(range(10, 15), 2), Message(LOGS_0, 15, error="_PARTITION_EOF")) == []
    assert broker.intake.reached() == {}


def test_an_idle_start_keeps_the_leader_epoch_that_was_committed_and_checks_what_comes_later(broker: Broker) -> None:
    broker.committed = {LOGS_0: Position(10, 1)}
    broker.take(Message(LOGS_0, 10, error="_PARTITION_EOF"))
    assert broker.intake.reached() == {LOGS_0: 10}
    assert broker.intake.leader_epochs.before(LOGS_0, 10) == 1
    assert broker.take(*records(range(10, 11), 2)) == []
    assert broker.told == [("check", LOGS_0, Position(10, 1))]


def test_where_the_client_finds_a_truncation_the_committed_offset_is_gone(broker: Broker) -> None:
    broker.committed = {LOGS_0: Position(10, 1)}
    broker.state = PartitionState(10, 0, 20, leader_epoch=1)
    broker.take(*records(range(10, 15), 2))
    broker.take(truncated())
    assert broker.told[1:] == [("move", LOGS_0, Position(6, 1))], "nothing was delivered, so nothing is lost"
    assert broker.intake.start_commits.take_unsent() == {LOGS_0: 6}


@pytest.mark.parametrize("committed", [{}, {LOGS_0: Position(10, 2)}, {LOGS_0: Position(10, None)}])
def test_a_first_record_of_the_same_or_an_unknown_leader_epoch_is_accepted(broker: Broker, committed: dict[Partition, Position]) -> None:
    broker.committed = committed
    assert broker.take(*records(range(10, 12), 2)) == [10, 11]
    assert broker.told == []


def test_one_question_is_enough_for_all_partitions_and_without_an_answer_it_is_asked_again(broker: Broker) -> None:
    broker.committed = None
    assert broker.take(*records(range(2), 1)) == []
    broker.committed = {}
    broker.take(now_s=1.0)
    assert broker.told == [("move", LOGS_0, None)], "from where its group stands"
    assert broker.take(*records(range(2), 1), Message(LOGS_1, 0, leader_epoch=1), now_s=1.0) == [0, 1, 0]
    assert broker.asked == [{LOGS_0, LOGS_1}] * 2


def test_stop_is_said_where_the_log_has_grown_beyond_the_position() -> None:
    broker = Broker("stop")
    broker.take(*records(range(10), 1))
    broker.state = PartitionState(10, 0, 20)
    with pytest.raises(SourceExpired, match="offset 10 is next, but the log was truncated at 6 and ends at 20 now with other records"):
        broker.take(truncated())
