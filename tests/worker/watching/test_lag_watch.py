"""The worker's lag: of the partitions that it owns, as Kafka reports it."""

import pytest

from consumers.kafka.subscription import Subscription, TopicPattern
from consumers.record import Partition
from consumers.source import KafkaRefused
from tests.fakes.positions import FakePositions
from worker.runtime.kafka_admin import BrokerAway
from worker.watching.group_offsets import ConsumerGroup
from worker.watching.index_reach import IndexReach
from worker.watching.lag_watch import LIST_TOPICS_S, LagWatch
from worker.watching.probe import ProbeFailed

LOGS = ConsumerGroup("vectail", Subscription(names=("logs",)), "earliest")
QUERIES = ConsumerGroup("vectail-queries", Subscription(names=("queries",)), "earliest")
APPS = ConsumerGroup("vectail", Subscription(patterns=(TopicPattern(include="app.*"),)), "earliest")


class Scene:
    def __init__(self, group: ConsumerGroup = LOGS, *, reach: IndexReach | None = None, lists_topics: bool = False) -> None:
        ends = {Partition("logs", n): 100 for n in range(3)} | {Partition("queries", 0): 7}
        self.broker = FakePositions(ends, {Partition("logs", 0): 40, Partition("logs", 1): 100, Partition("queries", 0): 5})
        self.owned = {Partition("logs", 0), Partition("logs", 2), Partition("queries", 0)}
        self.now_s = 10.0
        self.watch = LagWatch(
            self.broker.connect,  # type: ignore[arg-type] # as much of it as is asked
            [group, QUERIES],
            owned=lambda: self.owned,
            clock=lambda: self.now_s,
            wall_ms=lambda: 52_000.0 + 1_000 * self.now_s,
            reach=reach,
            lists_topics=lists_topics,
        )

    def lags(self) -> dict[Partition, int]:
        return {partition: standing.lag.records for partition, standing in self.watch.by_partition.items()}


def test_it_shows_what_the_worker_owns_of_both_groups_and_nothing_else() -> None:
    scene = Scene()
    scene.watch.read()
    assert scene.lags() == {Partition("logs", 0): 60, Partition("logs", 2): 100, Partition("queries", 0): 2}
    assert scene.broker.asked_times == [{Partition("logs", 0): 40, Partition("logs", 2): 0, Partition("queries", 0): 5}]
    assert scene.watch.by_partition[Partition("logs", 0)].lag.seconds == 12.0
    assert scene.watch.read_s == 10.0


def test_after_a_rebalance_the_next_look_shows_the_new_partitions() -> None:
    scene = Scene()
    scene.watch.read()
    scene.owned = {Partition("logs", 1)}
    scene.watch.read()
    assert scene.lags() == {Partition("logs", 1): 0}


def test_of_the_topics_of_a_pattern_only_those_that_are_owned_are_asked_for() -> None:
    scene = Scene(APPS)
    scene.broker.ends |= {Partition("app.a", 0): 9, Partition("app.b", 0): 9}
    scene.watch.read()
    assert scene.broker.asked_topics == [("queries",)], "nothing of the pattern is owned, and that is no fault"
    scene.owned = {Partition("app.b", 0), Partition("queries", 0)}
    scene.watch.read()
    assert scene.broker.asked_topics[1:] == [("app.b",), ("queries",)]
    assert scene.lags() == {Partition("app.b", 0): 9, Partition("queries", 0): 2}


def test_a_worker_that_indexes_nothing_knows_how_far_the_topics_of_a_pattern_are_and_lists_them_once_a_minute() -> None:
    reach = IndexReach(flush_s=0.5, look_every_s=5.0)
    scene = Scene(APPS, reach=reach, lists_topics=True)
    scene.owned = {Partition("queries", 0)}
    scene.broker.ends |= {Partition("app.a", 0): 9}
    scene.watch.read()
    assert reach.said(scene.now_s, (), ())["behind_records"] == 9
    assert scene.lags() == {Partition("queries", 0): 2}
    scene.broker.ends |= {Partition("app.b", 0): 5}
    scene.now_s += LIST_TOPICS_S - 1
    scene.watch.read()
    assert reach.said(scene.now_s, (), ())["behind_records"] == 9
    scene.now_s += 1
    scene.watch.read()
    assert reach.said(scene.now_s, (), ())["behind_records"] == 14


def test_an_owned_topic_of_a_pattern_that_was_deleted_is_left_out_and_a_named_one_is_a_fault() -> None:
    scene = Scene(APPS)
    scene.broker.ends |= {Partition("app.a", 0): 9}
    scene.owned = {Partition("app.a", 0), Partition("app.gone", 0)}
    scene.watch.read()
    assert scene.lags() == {Partition("app.a", 0): 9}
    named = Scene(APPS._replace(subscription=Subscription(names=("app.gone",), patterns=APPS.subscription.patterns)))
    with pytest.raises(ProbeFailed, match=r"topic app\.gone does not exist"):
        named.watch.read()


def test_rates_are_of_two_looks() -> None:
    scene = Scene()
    scene.watch.read()
    scene.now_s = 20.0
    scene.broker.done[Partition("logs", 0)] = 70
    scene.watch.read()
    lag = scene.watch.by_partition[Partition("logs", 0)].lag
    assert (lag.rate, lag.outlook.text) == (3.0, "not known yet")
    assert scene.broker.connected == 1


@pytest.mark.parametrize(
    ("failure", "connections"),
    [(BrokerAway("no broker"), 1), (KafkaRefused("topic logs does not exist"), 2)],
    ids=["away", "refused: what the client remembers may be the reason"],
)
def test_while_kafka_does_not_answer_the_last_look_stays_and_its_age_tells(failure: Exception, connections: int) -> None:
    scene = Scene()
    scene.watch.read()
    scene.now_s, scene.broker.failure = 99.0, failure
    with pytest.raises(ProbeFailed, match=str(failure)):
        scene.watch.read()
    assert scene.watch.read_s == 10.0
    assert scene.lags()
    scene.broker.failure = None
    scene.watch.read()
    assert scene.watch.read_s == 99.0
    assert (scene.broker.connected, scene.broker.closed) == (connections, connections - 1)
