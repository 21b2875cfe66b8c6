"""Positions that do not exist, on a real Kafka: new groups, and committed offsets that have expired or are beyond the end."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumers.kafka.resume_point import ExpiredPolicy, StartPolicy
from consumers.kafka.settings import GroupProtocol, KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from consumers.source import SourceExpired
from tests.contracts.groups import WAIT_S, Member, poll_until
from tests.services.kafka import KafkaServer

Unique = Callable[[str], str]
_CLASSIC = {"heartbeat.interval.ms": "100", "session.timeout.ms": "10000"}
_LITTLE = {"queued.min.messages": "1", "max.partition.fetch.bytes": "1000", "fetch.message.max.bytes": "1000"}


class Topic:
    """One topic and one group of it, on the real broker.

    Thread: the test's.
    """

    def __init__(self, kafka: KafkaServer, unique: Unique, partitions: int) -> None:
        self._bootstrap = kafka.bootstrap
        self.name, self.group = unique("logs"), unique("group")
        self.said: list[str] = []
        self.members: list[Member] = []
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        kafka.create_topic(self.name, partitions=partitions)

    def produce(self, count: int, *, partition: int = 0, value: bytes = b"a") -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "log_level": 0, "batch.num.messages": 1})
        for _ in range(count):
            producer.produce(self.name, value, partition=partition)
        assert producer.flush(WAIT_S) == 0

    def delete_before(self, offset: int, *, partition: int = 0) -> None:
        place = TopicPartition(self.name, partition, offset)
        assert self._admin.delete_records([place])[place].result().low_watermark == offset

    def commit(self, next_offset: int, *, partition: int = 0) -> None:
        asked = ConsumerGroupTopicPartitions(self.group, [TopicPartition(self.name, partition, next_offset)])
        (place,) = self._admin.alter_consumer_group_offsets([asked])[self.group].result().topic_partitions
        assert place.error is None

    def committed(self, partition: int = 0) -> int | None:
        onlooker = Consumer({"bootstrap.servers": self._bootstrap, "group.id": self.group, "log_level": 0})
        try:
            (found,) = onlooker.committed([TopicPartition(self.name, partition)], timeout=WAIT_S)
        finally:
            onlooker.close()
        return found.offset if found.offset >= 0 else None

    def join(
        self,
        *,
        start: StartPolicy = "earliest",
        expired: ExpiredPolicy = "stop",
        protocol: GroupProtocol = "consumer",
        little: dict[str, str] | None = None,
    ) -> Member:
        settings = KafkaSourceSettings(
            bootstrap_servers=self._bootstrap,
            group=self.group,
            group_protocol=protocol,
            offset_reset=start,
            on_expired_offset=expired,
            librdkafka={"fetch.wait.max.ms": "20", "log_level": "0", **(_CLASSIC if protocol == "classic" else {}), **(little or {})},
        )
        self.members.append(Member(KafkaSource(settings, Subscription(names=(self.name,)), say=self._say)))
        return self.members[-1]

    def _say(self, line: str) -> None:
        if "trying again" not in line:  # a broker on a busy machine may not answer in time
            self.said.append(line)


@pytest.fixture
def new_topic(kafka: KafkaServer, unique: Unique) -> Iterator[Callable[..., Topic]]:
    topics: list[Topic] = []

    def make(partitions: int = 1) -> Topic:
        topics.append(Topic(kafka, unique, partitions))
        return topics[-1]

    yield make
    for topic in topics:
        for member in topic.members:
            member.close()


@pytest.fixture
def topic(new_topic: Callable[..., Topic]) -> Topic:
    return new_topic()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_committed_offset_that_retention_has_overtaken_stops_and_nothing_comes(topic: Topic, protocol: GroupProtocol) -> None:
    topic.produce(10)
    topic.commit(4)
    topic.delete_before(6)
    member = topic.join(protocol=protocol)
    with pytest.raises(SourceExpired, match=rf"{topic.name}/0: offset 4 is next, but the oldest record left is 6: 2 records"):
        poll_until(lambda: False, member)
    assert member.records == []
    assert topic.committed() == 4


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_earliest_goes_on_with_the_first_that_is_there_and_says_what_is_lost(topic: Topic, protocol: GroupProtocol) -> None:
    topic.produce(10)
    topic.commit(4)
    topic.delete_before(6)
    member = topic.join(protocol=protocol, expired="earliest")
    poll_until(lambda: len(member.records) >= 4, member)
    assert member.offsets(0) == [6, 7, 8, 9]
    assert [line for line in topic.said if "2 records expired before they were indexed; resuming at 6" in line] == topic.said
    poll_until(lambda: topic.committed() == 6, member)


def test_latest_goes_on_with_what_comes_and_a_restart_skips_no_more(topic: Topic) -> None:
    topic.produce(10)
    topic.commit(4)
    topic.delete_before(6)
    member = topic.join(expired="latest")
    poll_until(lambda: bool(topic.said), member)
    assert "resuming at 10, skipping 4 more" in topic.said[0]
    member.close()
    topic.produce(2)
    again = topic.join(expired="latest")
    poll_until(lambda: len(again.records) >= 2, again)
    assert again.offsets(0) == [10, 11]
    assert len(topic.said) == 1


def test_a_partition_that_begins_again_where_nothing_is_held_any_more_begins_with_the_first_that_is(topic: Topic) -> None:
    topic.produce(10)
    member = topic.join()
    poll_until(lambda: len(member.records) == 10, member)
    topic.delete_before(6)
    place = Partition(topic.name, 0)
    begun: dict[Partition, int] = {}
    poll_until(lambda: bool(begun) or bool(begun.update(member.source.begin_again({place: 4}))), member)
    poll_until(lambda: len(member.records) >= 14, member)
    assert begun == {place: 6}
    assert member.offsets(0)[10:] == [6, 7, 8, 9]
    assert (topic.said, topic.committed()) == ([], 6)


def test_a_committed_offset_beyond_the_end_stops(topic: Topic) -> None:
    topic.produce(10)
    topic.commit(50)
    member = topic.join()
    with pytest.raises(SourceExpired, match=r"offset 50 is next, but the topic was truncated or re-created: it .* ends at 10"):
        poll_until(lambda: False, member)


def test_one_at_the_end_or_at_the_very_first_is_no_reason_to_stop(new_topic: Callable[..., Topic]) -> None:
    topic = new_topic(partitions=2)
    for partition in (0, 1):
        topic.produce(10, partition=partition)
        topic.delete_before(6, partition=partition)
    topic.commit(6, partition=0)
    topic.commit(10, partition=1)
    member = topic.join()
    poll_until(lambda: len(member.records) >= 4, member)
    topic.produce(1, partition=1)
    poll_until(lambda: len(member.records) >= 5, member)
    assert (member.offsets(0), member.offsets(1)) == ([6, 7, 8, 9], [10])


def test_records_that_go_while_it_runs_stop_it_where_it_stood(topic: Topic) -> None:
    topic.produce(100, value=b"a" * 500)
    member = topic.join(little=_LITTLE)
    poll_until(lambda: bool(member.records), member)
    topic.delete_before(80)
    with pytest.raises(SourceExpired) as stopped:
        poll_until(lambda: False, member)
    taken = len(member.records)
    assert taken < 80
    assert f"offset {taken} is next, but the oldest record left is 80: {80 - taken} records" in str(stopped.value)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_records_that_go_while_it_runs_are_said_and_it_goes_on_even_paused(topic: Topic, protocol: GroupProtocol) -> None:
    topic.produce(100, value=b"a" * 500)
    member = topic.join(expired="earliest", protocol=protocol, little=_LITTLE)
    poll_until(lambda: bool(member.records), member)
    member.source.pause()
    taken = len(member.records)
    topic.delete_before(80)
    for _ in range(10):
        member.source.pause()
        member.fetch()
    member.source.resume()
    poll_until(lambda: bool(topic.said), member)
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
    assert len(topic.said) == 1
    assert topic.committed() is None


def test_a_new_group_that_starts_at_the_latest_says_what_it_leaves_out_and_keeps_its_place(topic: Topic) -> None:
    topic.produce(5)
    member = topic.join(start="latest")
    poll_until(lambda: bool(topic.said), member)
    assert "starting at 5, skipping 5 records (kafka.offset_reset = latest)" in topic.said[0]
    poll_until(lambda: topic.committed() == 5, member)
    member.close()
    topic.produce(2)
    again = topic.join(start="latest")
    poll_until(lambda: len(again.records) >= 2, again)
    assert again.offsets(0) == [5, 6]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_two_members_each_decide_for_their_own_partitions(new_topic: Callable[..., Topic], protocol: GroupProtocol) -> None:
    topic = new_topic(partitions=4)
    for partition in range(4):
        topic.produce(10, partition=partition)
    for partition in (0, 1):
        topic.commit(4, partition=partition)
        topic.delete_before(6, partition=partition)
    members = [topic.join(expired="earliest", protocol=protocol) for _ in range(2)]
    poll_until(lambda: all(len(member.owned) == 2 for member in members), *members)
    wanted = {(partition, offset) for partition in range(4) for offset in range(6 if partition < 2 else 0, 10)}

    def come() -> set[tuple[int, int]]:
        return {(record.partition, record.offset) for member in members for record in member.records}

    poll_until(lambda: come() >= wanted, *members)
    assert come() == wanted
    for partition in range(4):
        topic.produce(1, partition=partition)
    more = {(partition, 10) for partition in range(4)}
    poll_until(lambda: come() >= wanted | more, *members)
    assert {partition for member in members for partition in member.owned} == set(range(4))
