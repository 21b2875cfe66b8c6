"""A topic that is re-created while a group reads it, on a real Kafka: with a running or a frozen member, shorter or longer than before."""

import time

import pytest

from consumers.kafka.source_settings import GroupProtocol
from tests.consumers.kafka.conftest import NewPlace, Place
from tests.contracts.groups import WAIT_S, poll_until
from tests.services.kafka import KafkaServer

PARTITIONS = (0, 1)
RECREATED = "was deleted and re-created"


@pytest.fixture
def place(kafka: KafkaServer, new_place: NewPlace) -> Place:
    return new_place(kafka, partitions=len(PARTITIONS))


def fill(place: Place, records: int, word: bytes) -> None:
    for partition in PARTITIONS:
        place.produce(*(b"%s %d" % (word, number) for number in range(records)), partition=partition)


def recreate(kafka: KafkaServer, place: Place) -> None:
    place.delete_topic(place.topic)
    deadline_s = time.monotonic() + WAIT_S
    while place.topic in place.admin.list_topics(timeout=WAIT_S).topics:
        assert time.monotonic() < deadline_s
    kafka.create_topic(place.topic, partitions=len(PARTITIONS))


def committed(place: Place) -> list[int | None]:
    found = [place.committed(partition=partition) for partition in PARTITIONS]
    return [None if one is None else one.offset for one in found]


@pytest.mark.parametrize("records", [3, 40])  # fewer than were read, and more: then the client continues in the middle
def test_nobody_polled_meanwhile_and_all_of_the_new_topic_comes_under_its_own_epoch(kafka: KafkaServer, place: Place, records: int) -> None:
    fill(place, 10, b"old")
    member = place.join(group_protocol="classic")  # under the other protocol, brokers notify members sooner or later
    poll_until(lambda: len(member.records) == 10 * len(PARTITIONS), member)
    assert member.commit(place.next_offsets(10, PARTITIONS)) == {}
    (old,) = {record.epoch for record in member.records}
    recreate(kafka, place)
    fill(place, records, b"new")
    before = len(member.records)
    poll_until(lambda: len(member.records) >= before + records * len(PARTITIONS), member)
    fresh = member.records[before:]
    assert {record.epoch for record in fresh}.isdisjoint({old})
    for partition in PARTITIONS:
        assert [record.value for record in fresh if record.partition == partition] == [b"new %d" % n for n in range(records)]
    assert [what for what, _ in member.events] == ["assign", "lost", "assign"]
    assert len([line for line in place.said if RECREATED in line]) == 1
    poll_until(lambda: committed(place) == [0, 0], member)


def test_while_it_polls_no_record_of_the_new_topic_comes_under_the_old_epoch(kafka: KafkaServer, place: Place) -> None:
    fill(place, 5, b"old")
    member = place.join()
    poll_until(lambda: len(member.records) == 5 * len(PARTITIONS), member)
    old = member.records[0].epoch
    recreate(kafka, place)
    fill(place, 30, b"new")
    poll_until(lambda: len({record.value for record in member.records if record.epoch != old}) == 30, member)
    assert {(record.value or b"")[:3] for record in member.records if record.epoch == old} == {b"old"}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_no_offset_of_the_old_topic_is_committed_in_the_new_one(kafka: KafkaServer, place: Place, protocol: GroupProtocol) -> None:
    fill(place, 10, b"old")
    member = place.join(group_protocol=protocol)
    poll_until(lambda: len(member.records) == 10 * len(PARTITIONS), member)
    recreate(kafka, place)
    fill(place, 20, b"new")
    assert member.source.commit(place.next_offsets(10, PARTITIONS), is_last=True) == {}
    assert committed(place) == [None, None]
