"""The real source, where a fake is not enough: topic ids, external faults, fatal errors, callbacks that raise."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from consumers.kafka.settings import GroupProtocol, KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from consumers.source import SourceFatal
from tests.contracts.groups import WAIT_S, Member, poll_until
from tests.services.kafka import KafkaServer, OwnKafka
from tests.services.mock_kafka import MockKafka
from tests.services.ports import free_port

Unique = Callable[[str], str]
NewMember = Callable[..., Member]


class Said(list[str]):
    """Collects the lines for the user."""

    def has(self, part: str) -> bool:
        return any(part in line for line in self)


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def new_member(said: Said, unique: Unique) -> Iterator[NewMember]:
    """Make members of one group; all are closed after the test."""
    members: list[Member] = []
    group = unique("group")

    def join(
        bootstrap: str, topics: Sequence[str], *, protocol: GroupProtocol = "consumer", topic_epoch: str | None = None, **librdkafka: str
    ) -> Member:
        own = {name.replace("_", "."): value for name, value in librdkafka.items()}
        settings = KafkaSourceSettings(
            bootstrap_servers=bootstrap,
            group=group,
            topic_epoch=topic_epoch,
            group_protocol=protocol,
            librdkafka={"topic.metadata.refresh.interval.ms": "300", "fetch.wait.max.ms": "20", "log_level": "0", **own},
        )
        members.append(Member(KafkaSource(settings, Subscription(names=tuple(topics)), say=said.append)))
        return members[-1]

    yield join
    for member in members:
        member.close()


def produce(bootstrap: str, topic: str, values: Sequence[bytes]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(WAIT_S) == 0


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([topic], operation_timeout=WAIT_S)[topic].result()


def test_the_epoch_tells_a_re_created_topic_from_its_predecessor(kafka: KafkaServer, unique: Unique, new_member: NewMember) -> None:
    topic, other = unique("logs"), unique("logs")
    epochs: list[dict[str, str]] = []
    kafka.create_topic(other)
    produce(kafka.bootstrap, other, [b"a"] * 2)
    for _ in range(2):
        kafka.create_topic(topic)
        produce(kafka.bootstrap, topic, [b"a"] * 2)
        member = new_member(kafka.bootstrap, [topic, other])
        poll_until(lambda member=member: {record.topic for record in member.records} == {topic, other}, member)  # type: ignore[misc]
        epochs.append({record.topic: record.epoch for record in member.records})
        member.close()
        delete_topic(kafka.bootstrap, topic)
    assert epochs[0][topic] != epochs[1][topic]
    assert epochs[0][other] == epochs[1][other]
    for epoch in (*epochs[0].values(), *epochs[1].values()):
        assert len(epoch) == 8
        int(epoch, 16)


def test_a_fixed_epoch_is_taken_as_it_is(mock_kafka: MockKafka, new_member: NewMember) -> None:
    produce(mock_kafka.bootstrap, "logs", [b"a"])
    member = new_member(mock_kafka.bootstrap, ["logs"], topic_epoch="run7")
    poll_until(lambda: len(member.records) == 1, member)
    assert member.records[0].epoch == "run7"


def test_while_a_topics_id_cannot_be_read_nothing_is_delivered_and_little_is_held(
    mock_kafka: MockKafka, new_member: NewMember, said: Said
) -> None:
    produce(mock_kafka.bootstrap, "logs", [b"line %d" % number for number in range(3000)])
    member = new_member(mock_kafka.bootstrap, ["logs"])  # the mock cluster has no topic ids
    poll_until(lambda: said.has("the id of topic logs cannot be read"), member)
    assert said.has("trying again (or set kafka.topic_epoch)")
    assert member.records == []
    assert isinstance(member.source, KafkaSource)
    waiting = member.source._intake._waiting._waiting  # noqa: SLF001 - what must stay small is inside
    assert 0 < sum(len(came.messages) for came in waiting) <= 2 * 100


def test_a_topic_that_does_not_exist_is_waited_for(kafka: KafkaServer, unique: Unique, new_member: NewMember, said: Said) -> None:
    topic, there = unique("logs"), unique("logs")
    kafka.create_topic(there)
    produce(kafka.bootstrap, there, [b"a"])
    member = new_member(kafka.bootstrap, [topic, there], protocol="classic")
    poll_until(lambda: len(member.records) == 1 and said.has(f"topic {topic} does not exist yet; waiting for it"), member)
    kafka.create_topic(topic)
    produce(kafka.bootstrap, topic, [b"b"])
    poll_until(lambda: [record.topic for record in member.records] == [there, topic], member)


def test_a_broker_that_is_away_is_said_and_waited_for(new_member: NewMember, said: Said) -> None:
    address = f"127.0.0.1:{free_port()}"
    member = new_member(address, ["logs"])
    poll_until(lambda: said.has(f"kafka at {address} is away; waiting for it"), member)
    assert member.fetch() == []


def test_after_a_broker_was_killed_records_and_commits_go_on(
    own_kafka: OwnKafka, unique: Unique, new_member: NewMember, said: Said
) -> None:
    topic = unique("logs")
    own_kafka.create_topic(topic)
    produce(own_kafka.bootstrap, topic, [b"a"] * 3)
    member = new_member(own_kafka.bootstrap, [topic], reconnect_backoff_max_ms="200")
    poll_until(lambda: len(member.records) == 3, member)
    own_kafka.kill()
    poll_until(lambda: said.has("is away; waiting for it"), member)
    own_kafka.start()
    produce(own_kafka.bootstrap, topic, [b"b"] * 3)
    poll_until(lambda: 5 in member.offsets(0), member)  # a member whose session has expired begins again, as nothing is committed
    assert member.offsets(0) in (list(range(6)), [0, 1, 2, *range(6)])
    poll_until(lambda: member.commit({Partition(topic, 0): 6}) == {}, member)


def test_a_member_that_is_fenced_ends(kafka: KafkaServer, unique: Unique, new_member: NewMember) -> None:
    topic = unique("logs")
    kafka.create_topic(topic)
    static = {"protocol": "classic", "group_instance_id": "one", "heartbeat_interval_ms": "100"}
    first = new_member(kafka.bootstrap, [topic], **static)
    poll_until(lambda: first.owned == {0}, first)
    second = new_member(kafka.bootstrap, [topic], **static)
    with pytest.raises(SourceFatal, match=r"(?i)fenced|group.instance.id"):
        poll_until(lambda: False, second, first)


def test_an_error_in_a_callback_comes_out_of_fetch(mock_kafka: MockKafka, new_member: NewMember) -> None:
    produce(mock_kafka.bootstrap, "logs", [b"a"])
    member = new_member(mock_kafka.bootstrap, ["logs"], topic_epoch="mock")

    def fail(_partitions: Sequence[Partition]) -> None:
        raise ZeroDivisionError

    member.at_assign = fail
    with pytest.raises(ZeroDivisionError):
        poll_until(lambda: False, member)


def test_the_ends_of_partitions_that_brought_nothing_yet_are_known_or_left_out(mock_kafka: MockKafka, new_member: NewMember) -> None:
    produce(mock_kafka.bootstrap, "logs", [b"a"] * 2)
    member = new_member(mock_kafka.bootstrap, ["logs"], topic_epoch="mock")
    assert member.source.end_offsets() == {}
    poll_until(lambda: len(member.records) == 2, member)
    ends = member.source.end_offsets()
    assert ends[Partition("logs", 0)] == 2
    assert set(ends.values()) <= {0, 2}
