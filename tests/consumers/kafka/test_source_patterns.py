"""A source whose topics are a pattern, on a real Kafka under both group protocols."""

import pytest

from consumers.kafka.kafka_source import KafkaSource
from consumers.kafka.source_settings import GroupProtocol
from consumers.kafka.subscription import Subscription, TopicPattern
from tests.consumers.kafka.conftest import NewPlace, Place, Unique
from tests.contracts.groups import Member, poll_until
from tests.services.kafka import KafkaServer

protocols = pytest.mark.parametrize("protocol", ["classic", "consumer"])


@pytest.fixture(autouse=True)
def _looks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consumers.kafka.kafka_source.TOPIC_REFRESH_S", 0.3)


@pytest.fixture
def place(kafka: KafkaServer, new_place: NewPlace, unique: Unique) -> Place:
    """A family of topics: STEM.… are read, but for STEM.queries (ours) and STEM.….old (excluded)."""
    return new_place(kafka.bootstrap, topic=unique("app"))


def create(kafka: KafkaServer, place: Place, *ends: str) -> None:
    for end in ends:
        kafka.create_topic(f"{place.topic}.{end}")


def send(place: Place, *ends: str) -> None:
    """Send a record to each of these topics, which says where it was sent."""
    for end in ends:
        place.produce(end.encode(), topic=f"{place.topic}.{end}")


def join(place: Place, protocol: GroupProtocol) -> tuple[Member, KafkaSource]:
    pattern = TopicPattern(include=f"{place.topic}[.].*", exclude=(".*[.]old",))
    reads = Subscription(patterns=(pattern,), never=frozenset({f"{place.topic}.queries"}))
    member = place.join(subscription=reads, group_protocol=protocol)
    assert isinstance(member.source, KafkaSource)
    return member, member.source


def values(member: Member) -> list[str]:
    return sorted((record.value or b"").decode() for record in member.records)


@protocols
def test_a_topic_that_is_created_while_it_runs_is_read_and_ours_and_excluded_ones_never(
    kafka: KafkaServer, place: Place, protocol: GroupProtocol
) -> None:
    member, source = join(place, protocol)
    line = f"no topic fits topic.pattern '{place.topic}[.].*' yet; looking again every 0.3 s"
    poll_until(lambda: line in place.said, member)
    assert (source.topics, source.commit({})) == ((), {})
    create(kafka, place, "a", "queries", "b.old")
    send(place, "a", "queries", "b.old")
    poll_until(lambda: values(member) == ["a"], member)
    assigned = len(member.events)

    create(kafka, place, "c", "d.old")
    send(place, "a", "queries", "b.old", "c", "d.old")
    poll_until(lambda: values(member) == ["a", "a", "c"], member)

    assert source.topics == (f"{place.topic}.a", f"{place.topic}.c")
    assert [what for what, _ in member.events if what != "assign"] == [], "what was read before was not taken away meanwhile"
    assert len(member.events) > assigned
    assert f"topic {place.topic}.c fits a topic.pattern; read from now on" in place.said
    assert place.said.count(line) == 1


@protocols
def test_a_topic_that_is_deleted_leaves_the_subscription_and_the_others_are_read_on(
    kafka: KafkaServer, place: Place, protocol: GroupProtocol
) -> None:
    create(kafka, place, "a", "b")
    send(place, "a", "b")
    member, source = join(place, protocol)
    poll_until(lambda: values(member) == ["a", "b"], member)

    place.delete_topic(f"{place.topic}.b")
    poll_until(lambda: source.topics == (f"{place.topic}.a",), member)
    poll_until(lambda: {partition.topic for partition in member.source.end_offsets()} <= {f"{place.topic}.a"}, member)
    send(place, "a")
    poll_until(lambda: values(member) == ["a", "a", "b"], member)
