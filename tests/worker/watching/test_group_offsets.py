"""Where a group stands and what moving it would change; with a real Kafka for what only Kafka knows."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from consumers.groupless.groupless_reader import OffsetRange
from consumers.kafka.resume_point import StartPolicy
from consumers.kafka.subscription import Subscription, TopicPattern
from consumers.record import Partition
from consumers.source import KafkaRefused
from tests.fakes.positions import FakePositions
from tests.services.kafka import KafkaServer
from tests.services.mock_kafka import MockKafka
from tests.services.ports import free_port
from worker.runtime.kafka_admin import BrokerAway
from worker.settings.settings import load_settings
from worker.settings.tables import KafkaTable
from worker.watching.group_offsets import (
    ConsumerGroup,
    GroupPosition,
    OffsetMove,
    Target,
    check_inactive,
    consumer_group,
    existing_topics,
    inner_offsets,
    plan_moves,
    read_positions,
    to_event_starts,
)
from worker.watching.group_positions import GroupActive, GroupState, KafkaPositions, Member

Unique = Callable[[str], str]
WAIT_S = 30.0
LOGS = Partition("logs", 0)


def position_at(committed: int | None, *, start: StartPolicy = "earliest") -> GroupPosition:
    return GroupPosition(partition=LOGS, committed=committed, first_offset=10, end_offset=50, start=start)


@pytest.mark.parametrize(
    ("committed", "next_offset", "lag", "lost"), [(30, 30, 20, 0), (10, 10, 40, 0), (4, 10, 40, 6), (50, 50, 0, 0), (60, 50, 0, 0)]
)
def test_the_lag_is_what_is_there_and_not_committed(committed: int, next_offset: int, lag: int, lost: int) -> None:
    found = position_at(committed)
    assert (found.next_offset, found.lag_records, found.lost_records) == (next_offset, lag, lost)
    assert found.is_beyond_end == (committed == 60)


def test_a_group_that_never_committed_lags_by_what_it_would_read() -> None:
    assert position_at(None).lag_records == 40
    assert position_at(None, start="latest").lag_records == 0


@pytest.mark.parametrize(
    ("committed", "after", "again", "skipped"), [(30, 20, 10, 0), (30, 45, 0, 15), (30, 30, 0, 0), (4, 12, 0, 2), (60, 45, 5, 0)]
)
def test_a_move_says_what_is_read_again_and_what_is_skipped(committed: int, after: int, again: int, skipped: int) -> None:
    move = OffsetMove(position=position_at(committed), after=after)
    assert (move.again_records, move.skipped_records) == (again, skipped)


@pytest.mark.parametrize(("start", "after"), [(18, 18), (4, 10)])
def test_a_move_inside_a_stored_event_goes_to_the_first_record_of_it_that_is_there(start: int, after: int) -> None:
    other = replace(position_at(30), partition=Partition("logs", 1))
    moves = [OffsetMove(position=position_at(30), after=20), OffsetMove(position=other, after=20)]
    inside, untouched = to_event_starts(moves, {LOGS: start})
    assert (inside.after, inside.again_records, inside.inside_event) == (after, 30 - after, (20, start))
    assert untouched is moves[1]


def test_only_an_offset_with_records_on_both_sides_may_be_inside_an_event() -> None:
    moves = [OffsetMove(position=replace(position_at(30), partition=Partition("logs", at)), after=at) for at in (10, 11, 49, 50)]
    assert inner_offsets(moves) == {Partition("logs", 11): 11, Partition("logs", 49): 49}


def test_a_group_at_rest_may_be_moved_and_one_with_members_not() -> None:
    check_inactive("g", GroupState("empty", []))
    check_inactive("g", GroupState("none", []))
    members = [Member("vectail", "10.0.0.7", [LOGS, Partition("logs", 2)]), Member("other", "10.0.0.8", [])]
    with pytest.raises(GroupActive):
        check_inactive("g", GroupState("preparing_rebalance", members))
    with pytest.raises(
        GroupActive, match=r"group g is active: vectail at 10.0.0.7 \(logs/0, logs/2\), other at 10.0.0.8 \(no partition\); stop"
    ):
        check_inactive("g", GroupState("stable", members))


def test_the_query_group_begins_at_the_first_query_whatever_the_log_group_does() -> None:
    settings = load_settings(None, {"kafka": {"offset_reset": "latest", "group": "g", "query_group": "q", "query_topic": "asked"}})
    assert consumer_group(settings, queries=True) == ConsumerGroup("q", Subscription(names=("asked",)), "earliest")
    assert consumer_group(settings, queries=False) == ConsumerGroup("g", settings.subscription, "latest")


class GrowingLog(FakePositions):
    """Between two questions ten records come and are committed."""

    def committed(self, _group: str, partitions: Sequence[Partition]) -> dict[Partition, int | None]:
        self.ends[LOGS] += 10
        return dict.fromkeys(partitions, self.ends[LOGS])

    def offset_ranges(self, partitions: Sequence[Partition]) -> dict[Partition, OffsetRange]:
        self.ends[LOGS] += 10
        return super().offset_ranges(partitions)


def test_records_that_come_and_are_committed_during_the_look_are_not_past_the_end() -> None:
    group = ConsumerGroup("g", Subscription(names=("logs",)), "earliest")
    (found,) = read_positions(GrowingLog({LOGS: 0}, {}), group)  # type: ignore[arg-type] # as much of it as is asked
    assert (found.is_beyond_end, found.lag_records) == (False, 10)


class Topic:
    """A topic with two partitions and a group; partition 0 holds 2 to 9 with the times 1002 to 1009, partition 1 nothing."""

    def __init__(self, kafka: KafkaServer, unique: Unique) -> None:
        self.name, self.group = unique("logs"), unique("group")
        self.table = KafkaTable(bootstrap_servers=kafka.bootstrap, group=self.group)
        self.consumer_group = ConsumerGroup(self.group, Subscription(names=(self.name,)), "earliest")
        self._kafka = kafka
        self.create("")
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        for number in range(10):
            producer.produce(self.name, b"a", partition=0, timestamp=1000 + number)
        assert producer.flush(WAIT_S) == 0

    def create(self, *ends: str) -> None:
        """Create topics whose names begin with this one's."""
        for end in ends:
            self._kafka.create_topic(f"{self.name}{end}", partitions=2)

    def at(self, number: int) -> Partition:
        return Partition(self.name, number)


