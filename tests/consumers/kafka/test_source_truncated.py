"""A log that was truncated by another leader and has grown beyond the position: while it is read, and after a restart on a real Kafka."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.resume_point import ExpiredPolicy
from consumers.kafka.source_settings import GroupProtocol
from consumers.source import SourceExpired
from tests.consumers.kafka.conftest import NewPlace, Place
from tests.consumers.kafka.two_leaders import TwoLeaders
from tests.contracts.groups import WAIT_S, Member, poll_until
from tests.services.kafka import OwnKafka

OLD, TRUNCATED_AT, END = 100, 50, 150


@pytest.fixture
def cluster() -> Iterator[TwoLeaders]:
    mock = TwoLeaders("logs")
    yield mock
    mock.close()


@pytest.fixture
def place(cluster: TwoLeaders, new_place: NewPlace) -> Place:
    """The log after an election: 50 records of leader epoch 1, then 100 of leader epoch 2; the client hears of the election late.

    The group stands at 100, in leader epoch 1.
    """
    cluster.lead(1)
    cluster.produce(TRUNCATED_AT, b"old")
    made = new_place(cluster.bootstrap, topic="logs")
    commit(made, made.group, leader_epoch=1)
    cluster.lead(2)
    cluster.produce(END - TRUNCATED_AT, b"new")
    cluster.lag(1, 1)
    return made


def commit(place: Place, group: str, *, leader_epoch: int) -> None:
    client = Consumer({"bootstrap.servers": place.bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0})
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            client.commit(offsets=[TopicPartition(place.topic, 0, OLD, leader_epoch=leader_epoch)], asynchronous=False)
            break
        except KafkaException as failure:  # a broker that was just started may not coordinate the group yet
            is_early = failure.args[0].code() in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
            if not is_early or time.monotonic() > deadline_s:
                raise
    client.close()


def join(place: Place, expired: ExpiredPolicy, protocol: GroupProtocol = "classic", *, group: str | None = None) -> Member:
    return place.join(topic_epoch="e", on_expired_offset=expired, group_protocol=protocol, group=group or place.group)


def read_old_log(member: Member) -> None:
    """Give the client the position that it has after 100 records of leader epoch 1: the mock's log cannot be truncated."""
    source = member.source
    assert isinstance(source, KafkaSource)
    client = source._consumer  # noqa: SLF001
    member.at_assign = lambda _partitions: client.incremental_assign([TopicPartition("logs", 0, OLD, leader_epoch=1)])


@pytest.mark.slow
def test_while_it_is_read_a_log_that_was_truncated_and_has_grown_again_stops_the_worker(place: Place) -> None:
    member = join(place, "stop")
    read_old_log(member)
    with pytest.raises(SourceExpired) as stopped:
        poll_until(lambda: bool(member.records), member)
    assert str(stopped.value).startswith(f"logs/0: offset {OLD} is next, but the log was truncated at {TRUNCATED_AT} and ends at {END} now")
    assert f"`vectail offsets reset --to {TRUNCATED_AT} --topic logs --partition 0`" in str(stopped.value)
    assert member.records == []


@pytest.mark.slow
def test_while_it_is_read_earliest_goes_back_to_where_the_log_was_truncated(place: Place) -> None:
    member = join(place, "earliest")
    read_old_log(member)
    poll_until(lambda: len(member.records) >= END - TRUNCATED_AT, member)
    assert member.offsets(0) == list(range(TRUNCATED_AT, END))
    assert [f"resuming at {TRUNCATED_AT} (kafka.on_expired_offset = earliest)" in line for line in place.said] == [True]


@pytest.mark.slow
def test_a_start_whose_position_the_broker_does_not_say_is_tried_again(cluster: TwoLeaders, place: Place) -> None:
    cluster.fail_positions(3)
    member = join(place, "earliest", group="another-group")
    poll_until(lambda: len(member.records) >= END, member)
    assert member.offsets(0) == list(range(END))
    assert place.has_said("Failed to fetch committed offset")


def test_after_a_restart_the_leader_epoch_of_a_commit_shows_that_the_log_was_truncated(own_kafka: OwnKafka, new_place: NewPlace) -> None:
    place = new_place(own_kafka)
    place.produce(*[b"old"] * TRUNCATED_AT)
    first = join(place, "stop")
    poll_until(lambda: len(first.records) == TRUNCATED_AT, first)
    poll_until(lambda: first.commit(place.next_offsets(TRUNCATED_AT)) == {}, first)
    first.close()
    stands = place.committed()
    assert stands is not None
    assert stands.leader_epoch is not None

    own_kafka.stop()
    own_kafka.start()  # a restart begins another leader epoch
    place.produce(*[b"new"] * (END - TRUNCATED_AT))
    protocols: tuple[GroupProtocol, ...] = ("classic", "consumer")
    for protocol in protocols:
        group = place.group + protocol
        commit(place, group, leader_epoch=stands.leader_epoch)  # what 100 records of the old leader leave behind
        stopped = join(place, "stop", protocol, group=group)
        with pytest.raises(SourceExpired, match=rf"offset {OLD} is next, but the log was truncated at {TRUNCATED_AT} and ends at {END}"):
            poll_until(lambda stopped=stopped: bool(stopped.records), stopped)  # type: ignore[misc]
        stopped.close()
        again = join(place, "earliest", protocol, group=group)
        poll_until(lambda again=again: len(again.records) >= END - TRUNCATED_AT, again)  # type: ignore[misc]
        assert again.offsets(0) == list(range(TRUNCATED_AT, END))
        start = place.committed(group=group)
        assert start is not None
        assert (start.offset, start.leader_epoch) == (TRUNCATED_AT, stands.leader_epoch)
    assert len([line for line in place.said if "truncated" in line]) == len(protocols)

    whole = join(place, "stop")
    poll_until(lambda: len(whole.records) >= END - TRUNCATED_AT, whole)
    assert whole.offsets(0) == list(range(TRUNCATED_AT, END)), "of a log that lost nothing, another leader takes nothing back"
