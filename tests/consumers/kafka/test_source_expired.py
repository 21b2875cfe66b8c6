"""Committed offsets that have expired, on a real Kafka; `test_offset_reset.py` has every case."""

from collections.abc import Sequence

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from consumers.kafka.resume_point import ExpiredPolicy
from consumers.kafka.source_settings import GroupProtocol
from consumers.source import SourceExpired
from tests.consumers.kafka.conftest import NewPlace, Place
from tests.contracts.groups import Member, poll_until
from tests.services.kafka import KafkaServer

_CLASSIC = {"heartbeat.interval.ms": "100", "session.timeout.ms": "10000"}
_LITTLE = {"queued.min.messages": "1", "max.partition.fetch.bytes": "1000", "fetch.message.max.bytes": "1000"}
_ONE_BY_ONE = {"batch.num.messages": 1}
protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture
def place(kafka: KafkaServer, new_place: NewPlace) -> Place:
    """Ten records, of which the first six have expired; the group stands at 4."""
    made = new_place(kafka)
    made.produce(*[b"a"] * 10, properties=_ONE_BY_ONE)
    asked = ConsumerGroupTopicPartitions(made.group, [TopicPartition(made.topic, 0, 4)])
    (stands,) = made.admin.alter_consumer_group_offsets([asked])[made.group].result().topic_partitions
    assert stands.error is None
    delete_before(made, 6)
    return made


def delete_before(place: Place, offset: int) -> None:
    first = TopicPartition(place.topic, 0, offset)
    assert place.admin.delete_records([first])[first].result().low_watermark == offset


def join(place: Place, expired: ExpiredPolicy = "stop", protocol: GroupProtocol = "consumer") -> Member:
    return place.join(group_protocol=protocol, on_expired_offset=expired, librdkafka=_CLASSIC if protocol == "classic" else {})


def said(place: Place) -> Sequence[str]:
    return [line for line in place.said if "trying again" not in line]  # a broker on a busy machine may not answer in time


def stands_at(place: Place) -> int | None:
    found = place.committed()
    return None if found is None else found.offset


@protocols
def test_a_committed_offset_that_retention_has_overtaken_stops_and_nothing_comes(place: Place, protocol: GroupProtocol) -> None:
    member = join(place, "stop", protocol)
    with pytest.raises(SourceExpired, match=rf"{place.topic}/0: offset 4 is next, but the oldest record left is 6: 2 records"):
        poll_until(lambda: False, member)
    assert member.records == []
    assert stands_at(place) == 4


@protocols
def test_earliest_goes_on_with_the_first_that_is_there_and_says_what_is_lost(place: Place, protocol: GroupProtocol) -> None:
    member = join(place, "earliest", protocol)
    poll_until(lambda: len(member.records) >= 4, member)
    assert member.offsets(0) == [6, 7, 8, 9]
    (line,) = said(place)
    assert "2 records expired before they were indexed; resuming at 6" in line
    poll_until(lambda: stands_at(place) == 6, member)


def test_latest_goes_on_with_what_comes_and_a_restart_skips_no_more(place: Place) -> None:
    member = join(place, "latest")
    poll_until(lambda: place.has_said("resuming at 10, skipping 4 more"), member)
    poll_until(lambda: stands_at(place) == 10, member)
    member.close()
    place.produce(b"a", b"a")
    again = join(place, "latest")
    poll_until(lambda: len(again.records) >= 2, again)
    assert again.offsets(0) == [10, 11]
    assert len(said(place)) == 1


@protocols
def test_records_that_go_while_it_runs_are_said_and_it_goes_on_even_paused(
    kafka: KafkaServer, new_place: NewPlace, protocol: GroupProtocol
) -> None:
    place = new_place(kafka)
    place.produce(*[b"a" * 500] * 100, properties=_ONE_BY_ONE)
    own = _LITTLE | (_CLASSIC if protocol == "classic" else {})
    member = place.join(group_protocol=protocol, on_expired_offset="earliest", librdkafka=own)
    poll_until(lambda: bool(member.records), member)
    member.source.pause()
    taken = len(member.records)
    delete_before(place, 80)
    for _ in range(10):
        member.source.pause()
        member.fetch()
    member.source.resume()
    poll_until(lambda: bool(said(place)), member)
    moved = len(member.records)

    def brings_more() -> bool:
        member.source.pause()  # before its first record: a pause now could lose its position, so it waits for that
        return len(member.records) > moved

    poll_until(brings_more, member)
    member.source.resume()
    poll_until(lambda: bool(member.records) and member.records[-1].offset == 99, member)
    offsets = member.offsets(0)
    before = [offset for offset in offsets if offset < 80]
    assert before == list(range(len(before)))
    assert taken <= len(before) < 80
    assert offsets[len(before) :] == list(range(80, 100))
    assert len(said(place)) == 1
    assert stands_at(place) is None