@pytest.fixture
def topic(kafka: KafkaServer, unique: Unique) -> Topic:
    return Topic(kafka, unique)


@pytest.fixture
def positions(topic: Topic) -> Iterator[KafkaPositions]:
    with KafkaPositions(topic.table) as opened:
        yield opened


def test_a_new_group_does_not_exist_until_it_has_committed(topic: Topic, positions: KafkaPositions) -> None:
    assert positions.state(topic.group) == GroupState("none", [])
    assert [(one.committed, one.first_offset, one.end_offset) for one in read_positions(positions, topic.consumer_group)] == [
        (None, 0, 10),
        (None, 0, 0),
    ]
    positions.commit(topic.group, {topic.at(0): 4})
    assert positions.state(topic.group) == GroupState("empty", [])
    assert [(one.committed, one.lag_records) for one in read_positions(positions, topic.consumer_group)] == [(4, 6), (None, 0)]


@pytest.mark.parametrize(
    ("target", "after"),
    [(Target("earliest"), [0, 0]), (Target("latest"), [10, 0]), (Target("time", 1007), [7, 0]), (Target("time", 2000), [10, 0])],
)
def test_a_target_means_an_offset_in_each_partition(topic: Topic, positions: KafkaPositions, target: Target, after: list[int]) -> None:
    assert [move.after for move in plan_moves(positions, read_positions(positions, topic.consumer_group), target)] == after


def test_an_offset_must_be_there_in_each_chosen_partition(topic: Topic, positions: KafkaPositions) -> None:
    first = read_positions(positions, topic.consumer_group, lambda partition: partition.partition == 0)
    assert [move.after for move in plan_moves(positions, first, Target("offset", 10))] == [10]
    with pytest.raises(KafkaRefused, match=f"offset 11 is not in {topic.name}/0: it holds 0 to 9, its end is 10"):
        plan_moves(positions, first, Target("offset", 11))
    with pytest.raises(KafkaRefused, match=f"offset 4 is not in {topic.name}/1: it is empty, its end is 0"):
        plan_moves(positions, read_positions(positions, topic.consumer_group), Target("offset", 4))


def test_a_choice_that_leaves_nothing_is_refused(topic: Topic, positions: KafkaPositions) -> None:
    with pytest.raises(KafkaRefused, match="there is no such partition"):
        read_positions(positions, topic.consumer_group, lambda _partition: False)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_an_active_group_has_members_and_the_broker_itself_does_not_move_it(topic: Topic, positions: KafkaPositions, protocol: str) -> None:
    own = {"group.protocol": protocol, "client.id": "reader", "enable.auto.commit": False, "log_level": 0}
    reader = Consumer({"bootstrap.servers": topic.table.bootstrap_servers, "group.id": topic.group, **own})
    try:
        reader.subscribe([topic.name])
        active = [("reader", "127.0.0.1", [topic.at(0), topic.at(1)])]
        until_s = time.monotonic() + WAIT_S
        while (found := positions.state(topic.group)).state != "stable" or [one[:3] for one in found.members] != active:
            assert time.monotonic() < until_s, found
            reader.poll(0.1)
        assert found.members[0].id not in ("", "reader"), "Kafka's own name for a member"
        assert (found.protocol or "").startswith(f"{protocol}, ")
        with pytest.raises(GroupActive, match=f"group {topic.group} is active again"):
            positions.commit(topic.group, {topic.at(0): 4})
        assert positions.committed(topic.group, [topic.at(0)]) == {topic.at(0): None}
    finally:
        reader.close()


