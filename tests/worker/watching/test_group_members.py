"""Groups as Kafka describes them: the same from a process of its own, which may end without harm."""

from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Consumer

from consumers.record import Partition
from tests.services.kafka import KafkaServer
from tests.services.ports import free_port
from worker.runtime.kafka_admin import BrokerAway, Described, DescribedGroup, GroupsQuestion, Undescribed, describe_groups
from worker.watching.group_members import Remembered, describe_apart

WAIT_S = 60.0
ANSWER_S = 20.0


def test_a_process_of_its_own_says_the_same(kafka: KafkaServer, unique: Callable[[str], str]) -> None:
    topic, group, nobody = unique("logs"), unique("readers"), unique("nobody")
    kafka.create_topic(topic, partitions=2)
    reader = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": group, "client.id": "a reader", "auto.offset.reset": "earliest"})
    joined: list[object] = []
    reader.subscribe([topic], on_assign=lambda _consumer, partitions: joined.append(partitions))
    while not joined:
        reader.poll(WAIT_S)
    try:
        question = GroupsQuestion(kafka.bootstrap, {}, [group, nobody], ANSWER_S)
        apart = describe_apart(question)
        assert apart == describe_groups(question)
    finally:
        reader.close()
    found, unknown = apart[group], apart[nobody]
    assert isinstance(found, DescribedGroup)
    assert (found.state, found.protocol) == ("stable", "classic")
    (member,) = found.members
    assert (member.client, member.partitions) == ("a reader", [Partition(topic, 0), Partition(topic, 1)])
    assert found.operations is None or "READ" in found.operations
    assert isinstance(unknown, DescribedGroup)
    assert (unknown.state, unknown.members) == ("dead", [])


@pytest.mark.process
def test_a_broker_that_is_away_is_said_as_such() -> None:
    found = describe_apart(GroupsQuestion(f"127.0.0.1:{free_port()}", {}, ["a-group"], 0.5))["a-group"]
    assert isinstance(found, Undescribed)
    assert found.is_away


@pytest.mark.process
def test_a_process_that_ends_without_an_answer_costs_the_answer_only() -> None:
    with pytest.raises(BrokerAway, match="while the groups were asked for"):
        describe_apart(GroupsQuestion("127.0.0.1:9", {"security.protocol": "nothing"}, ["a-group"], 0.5))


class Kafka:
    """Answers from a table and counts the questions."""

    def __init__(self, **found: DescribedGroup | Undescribed) -> None:
        self.found = found
        self.asked: list[Sequence[str]] = []

    def __call__(self, question: GroupsQuestion) -> Described:
        self.asked.append(question.groups)
        return {name: self.found[name] for name in question.groups}


GROUP = DescribedGroup("stable", "classic", "range", [], None)
AWAY = Undescribed(1, "away", is_away=True)
NOT_FOUND = Undescribed(2, "not found", is_away=False)


def test_all_groups_are_asked_for_at_once_and_remembered_for_a_while() -> None:
    now_s = 0.0
    kafka = Kafka(logs=GROUP, queries=NOT_FOUND)
    remembered = Remembered(["logs", "queries"], keep_s=15.0, clock=lambda: now_s, describe=kafka)
    for group in ("logs", "queries", "logs"):
        assert remembered(GroupsQuestion("", {}, [group], 1.0))[group] == kafka.found[group]
    assert kafka.asked == [["logs", "queries"]]
    now_s = 15.1
    remembered(GroupsQuestion("", {}, ["queries"], 1.0))
    assert kafka.asked == [["logs", "queries"], ["queries", "logs"]]


def test_a_group_that_could_not_be_described_is_asked_for_again() -> None:
    kafka = Kafka(logs=AWAY)
    remembered = Remembered(["logs"], keep_s=15.0, clock=lambda: 0.0, describe=kafka)
    remembered(GroupsQuestion("", {}, ["logs"], 1.0))
    kafka.found["logs"] = GROUP
    assert remembered(GroupsQuestion("", {}, ["logs"], 1.0))["logs"] == GROUP
    assert len(kafka.asked) == 2
