"""What the intake returns: one budget of records at a time, in order; and the ends that partitions have been read to."""

import pytest

from consumers.kafka.client import Client
from consumers.kafka.intake import Intake
from consumers.kafka.poll_budget import BUDGET_BYTES
from consumers.kafka.settings import KafkaSourceSettings
from consumers.record import HEADER_BYTES, Record
from tests.consumers.kafka.messages import Message
from tests.consumers.records import LOGS_0, LOGS_1

HEADERS = 2_000
RECORD_BYTES = HEADERS * (HEADER_BYTES + 1) + 1
RECORDS = 40


@pytest.fixture
def intake() -> Intake:
    client = Client(
        ask_topic_ids=lambda _topics: {},
        ask_state=lambda _partition: None,
        ask_positions=lambda _partitions: {},
        end_of=lambda _partition: -1,
        move=lambda *_place: True,
        check=lambda *_place: True,
    )
    settings = KafkaSourceSettings(bootstrap_servers="nowhere:1", group="g", topics=("logs",), topic_epoch="e")
    made = Intake(settings, client, say=lambda _line: None)
    made.begin([LOGS_0, LOGS_1], 0.0)
    return made


def test_records_of_many_headers_leave_a_portion_at_a_time_and_in_order(intake: Intake) -> None:
    intake.take([Message(LOGS_0, offset, HEADERS) for offset in range(RECORDS)], 0.0)
    offsets: list[int] = []
    while intake.waiting_topics():
        placed = intake.place(0.0, is_stopped=False)
        assert 0 < sum(record.size_bytes() for record in placed) < BUDGET_BYTES + RECORD_BYTES
        offsets += [record.offset for record in placed]
    assert offsets == list(range(RECORDS))


def test_while_it_is_stopped_no_more_leaves_than_one_portion_and_what_is_revoked_meanwhile_never_does(intake: Intake) -> None:
    intake.take([Message(partition, offset, HEADERS) for offset in range(RECORDS) for partition in (LOGS_0, LOGS_1)], 0.0)
    placed = [record for _ in range(RECORDS) for record in intake.place(0.0, is_stopped=True)]
    assert 0 < sum(record.size_bytes() for record in placed) < BUDGET_BYTES + RECORD_BYTES
    intake.end([LOGS_0])
    left: list[Record] = []
    while intake.waiting_topics():
        left += intake.place(0.0, is_stopped=False)
    offsets = [record.offset for record in placed if record.partition == 1] + [record.offset for record in left]
    assert {record.partition for record in left} == {1}
    assert offsets == list(range(RECORDS))


def test_an_end_is_reached_when_nothing_before_it_waits_and_no_damage_was_seen(intake: Intake) -> None:
    intake.take([Message(LOGS_0, 0, HEADERS) for _ in range(1)] + [Message(LOGS_0, 3, error="_PARTITION_EOF")], 0.0)
    assert intake.reached() == {}, "its record waits"
    intake.place(0.0, is_stopped=False)
    assert intake.reached() == {LOGS_0: 3}
    intake.take([Message(LOGS_0, 5, error="_BAD_MSG"), Message(LOGS_0, 9, error="_PARTITION_EOF")], 0.0)
    assert intake.reached() == {}, "what is before it has not come"
    intake.take([Message(LOGS_1, 4, error="_PARTITION_EOF")], 0.0)
    intake.end([LOGS_1])
    assert intake.reached() == {}
