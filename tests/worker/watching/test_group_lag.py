"""The lag of the whole group: one asker at a time, the last figures while Kafka is away, and what a real group looks like."""

import threading

import pytest

from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from consumers.source import KafkaRefused
from tests.fakes.positions import FakePositions
from worker.runtime.kafka_admin import BrokerAway
from worker.watching.group_lag import FRESH_S, GroupLag, WatchedGroup
from worker.watching.group_offsets import ConsumerGroup
from worker.watching.group_positions import GroupState, Member
from worker.watching.lag_history import MOST_POINTS, LagHistory, LagPoint

WAIT_S = 60.0
LOGS = WatchedGroup("logs", ConsumerGroup("vectail", Subscription(names=("logs",)), "earliest"))
QUERIES = WatchedGroup("queries", ConsumerGroup("vectail-queries", Subscription(names=("queries",)), "earliest"))
P0, P1, Q0 = Partition("logs", 0), Partition("logs", 1), Partition("queries", 0)


def point(at_ms: int, records: int) -> LagPoint:
    return LagPoint(at_ms / 1000, at_ms, 0, records, records)


def known(history: LagHistory, group: str, partition: Partition) -> list[tuple[int, int]]:
    *points, _ = history.course_until(group, partition, point(10**12, 0))
    return [(one.at_ms, one.records) for one in points]


class Scene:
    def __init__(self) -> None:
        self.broker = FakePositions({P0: 100, P1: 100, Q0: 7}, {P0: 40, Q0: 7})
        members = [Member("vectail", "10.0.0.7", [place], f"vectail-{number}") for number, place in enumerate((P0, P1), 1)]
        self.broker.states["vectail"] = GroupState("stable", members)
        self.history, self.now_s = LagHistory(), 10.0
        self.lag = GroupLag(
            self.broker.connect,  # type: ignore[arg-type] # as much of it as is asked
            [LOGS, QUERIES],
            self.history,
            clock=lambda: self.now_s,
            wall_ms=lambda: 50_000 + 1_000 * self.now_s,
        )


def test_all_partitions_are_shown_with_their_members_whoever_reads_them() -> None:
    document = Scene().lag.document()
    logs, queries = document["groups"]
    assert (document["error"], document["asked_ms"]) == (None, 60_000)
    assert (logs["group"], logs["kind"], logs["state"]) == ("vectail", "logs", "stable")
    assert [(one["member"], one["host"], one["partitions"]) for one in logs["members"]] == [
        ("vectail-1", "10.0.0.7", ["logs/0"]),
        ("vectail-2", "10.0.0.7", ["logs/1"]),
    ]
    shown = [(one["partition"], one["committed"], one["end"], one["records"], one["seconds"], one["member"]) for one in logs["partitions"]]
    assert shown == [(0, 40, 100, 60, 10.0, "vectail-1"), (1, None, 100, 100, 10.0, "vectail-2")]
    assert (logs["records"], logs["most_records"], logs["seconds"], logs["outlook_text"]) == (160, 100, 10.0, "not known yet")
    assert (queries["kind"], queries["state"], queries["records"], queries["outlook_text"]) == ("queries", "none", 0, "nothing waits")


def test_many_askers_are_one_question_to_kafka_and_a_later_one_another() -> None:
    scene = Scene()
    scene.broker.may_answer.clear()
    answers: list[object] = []
    askers = [threading.Thread(target=lambda: answers.append(scene.lag.document())) for _ in range(8)]
    for asker in askers:
        asker.start()
    scene.broker.may_answer.set()
    for asker in askers:
        asker.join(WAIT_S)
    assert (len(answers), len(scene.broker.asked_topics)) == (8, 2), "one for each group"
    scene.now_s += FRESH_S
    scene.lag.document()
    assert (len(scene.broker.asked_topics), scene.broker.connected) == (4, 1)


@pytest.mark.parametrize("failure", [BrokerAway("no broker"), KafkaRefused("not allowed")])
def test_while_kafka_does_not_answer_the_last_figures_stay_with_their_time_and_the_reason_is_told(failure: Exception) -> None:
    scene = Scene()
    scene.lag.document()
    scene.now_s, scene.broker.failure = 99.0, failure
    document = scene.lag.document()
    assert str(failure) in (document["error"] or "")
    assert (document["asked_ms"], document["groups"][0]["read_ms"], document["groups"][0]["records"]) == (149_000, 60_000, 160)
    scene.now_s, scene.broker.failure = 102.0, None
    assert scene.lag.document()["error"] is None


def test_before_the_first_answer_there_are_groups_without_figures() -> None:
    scene = Scene()
    scene.broker.failure = BrokerAway("no broker")
    document = scene.lag.document()
    assert document["error"] == "Kafka does not answer: no broker"
    assert [(one["group"], one["state"], one["seconds"], one["partitions"]) for one in document["groups"]] == [
        ("vectail", "unknown", None, []),
        ("vectail-queries", "unknown", None, []),
    ]


def test_a_connection_that_nobody_uses_is_closed_and_the_next_question_connects_again() -> None:
    scene = Scene()
    scene.lag.document()
    scene.lag.rest()
    assert scene.broker.closed == 0
    scene.now_s += 61.0
    scene.lag.rest()
    assert scene.broker.closed == 1
    scene.lag.document()
    assert scene.broker.connected == 2


def test_the_history_is_bounded_in_order_and_has_what_the_worker_saw_before_somebody_looked() -> None:
    scene = Scene()
    for second in range(0, 5 * MOST_POINTS, 5):
        scene.history.add_point("vectail", P0, point(1_000 * second, second))
    scene.history.add_point("vectail", Partition("gone", 0), point(5, 5))
    scene.now_s = 1_000.0
    (first, last), _ = (one["partitions"] for one in scene.lag.document()["groups"])
    assert first["history"][:2] == [(5_000, 5), (10_000, 10)]
    assert first["history"][-1] == (1_050_000, 60)
    assert len(first["history"]) == MOST_POINTS
    assert last["history"] == [(1_050_000, 100)]
    assert known(scene.history, "vectail", Partition("gone", 0)) == []


def test_a_clock_that_was_set_back_stops_no_history() -> None:
    history, partition = LagHistory(), Partition("logs", 0)
    for number, (at_ms, records) in enumerate(
        ((10_000, 1), (12_000, 2), (900_000_000, 3), (900_002_000, 4), (74_000, 5), (14_000, 6), (76_000, 7))
    ):
        history.add_point("vectail", partition, LagPoint(float(number), at_ms, 0, records, records))
    assert known(history, "vectail", partition) == [(10_000, 1), (12_000, 2), (74_000, 5), (76_000, 7)]


def test_of_points_of_one_moment_the_first_stays_and_an_older_one_changes_nothing() -> None:
    history = LagHistory()
    for at_ms, records in ((0, 1), (5_000, 2), (5_100, 3), (4_000, 9), (10_000, 4)):
        history.add_point("g", P0, point(at_ms, records))
    assert known(history, "g", P0) == [(0, 1), (5_000, 2), (10_000, 4)]
