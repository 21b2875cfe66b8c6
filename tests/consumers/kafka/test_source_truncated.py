"""A log that was truncated by another leader and has grown beyond the position: while it is read, and after a restart on a real Kafka."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from consumers.kafka.resume_point import ExpiredPolicy
from consumers.kafka.settings import GroupProtocol, KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from consumers.source import SourceExpired
from tests.consumers.kafka.two_leaders import TwoLeaders
from tests.contracts.groups import WAIT_S, Member, poll_until
from tests.services.kafka import OwnKafka

Unique = Callable[[str], str]
Join = Callable[..., Member]
OLD, TRUNCATED_AT, END = 100, 50, 150


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def join(said: list[str]) -> Iterator[Join]:
    """Make members; all are closed after the test."""
    members: list[Member] = []

    def make(bootstrap: str, topic: str, group: str, expired: ExpiredPolicy, protocol: GroupProtocol = "classic") -> Member:
        settings = KafkaSourceSettings(
            bootstrap_servers=bootstrap,
            group=group,
            topic_epoch="e",
            group_protocol=protocol,
            on_expired_offset=expired,
            librdkafka={"fetch.wait.max.ms": "20", "log_level": "0"},
        )
        members.append(Member(KafkaSource(settings, Subscription(names=(topic,)), say=said.append)))
        return members[-1]

    yield make
    for member in members:
        member.close()


@pytest.fixture
def cluster() -> Iterator[TwoLeaders]:
    """The log after an election: 50 records of leader epoch 1, then 100 of leader epoch 2; the client hears of the election late."""
    mock = TwoLeaders("logs")
    mock.lead(1)
    mock.produce(TRUNCATED_AT, b"old")
    commit(mock.bootstrap, "logs", "group", leader_epoch=1)
    mock.lead(2)
    mock.produce(END - TRUNCATED_AT, b"new")
    mock.lag(1, 1)
    yield mock
    mock.close()


def commit(bootstrap: str, topic: str, group: str, *, leader_epoch: int) -> None:
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0})
    deadline_s = time.monotonic() + WAIT_S
    while True:
        try:
            client.commit(offsets=[TopicPartition(topic, 0, OLD, leader_epoch=leader_epoch)], asynchronous=False)
            break
        except KafkaException as failure:  # a broker that was just started may not coordinate the group yet
            is_early = failure.args[0].code() in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS)
            if not is_early or time.monotonic() > deadline_s:
                raise
    client.close()


def committed(bootstrap: str, topic: str, group: str) -> TopicPartition:
    client = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    (found,) = client.committed([TopicPartition(topic, 0)], timeout=WAIT_S)
    client.close()
    return found


def produce(bootstrap: str, topic: str, count: int, word: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(count):
        producer.produce(topic, b"%s %d" % (word, number), partition=0)
    assert producer.flush(WAIT_S) == 0


def read_old_log(member: Member) -> None:
    """Give the client the position that it has after 100 records of leader epoch 1: the mock's log cannot be truncated."""
    source = member.source
    assert isinstance(source, KafkaSource)
    client = source._consumer  # noqa: SLF001
    member.at_assign = lambda _partitions: client.incremental_assign([TopicPartition("logs", 0, OLD, leader_epoch=1)])


def test_while_it_is_read_a_log_that_was_truncated_and_has_grown_again_stops_the_worker(cluster: TwoLeaders, join: Join) -> None:
    member = join(cluster.bootstrap, "logs", "group", "stop")
    read_old_log(member)
    with pytest.raises(SourceExpired) as stopped:
        poll_until(lambda: bool(member.records), member)
    assert str(stopped.value).startswith(f"logs/0: offset {OLD} is next, but the log was truncated at {TRUNCATED_AT} and ends at {END} now")
    assert f"`vectail offsets reset --to {TRUNCATED_AT} --topic logs --partition 0`" in str(stopped.value)
    assert member.records == []


def test_while_it_is_read_earliest_goes_back_to_where_the_log_was_truncated(cluster: TwoLeaders, join: Join, said: list[str]) -> None:
    member = join(cluster.bootstrap, "logs", "group", "earliest")
    read_old_log(member)
    poll_until(lambda: len(member.records) >= END - TRUNCATED_AT, member)
    assert member.offsets(0) == list(range(TRUNCATED_AT, END))
    assert [f"resuming at {TRUNCATED_AT} (kafka.on_expired_offset = earliest)" in line for line in said] == [True]


def test_a_start_whose_position_the_broker_does_not_say_is_tried_again(cluster: TwoLeaders, join: Join, said: list[str]) -> None:
    cluster.fail_positions(3)
    member = join(cluster.bootstrap, "logs", "another-group", "earliest")
    poll_until(lambda: len(member.records) >= END, member)
    assert member.offsets(0) == list(range(END))
    assert any("Failed to fetch committed offset" in line for line in said)


def test_after_a_restart_the_leader_epoch_of_a_commit_shows_that_the_log_was_truncated(
    own_kafka: OwnKafka, unique: Unique, join: Join, said: list[str]
) -> None:
    topic, group = unique("logs"), unique("group")
    own_kafka.create_topic(topic)
    produce(own_kafka.bootstrap, topic, TRUNCATED_AT, b"old")
    first = join(own_kafka.bootstrap, topic, group, "stop")
    poll_until(lambda: len(first.records) == TRUNCATED_AT, first)
    poll_until(lambda: first.commit({Partition(topic, 0): TRUNCATED_AT}) == {}, first)
    first.close()
    leader_epoch = committed(own_kafka.bootstrap, topic, group).leader_epoch
    assert leader_epoch is not None

    own_kafka.stop()
    own_kafka.start()  # a restart begins another leader epoch
    produce(own_kafka.bootstrap, topic, END - TRUNCATED_AT, b"new")
    protocols: tuple[GroupProtocol, ...] = ("classic", "consumer")
    for protocol in protocols:
        commit(own_kafka.bootstrap, topic, group + protocol, leader_epoch=leader_epoch)  # what 100 records of the old leader leave behind
        stopped = join(own_kafka.bootstrap, topic, group + protocol, "stop", protocol)
        with pytest.raises(SourceExpired, match=rf"offset {OLD} is next, but the log was truncated at {TRUNCATED_AT} and ends at {END}"):
            poll_until(lambda stopped=stopped: bool(stopped.records), stopped)  # type: ignore[misc]
        stopped.close()
        again = join(own_kafka.bootstrap, topic, group + protocol, "earliest", protocol)
        poll_until(lambda again=again: len(again.records) >= END - TRUNCATED_AT, again)  # type: ignore[misc]
        assert again.offsets(0) == list(range(TRUNCATED_AT, END))
        start = committed(own_kafka.bootstrap, topic, group + protocol)
        assert (start.offset, start.leader_epoch) == (TRUNCATED_AT, leader_epoch)
    assert len([line for line in said if "truncated" in line]) == len(protocols)

    whole = join(own_kafka.bootstrap, topic, group, "stop")
    poll_until(lambda: len(whole.records) >= END - TRUNCATED_AT, whole)
    assert whole.offsets(0) == list(range(TRUNCATED_AT, END)), "of a log that lost nothing, another leader takes nothing back"
