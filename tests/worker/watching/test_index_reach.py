"""How far the index is: what is unread is never called complete, and what is said of it is what Kafka and the worker said."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from tests.fakes.positions import FakePositions
from worker.asking.answers import OutlookJson, ReachJson, TopicReachJson
from worker.asking.reach import arriving_text, behind_text
from worker.runtime.kafka_admin import BrokerAway
from worker.watching.group_offsets import ConsumerGroup
from worker.watching.index_reach import IndexReach
from worker.watching.lag_watch import LagWatch
from worker.watching.probe import ProbeFailed

LOOK_EVERY_S, FLUSH_S = 5.0, 0.5
MAY_TAKE_S = FLUSH_S + 2 * LOOK_EVERY_S + 10
APPS, AUDIT = Partition("apps", 0), Partition("audit", 0)
OWNED_BY_ANOTHER = Partition("apps", 1)
PARTITIONS = (APPS, OWNED_BY_ANOTHER, AUDIT)
GROUP = ConsumerGroup("vectail", Subscription(names=("apps", "audit")), "earliest")
START_MS = 1_000_000


class Scene:
    """A group that reads three partitions; the worker owns two of them."""

    def __init__(self) -> None:
        self.kafka = FakePositions(dict.fromkeys(PARTITIONS, 0), dict.fromkeys(PARTITIONS, 0))
        self.came_s: dict[Partition, list[float]] = {partition: [] for partition in PARTITIONS}
        self.now_s = 0.0
        self.reach = IndexReach(flush_s=FLUSH_S, look_every_s=LOOK_EVERY_S)
        self.known: dict[Partition, int] = {}
        self.reach.follow(lambda: self.known)
        self.watch = LagWatch(
            self.kafka.connect,  # type: ignore[arg-type] # as much of it as is asked
            [GROUP],
            owned=lambda: (APPS, AUDIT),
            clock=lambda: self.now_s,
            wall_ms=lambda: START_MS + 1_000 * self.now_s,
            reach=self.reach,
        )

    def come(self, partition: Partition, records: int = 1) -> None:
        self.kafka.ends[partition] += records
        self.came_s[partition] += [self.now_s] * records

    def commit(self, partition: Partition, records: int | None = None) -> None:
        done, end = self.kafka.done[partition] or 0, self.kafka.ends[partition]
        self.kafka.done[partition] = end if records is None else min(done + records, end)
        if partition in (APPS, AUDIT):
            self.known[partition] = self.kafka.done[partition] or 0

    def look(self, after_s: float = 0.0) -> None:
        self.now_s += after_s
        self.watch.read()

    def said(self, *topics: str, without: Sequence[str] = ()) -> ReachJson:
        return self.reach.said(self.now_s, topics, without)

    def oldest_unread_s(self, topics: Sequence[str]) -> float:
        unread = (self.came_s[one][self.kafka.done[one] or 0 :] for one in PARTITIONS if one.topic in topics)
        return min((times[0] for times in unread if times), default=math.inf)


class Step(NamedTuple):
    what: str
    partition: Partition
    records: int
    after_s: float


steps = st.builds(
    Step,
    st.sampled_from(("come", "commit", "commit all", "look", "away")),
    st.sampled_from(PARTITIONS),
    st.integers(1, 9),
    st.floats(0, 12),
)


@given(st.lists(steps, max_size=40))
def test_whoever_has_not_read_what_came_early_enough_never_says_complete(course: list[Step]) -> None:
    scene = Scene()
    for step in course:
        scene.now_s += step.after_s
        scene.kafka.failure = BrokerAway("no broker") if step.what == "away" else None
        if step.what == "come":
            scene.come(step.partition, step.records)
        elif step.what.startswith("commit"):
            scene.commit(step.partition, None if step.what == "commit all" else step.records)
        else:
            try:
                scene.look()
            except ProbeFailed:
                assert step.what == "away"
        for topics in (("apps",), ("audit",), ("apps", "audit")):
            if scene.oldest_unread_s(topics) < scene.now_s - MAY_TAKE_S:
                assert "behind" in scene.said(*topics)


@given(st.lists(st.tuples(st.sampled_from(PARTITIONS), st.integers(1, 9), st.floats(0.1, 3)), max_size=30))
def test_whoever_keeps_up_and_is_looked_at_in_time_is_never_called_behind(course: list[tuple[Partition, int, float]]) -> None:
    scene = Scene()
    scene.look()
    for partition, records, after_s in course:
        scene.come(partition, records)
        scene.look(after_s)
        scene.commit(partition)
        assert "behind" not in scene.said()


def test_before_the_first_look_and_long_after_the_last_nothing_is_known() -> None:
    scene = Scene()
    unknown: ReachJson = {"indexed_until_ms": None, "behind_records": None, "behind": []}
    assert scene.said() == unknown
    scene.look()
    assert scene.said() == {"indexed_until_ms": START_MS, "behind_records": 0}
    scene.now_s = MAY_TAKE_S
    assert "behind" not in scene.said()
    scene.now_s += 0.1
    assert scene.said() == {"indexed_until_ms": START_MS, "behind_records": 0, "behind": []}
    assert behind_text(scene.said()) == "How far the index is behind is not known: Kafka has not said lately."


def test_what_waits_is_said_by_topic_with_the_time_of_the_oldest() -> None:
    scene = Scene()
    scene.look()
    scene.come(APPS, 7)
    scene.come(OWNED_BY_ANOTHER, 2)
    for _ in range(4):
        scene.look(6)
    said = scene.said()
    assert (said["behind_records"], said["indexed_until_ms"]) == (9, 50_000), "Kafka's time of the worker's own oldest record"
    assert [(one["topic"], one["behind_records"], one["outlook"]) for one in said["behind"]] == [("apps", 9, "unknown")]
    assert "behind" not in scene.said("audit")
    assert "behind" not in scene.said(without=["apps"])
    assert (
        behind_text(said) == "Not everything is here yet: it is indexed up to 1970-01-01T00:00:50.000Z, and 9 records are to come"
        " (apps: not known yet)."
    )


def test_of_what_others_own_the_time_is_that_of_the_last_look_before_it_came() -> None:
    scene = Scene()
    scene.look()
    scene.look(6)
    scene.come(OWNED_BY_ANOTHER)
    scene.look(6)
    assert scene.said("apps") == {"indexed_until_ms": START_MS + 6_000, "behind_records": 1}


def test_a_topic_is_as_late_as_its_slowest_partition() -> None:
    scene = Scene()
    scene.look()
    scene.come(APPS)
    for _ in range(4):
        scene.look(6)
    scene.come(OWNED_BY_ANOTHER)
    scene.look(2)
    assert [one["behind_records"] for one in scene.said("apps")["behind"]] == [2]


def test_what_the_worker_has_committed_counts_before_the_next_look() -> None:
    scene = Scene()
    scene.come(APPS, 100)
    scene.look()
    assert scene.said()["behind_records"] == 100
    assert "behind" in scene.said(), "it was there at the first look, nobody knows since when"
    scene.commit(APPS, 60)
    assert scene.said()["behind_records"] == 40
    scene.commit(APPS)
    assert scene.said() == {"indexed_until_ms": START_MS, "behind_records": 0}


@pytest.mark.parametrize(("records", "said"), [(1, "1 record is to come"), (241_000, "241,000 records are to come")])
def test_a_sentence_has_its_number(records: int, said: str) -> None:
    outlook: OutlookJson = {"outlook": "unknown", "outlook_text": "x", "caught_up_in_s": None}
    topic: TopicReachJson = {"topic": "logs", "behind_records": records, "indexed_until_ms": 0, **outlook}
    assert said in behind_text({"behind": [topic], "behind_records": records, "indexed_until_ms": 0})


def test_of_an_index_that_is_not_behind_only_what_is_on_the_way_is_said() -> None:
    assert not behind_text({"indexed_until_ms": 5, "behind_records": 3})
    assert arriving_text({"indexed_until_ms": 5, "behind_records": 3}) == "3 records are on the way from Kafka."
    assert arriving_text({"behind_records": 1}) == "1 record is on the way from Kafka."
    unsaid: list[ReachJson] = [{}, {"behind_records": 0}, {"behind_records": None}, {"behind_records": 3, "behind": []}]
    assert not any(map(arriving_text, unsaid))
