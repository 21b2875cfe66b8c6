"""A source whose topics are patterns, on a mock cluster and on a real Kafka under both group protocols."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from consumers.kafka.settings import GroupProtocol, KafkaSourceSettings
from consumers.kafka.source import KafkaSource
from consumers.kafka.subscription import Subscription, TopicPattern
from tests.contracts.groups import WAIT_S, Member, poll_until
from tests.services.kafka import KafkaServer
from tests.services.mock_kafka import MockKafka

Unique = Callable[[str], str]


class Place:
    """A broker, a group, and a family of topics: STEM.… are read, but for STEM.queries (ours) and STEM.….old (excluded).

    Thread: the test's.
    """

    def __init__(self, bootstrap: str, stem: str) -> None:
        self.bootstrap = bootstrap
        self.stem = stem
        self.said: list[str] = []
        self.members: list[Member] = []
        self._producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0})

    def join(self, protocol: GroupProtocol, *, names: tuple[str, ...] = (), topic_epoch: str | None = None) -> tuple[Member, KafkaSource]:
        settings = KafkaSourceSettings(
            bootstrap_servers=self.bootstrap,
            group=self.stem,
            group_protocol=protocol,
            topic_epoch=topic_epoch,
            topic_refresh_s=0.3,
            librdkafka={"fetch.wait.max.ms": "20", "log_level": "0"},
        )
        pattern = TopicPattern(include=f"{self.stem}[.].*", exclude=(".*[.]old",))
        subscription = Subscription(names=names, patterns=(pattern,), never=frozenset({f"{self.stem}.queries"}))
        source = KafkaSource(settings, subscription, say=self.said.append)
        self.members.append(Member(source))
        return self.members[-1], source

    def send(self, *ends: str) -> None:
        """Send a record to each of these topics, which says where it was sent."""
        for end in ends:
            self._producer.produce(f"{self.stem}.{end}", end.encode(), partition=0)
        assert self._producer.flush(WAIT_S) == 0

    def ended(self, *ends: str) -> tuple[str, ...]:
        return tuple(f"{self.stem}.{end}" for end in ends)

    def close(self) -> None:
        for member in self.members:
            member.close()


def values(member: Member) -> list[str]:
    return sorted((record.value or b"").decode() for record in member.records)


@pytest.fixture
def place(kafka: KafkaServer, unique: Unique) -> Iterator[Place]:
    opened = Place(kafka.bootstrap, unique("app"))
    yield opened
    opened.close()


@pytest.fixture
def mock_place(mock_kafka: MockKafka, unique: Unique) -> Iterator[Place]:
    opened = Place(mock_kafka.bootstrap, unique("app"))
    yield opened
    opened.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_topic_that_is_created_while_it_runs_is_read_and_ours_and_excluded_ones_never(
    kafka: KafkaServer, place: Place, protocol: GroupProtocol
) -> None:
    for topic in place.ended("a", "queries", "b.old"):
        kafka.create_topic(topic)
    place.send("a", "queries", "b.old")
    member, source = place.join(protocol)
    poll_until(lambda: values(member) == ["a"], member)
    assigned = [partitions for what, partitions in member.events if what == "assign"]

    for topic in place.ended("c", "d.old"):
        kafka.create_topic(topic)
    place.send("a", "queries", "b.old", "c", "d.old")
    poll_until(lambda: values(member) == ["a", "a", "c"], member)

    assert source.topics == place.ended("a", "c")
    assert [what for what, _ in member.events if what != "assign"] == [], "what was read before was not taken away meanwhile"
    assert len([what for what, _ in member.events if what == "assign"]) > len(assigned)
    assert any(line == f"topic {place.stem}.c fits a topic.pattern; read from now on" for line in place.said)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_topic_that_is_deleted_leaves_the_subscription_and_the_others_are_read_on(
    kafka: KafkaServer, place: Place, protocol: GroupProtocol
) -> None:
    for topic in place.ended("a", "b"):
        kafka.create_topic(topic)
    place.send("a", "b")
    member, source = place.join(protocol)
    poll_until(lambda: values(member) == ["a", "b"], member)

    admin = AdminClient({"bootstrap.servers": place.bootstrap})  # an answer does not come to a client that is gone
    admin.delete_topics(list(place.ended("b")))[f"{place.stem}.b"].result(WAIT_S)
    poll_until(lambda: source.topics == place.ended("a"), member)
    poll_until(lambda: {partition.topic for partition in member.source.end_offsets()} <= {f"{place.stem}.a"}, member)
    place.send("a")
    poll_until(lambda: values(member) == ["a", "a", "b"], member)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_pattern_that_fits_nothing_waits_and_says_so_once(kafka: KafkaServer, place: Place, protocol: GroupProtocol) -> None:
    member, source = place.join(protocol)
    line = f"no topic fits topic.pattern '{place.stem}[.].*' yet; looking again every 0.3 s"
    poll_until(lambda: line in place.said, member)
    assert source.topics == ()
    assert source.commit({}) == {}
    kafka.create_topic(f"{place.stem}.a")
    place.send("a")
    poll_until(lambda: values(member) == ["a"], member)
    assert place.said.count(line) == 1


def test_two_members_share_what_fits_though_each_looks_by_itself(kafka: KafkaServer, place: Place) -> None:
    kafka.create_topic(f"{place.stem}.a", 2)
    first, _ = place.join("classic")
    second, _ = place.join("classic")
    poll_until(lambda: (len(first.owned), len(second.owned)) == (1, 1), first, second)
    kafka.create_topic(f"{place.stem}.b", 2)
    place.send("b")
    poll_until(lambda: sorted(values(first) + values(second)) == ["b"], first, second)


def test_names_and_patterns_are_read_together_on_a_mock_cluster(mock_place: Place) -> None:
    mock_place.send("a", "a.old", "queries")
    other = f"other-{mock_place.stem}"
    # Under the classic protocol the mock cluster answers a member that joins again only once its session is over.
    member, source = mock_place.join("consumer", names=(other,), topic_epoch="e")
    poll_until(lambda: values(member) == ["a"], member)
    assert source.topics == (other, f"{mock_place.stem}.a")
    mock_place.send("b")
    poll_until(lambda: values(member) == ["a", "b"], member)
    assert source.topics == (other, *mock_place.ended("a", "b"))