def test_what_retention_has_removed_is_not_there(kafka: KafkaServer, topic: Topic, positions: KafkaPositions) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
    where = TopicPartition(topic.name, 0, 6)
    admin.delete_records([where])[where].result()
    positions.commit(topic.group, {topic.at(0): 4})
    found = read_positions(positions, topic.consumer_group)[0]
    assert (found.first_offset, found.lag_records, found.lost_records) == (6, 4, 2)
    assert positions.times_at({topic.at(0): found.next_offset}) == {topic.at(0): 1006}
    assert positions.times_at({topic.at(0): 4}) == {}


def test_a_broker_that_does_not_say_who_reads_can_be_read_all_the_same(mock_kafka: MockKafka) -> None:
    table = KafkaTable(bootstrap_servers=mock_kafka.bootstrap)
    with KafkaPositions(table) as mock:
        Producer({"bootstrap.servers": mock_kafka.bootstrap, "log_level": 0}).list_topics("logs", timeout=WAIT_S)
        assert mock.state("vectail") == GroupState("unknown", [])
        mock.commit("vectail", {LOGS: 0})
        assert mock.committed("vectail", [LOGS]) == {LOGS: 0}
        assert mock.offset_ranges([LOGS]) == {LOGS: OffsetRange(0, 0)}


def test_only_the_chosen_partitions_are_read(mock_kafka: MockKafka) -> None:
    Producer({"bootstrap.servers": mock_kafka.bootstrap, "log_level": 0}).list_topics("logs", timeout=WAIT_S)
    group = ConsumerGroup("vectail", Subscription(names=("logs",)), "earliest")
    with KafkaPositions(KafkaTable(bootstrap_servers=mock_kafka.bootstrap)) as mock:
        assert [one.partition.partition for one in read_positions(mock, group)] == [0, 1, 2, 3]
        assert [one.partition.partition for one in read_positions(mock, group, lambda one: one.partition == 2)] == [2]


def test_a_position_that_the_broker_does_not_take_is_an_error(mock_kafka: MockKafka) -> None:
    with KafkaPositions(KafkaTable(bootstrap_servers=mock_kafka.bootstrap)) as mock, pytest.raises(KafkaRefused):
        mock.commit("vectail", {Partition("logs", 99): 4})


@pytest.mark.process
def test_a_broker_that_is_away_is_told_apart_from_one_that_refuses() -> None:
    with KafkaPositions(KafkaTable(bootstrap_servers=f"127.0.0.1:{free_port()}"), answer_s=0.5) as away:
        with pytest.raises(BrokerAway):
            away.partitions(["logs"])
        with pytest.raises(BrokerAway):
            away.committed("g", [LOGS])
        with pytest.raises(BrokerAway):
            away.offset_ranges([LOGS])
        with pytest.raises(BrokerAway):
            away.state("g")
        assert away.times_at({LOGS: 0}) == {}


def test_properties_that_the_client_does_not_take_are_refused() -> None:
    with pytest.raises(KafkaRefused, match="kafka: "):
        KafkaPositions(KafkaTable(librdkafka={"security.protocol": "nonsense"}))


def test_the_topics_of_a_pattern_are_those_that_exist_now(topic: Topic, positions: KafkaPositions) -> None:
    pattern = TopicPattern(include=f"{topic.name}.*", exclude=(".*-old",))
    group = topic.consumer_group._replace(subscription=Subscription(patterns=(pattern,), never=frozenset({f"{topic.name}-queries"})))
    topic.create("-a", "-old", "-queries")
    assert existing_topics(positions, group.subscription) == (topic.name, f"{topic.name}-a")
    assert [one.partition for one in read_positions(positions, group)] == [
        topic.at(0),
        topic.at(1),
        Partition(f"{topic.name}-a", 0),
        Partition(f"{topic.name}-a", 1),
    ]


def test_a_pattern_that_fits_nothing_is_refused_by_name(positions: KafkaPositions) -> None:
    with pytest.raises(KafkaRefused, match=r"^no topic fits topic\.pattern 'no-such-topic\[\.\]\.\*'$"):
        existing_topics(positions, Subscription(patterns=(TopicPattern(include="no-such-topic[.].*"),)))
