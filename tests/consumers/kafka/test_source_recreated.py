"""A topic that is re-created while a group reads it, on a real Kafka: with a running or a frozen member, shorter or longer than before."""

import time
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from confluent_kafka.admin import AdminClient

from consumers.kafka.settings import GroupProtocol, KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from tests.contracts.groups import WAIT_S, KafkaWorld, Member, poll_until
from tests.services.kafka import KafkaServer

Unique = Callable[[str], str]
PARTITIONS = 2
RECREATED = "was deleted and made anew"


class Topic:
    """A topic and one member of a group that reads it.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, name: str, group: str) -> None:
        self._kafka = kafka
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        self.name = name
        self.group = group
        self.said: list[str] = []
        kafka.create_topic(name, partitions=PARTITIONS)
        self.world = self._new_world()

    def _new_world(self) -> KafkaWorld:
        return KafkaWorld(self._kafka.bootstrap, topic=self.name, group=self.group, protocol="consumer")

    def fill(self, records: int, word: bytes) -> None:
        for partition in range(PARTITIONS):
            for number in range(records):
                self.world.produce(partition, b"%s %d" % (word, number))

    def recreate(self) -> None:
        self._admin.delete_topics([self.name], operation_timeout=WAIT_S)[self.name].result()
        deadline_s = time.monotonic() + WAIT_S
        while self.name in self._admin.list_topics(timeout=WAIT_S).topics:
            assert time.monotonic() < deadline_s
        self._kafka.create_topic(self.name, partitions=PARTITIONS)
        self.world = self._new_world()

    def new_source(self, protocol: GroupProtocol) -> KafkaSource:
        settings = KafkaSourceSettings(
            bootstrap_servers=self._kafka.bootstrap,
            group=self.group,
            group_protocol=protocol,
            librdkafka={"fetch.wait.max.ms": "20", "log_level": "0"},
        )
        return KafkaSource(settings, Subscription(names=(self.name,)), say=self.said.append)

    def committed(self) -> list[int | None]:
        return [self.world.committed(partition) for partition in range(PARTITIONS)]

    def named(self, next_offset: int) -> dict[Partition, int]:
        return {Partition(self.name, partition): next_offset for partition in range(PARTITIONS)}


@pytest.fixture
def topic(kafka: KafkaServer, unique: Unique) -> Topic:
    return Topic(kafka, unique("logs"), unique("group"))


@pytest.fixture
def new_member(topic: Topic) -> Iterator[Callable[..., Member]]:
    members: list[Member] = []

    def join(protocol: GroupProtocol = "consumer") -> Member:
        members.append(Member(topic.new_source(protocol)))
        return members[-1]

    yield join
    for member in members:
        member.close()


@pytest.mark.parametrize("records", [3, 40])  # fewer than were read, and more: then the client continues in the middle
def test_nobody_polled_meanwhile_and_all_of_the_new_topic_comes_under_its_own_epoch(
    topic: Topic, new_member: Callable[..., Member], records: int
) -> None:
    topic.fill(10, b"old")
    member = new_member("classic")  # under the other protocol, brokers notify members sooner or later
    poll_until(lambda: len(member.records) == 10 * PARTITIONS, member)
    assert member.commit(topic.named(10)) == {}
    (old,) = {record.epoch for record in member.records}
    topic.recreate()
    topic.fill(records, b"new")
    before = len(member.records)
    poll_until(lambda: len(member.records) >= before + records * PARTITIONS, member)
    fresh = member.records[before:]
    assert {record.epoch for record in fresh}.isdisjoint({old})
    for partition in range(PARTITIONS):
        assert [record.value for record in fresh if record.partition == partition] == [b"new %d" % n for n in range(records)]
    assert [what for what, _ in member.events] == ["assign", "lost", "assign"]
    assert len([line for line in topic.said if RECREATED in line]) == 1
    poll_until(lambda: topic.committed() == [0, 0], member)


def test_while_it_polls_no_record_of_the_new_topic_comes_under_the_old_epoch(topic: Topic, new_member: Callable[..., Member]) -> None:
    topic.fill(5, b"old")
    member = new_member()
    poll_until(lambda: len(member.records) == 5 * PARTITIONS, member)
    old = member.records[0].epoch
    topic.recreate()
    topic.fill(30, b"new")
    poll_until(lambda: len({record.value for record in member.records if record.epoch != old}) == 30, member)
    assert {(record.value or b"")[:3] for record in member.records if record.epoch == old} == {b"old"}


def test_an_idle_partition_does_not_begin_in_the_middle_of_the_new_topic(topic: Topic, new_member: Callable[..., Member]) -> None:
    topic.fill(10, b"old")
    first = new_member()
    poll_until(lambda: len(first.records) == 10 * PARTITIONS, first)
    assert first.commit(topic.named(10)) == {}
    first.close()
    idle = new_member()
    poll_until(lambda: len(idle.owned) == PARTITIONS, idle)
    for _ in range(20):
        assert idle.fetch() == []
    topic.recreate()
    topic.fill(15, b"new")
    poll_until(lambda: all(14 in idle.offsets(partition) for partition in range(PARTITIONS)), idle)
    for partition in range(PARTITIONS):  # after each new assignment it begins again, as nothing is committed
        offsets = idle.offsets(partition)
        assert all(offset in (0, before + 1) for before, offset in pairwise([-1, *offsets])), offsets


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_no_offset_of_the_old_topic_is_committed_in_the_new_one(
    topic: Topic, new_member: Callable[..., Member], protocol: GroupProtocol
) -> None:
    topic.fill(10, b"old")
    member = new_member(protocol)
    poll_until(lambda: len(member.records) == 10 * PARTITIONS, member)
    topic.recreate()
    topic.fill(20, b"new")
    assert member.source.commit(topic.named(10), is_last=True) == {}
    assert topic.committed() == [None, None]
