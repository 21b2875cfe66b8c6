"""What the intake returns: one budget of records at a time, in order; and the ends that partitions have been read to."""

import pytest

from consumers.kafka.actions import Action, MovePosition, Say
from consumers.kafka.epochs import TopicEpochs
from consumers.kafka.intake import Intake
from consumers.kafka.message_runs import runs_of
from consumers.kafka.poll_budget import BUDGET_BYTES
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.record import HEADER_BYTES, Partition, Record
from tests.consumers.kafka.messages import Content, Message, each_of
from tests.consumers.records import LOGS_0, LOGS_1

HEADERS = 2_000
RECORD_BYTES = HEADERS * (HEADER_BYTES + 1) + 1
RECORDS = 80
BAD_HEADER = "logs/0: the name of a header is not UTF-8; the record goes on without its headers"


@pytest.fixture
def intake() -> Intake:
    settings = KafkaSourceSettings(bootstrap_servers="nowhere:1", group="g", topic_epoch="e")
    made = Intake(settings, TopicEpochs(fixed="e", ask=lambda _topics: {}, say=lambda _line: None))
    made.begin([LOGS_0, LOGS_1], 0.0)
    made.note_positions({})
    return made


def take(intake: Intake, *messages: Message) -> list[Action]:
    return intake.take(runs_of(messages), dict.fromkeys([LOGS_0, LOGS_1], -1), 0.0)


def place(intake: Intake, *, is_paused: bool = False) -> list[Record]:
    return each_of(intake.place(is_paused=is_paused)[0])


def test_records_of_many_headers_leave_a_portion_at_a_time_and_in_order(intake: Intake) -> None:
    take(intake, *(Message(LOGS_0, offset, HEADERS) for offset in range(RECORDS)))
    offsets: list[int] = []
    while intake.waiting_topics():
        placed = place(intake)
        assert 0 < sum(record.size_bytes() for record in placed) < BUDGET_BYTES + RECORD_BYTES
        offsets += [record.offset for record in placed]
    assert offsets == list(range(RECORDS))


def test_while_it_is_paused_no_more_leaves_than_one_portion_and_what_is_revoked_meanwhile_never_does(intake: Intake) -> None:
    take(intake, *(Message(partition, offset, HEADERS) for offset in range(RECORDS) for partition in (LOGS_0, LOGS_1)))
    placed = [record for _ in range(RECORDS) for record in place(intake, is_paused=True)]
    assert 0 < sum(record.size_bytes() for record in placed) < BUDGET_BYTES + RECORD_BYTES
    intake.end([LOGS_0])
    left: list[Record] = []
    while intake.waiting_topics():
        left += place(intake)
    offsets = [record.offset for record in placed if record.partition == 1] + [record.offset for record in left]
    assert {record.partition for record in left} == {1}
    assert offsets == list(range(RECORDS))


def test_an_end_is_reached_when_nothing_before_it_waits_and_no_damage_was_seen(intake: Intake) -> None:
    take(intake, Message(LOGS_0, 0, HEADERS), Message(LOGS_0, 3, error="_PARTITION_EOF"))
    assert intake.reached() == {}, "its record waits"
    place(intake)
    assert intake.reached() == {LOGS_0: 3}
    take(intake, Message(LOGS_0, 5, error="_BAD_MSG"), Message(LOGS_0, 9, error="_PARTITION_EOF"))
    assert intake.reached() == {}, "what is before it has not come"
    take(intake, Message(LOGS_1, 4, error="_PARTITION_EOF"))
    intake.end([LOGS_1])
    assert intake.reached() == {}


NO_POSITION = 'Failed to fetch committed offsets for 0 partition(s) in group "g": Broker: Not coordinator'


def test_partitions_that_wait_for_the_groups_position_in_vain_are_assigned_again(intake: Intake) -> None:
    take(intake, Message(LOGS_1, 7))
    lost = Message(Partition("", -1), None, error="NOT_COORDINATOR", reason=NO_POSITION)
    assert take(intake, lost) == [Say(f"kafka: {NO_POSITION}; waiting")]
    assert intake.fetch_again(1.0) == [MovePosition(LOGS_0, None)]
    assert take(intake, Message(LOGS_0, 3)) == []
    assert intake.moved(LOGS_0, is_done=True) == []
    assert intake.fetch_again(1.0) == []
    take(intake, Message(LOGS_0, 5), Message(LOGS_0, 6, error="_PARTITION_EOF"))
    take(intake, lost)
    assert intake.fetch_again(60.0) == [], "both are read"
    take(intake, Message(Partition("", -1), None, error="NOT_COORDINATOR", reason="of another request"))
    assert [record.offset for record in place(intake)] == [7, 5]


def test_a_header_that_cannot_be_read_costs_one_record_its_headers_and_is_read_once(intake: Intake) -> None:
    large = bytes(BUDGET_BYTES // 3)
    take(intake, *(Message(LOGS_0, offset, 1, content=Content(large, has_bad_header=offset in (1, 4))) for offset in range(6)))
    headers: list[tuple[int, int]] = []
    said: list[Action] = []
    for _ in range(3):
        placed, actions = intake.place(is_paused=False)
        headers += [(record.offset, len(record.headers)) for record in each_of(placed)]
        said += actions
    assert headers == [(0, 1), (1, 0), (2, 1), (3, 1), (4, 0), (5, 1)]
    assert said == [Say(BAD_HEADER)] * 2
    assert intake.records_without_headers == 2
