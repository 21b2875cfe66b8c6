"""Epochs are never older than their records and never guessed, and an unanswered question blocks nothing."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from consumers.kafka.epochs import FRESH_S, TopicEpochs, TopicWithoutId
from consumers.record import Partition
from tests.consumers.kafka.broker import Description, TopicId

LOGS = Partition("logs", 0)
MORE = Partition("logs", 1)
OTHER = Partition("other", 0)
NOW_S = 100.0


class Reason:
    def str(self) -> str:
        return "not allowed"


class Broker:
    """Records the questions; the test answers them."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.questions: dict[str, Future[Any]] = {}
        self.said: list[str] = []

    def ask(self, topics: Sequence[str]) -> dict[str, Future[Any]]:
        self.asked.append(list(topics))
        questions: dict[str, Future[Any]] = {topic: Future() for topic in topics}
        self.questions |= questions
        return questions

    def answer(self, topic: str, number: int) -> None:
        self.questions[topic].set_result(Description(TopicId(number << 32)))


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def epochs(broker: Broker) -> TopicEpochs:
    return TopicEpochs(fixed=None, ask=broker.ask, say=broker.said.append)


def learn(epochs: TopicEpochs, broker: Broker, number: int, now_s: float = NOW_S) -> None:
    """Have the id of `logs` asked for and answered at `now_s`."""
    epochs.refresh_epochs({"logs": now_s + FRESH_S}, now_s)
    broker.answer("logs", number)
    epochs.refresh_epochs({}, now_s)


def test_an_epoch_is_the_first_eight_hex_digits_of_the_topics_id(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS, OTHER], NOW_S)
    epochs.refresh_epochs({}, NOW_S)
    broker.questions["logs"].set_result(Description(TopicId(0x0123_4567_89AB_CDEF)))
    broker.questions["other"].set_result(Description(TopicId(-1)))  # the client gives signed numbers
    epochs.refresh_epochs({}, NOW_S)
    assert broker.asked == [["logs", "other"]]
    assert (epochs.epoch(LOGS, NOW_S), epochs.epoch(OTHER, NOW_S)) == ("01234567", "ffffffff")


def test_a_topic_without_an_id_is_refused_with_what_to_set(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    epochs.refresh_epochs({}, NOW_S)
    broker.questions["logs"].set_result(Description(TopicId(0)))
    with pytest.raises(TopicWithoutId, match=r"^topic logs has no id \(.*\), so .*; set kafka.topic_epoch$"):
        epochs.refresh_epochs({}, NOW_S)
    assert epochs.epoch(LOGS, NOW_S) is None


def test_an_id_whose_first_half_is_zero_is_an_id(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    epochs.refresh_epochs({}, NOW_S)
    broker.questions["logs"].set_result(Description(TopicId(0, 1)))
    epochs.refresh_epochs({}, NOW_S)
    assert epochs.epoch(LOGS, NOW_S) == "00000000"


def test_a_question_stays_open_and_is_not_asked_twice(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    epochs.refresh_epochs({}, NOW_S)
    epochs.refresh_epochs({"logs": NOW_S}, NOW_S + 1)
    assert broker.asked == [["logs"]]
    assert epochs.epoch(LOGS, NOW_S) is None


def test_what_comes_soon_after_a_question_has_its_epoch_and_what_comes_later_waits_for_another(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    learn(epochs, broker, 1)
    assert epochs.epoch(LOGS, NOW_S + FRESH_S) == "00000001"
    late_s = NOW_S + FRESH_S + 0.01
    assert epochs.epoch(LOGS, late_s) is None
    epochs.refresh_epochs({"logs": late_s}, late_s)
    broker.answer("logs", 1)
    epochs.refresh_epochs({"logs": late_s}, late_s + 60)
    assert epochs.epoch(LOGS, late_s) == "00000001", "however long the answer took, it was asked for after the record arrived"


def test_a_stream_of_records_asks_ahead_and_never_waits(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    learn(epochs, broker, 1)
    asked = len(broker.asked)
    for step in range(100):
        now_s = NOW_S + step / 50
        epochs.refresh_epochs({"logs": now_s}, now_s)
        assert epochs.epoch(LOGS, now_s) == "00000001"
        if not broker.questions["logs"].done():
            broker.answer("logs", 1)
    assert len(broker.asked) - asked <= 10


def test_a_topic_made_anew_gives_no_epoch_to_what_was_read_before_and_names_its_partitions(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    learn(epochs, broker, 1)
    learn(epochs, broker, 2, NOW_S + 1)
    assert epochs.epoch(LOGS, NOW_S + 1) is None
    assert epochs.recreated_partitions() == [LOGS]
    epochs.begin_assignment([LOGS], NOW_S + 2)
    learn(epochs, broker, 2, NOW_S + 2)
    assert epochs.epoch(LOGS, NOW_S + 2) == "00000002"
    assert epochs.recreated_partitions() == []


def test_a_partition_that_brought_nothing_yet_is_made_anew_too(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS, MORE], NOW_S)
    learn(epochs, broker, 1)
    epochs.begin_assignment([MORE], NOW_S + 1)  # assigned again: the position of its group is one in the current topic
    learn(epochs, broker, 2, NOW_S + 2)
    assert epochs.recreated_partitions() == [LOGS]
    assert epochs.epoch(MORE, NOW_S + 2) == "00000002"


def test_in_doubt_an_old_answer_does_not_count(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    learn(epochs, broker, 1)
    epochs.invalidate_epoch(LOGS, NOW_S + 0.1)
    assert epochs.epoch(LOGS, NOW_S) is None
    assert epochs.is_epoch_known(LOGS)
    learn(epochs, broker, 1, NOW_S + 0.1)
    assert epochs.epoch(LOGS, NOW_S) == "00000001"


def test_a_question_that_failed_is_said_and_asked_again_a_little_later(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    epochs.refresh_epochs({}, NOW_S)
    broker.questions["logs"].set_exception(RuntimeError(Reason()))
    epochs.refresh_epochs({}, NOW_S)
    assert broker.said == ["the id of topic logs cannot be read (not allowed); trying again (or set kafka.topic_epoch)"]
    assert len(broker.asked) == 1
    learn(epochs, broker, 1, NOW_S + 1)
    assert epochs.epoch(LOGS, NOW_S + 1) == "00000001"


def test_that_a_commit_has_to_wait_for_an_id_is_not_worth_a_line(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    learn(epochs, broker, 1)
    epochs.refresh_epochs({"logs": NOW_S + 1}, NOW_S + 1, is_quiet=True)
    broker.questions["logs"].set_exception(RuntimeError(Reason()))
    epochs.refresh_epochs({"logs": NOW_S + 1}, NOW_S + 1, is_quiet=True)
    assert broker.said == []


def test_a_new_assignment_asks_anew_and_an_old_answer_does_not_count(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    epochs.refresh_epochs({}, NOW_S)
    epochs.drop([LOGS])
    epochs.begin_assignment([LOGS], NOW_S + 1)
    broker.answer("logs", 1)
    epochs.refresh_epochs({}, NOW_S + 1)
    assert epochs.epoch(LOGS, NOW_S + 1) is None
    broker.answer("logs", 2)
    epochs.refresh_epochs({}, NOW_S + 1)
    assert epochs.epoch(LOGS, NOW_S + 1) == "00000002"
    assert epochs.recreated_partitions() == []


def test_a_fixed_epoch_stands_for_every_topic_and_nobody_is_asked(broker: Broker) -> None:
    epochs = TopicEpochs(fixed="run3", ask=broker.ask, say=broker.said.append)
    epochs.begin_assignment([LOGS, OTHER], NOW_S)
    epochs.refresh_epochs({"logs": NOW_S}, NOW_S)
    epochs.invalidate_epoch(LOGS, NOW_S)
    assert (epochs.epoch(LOGS, NOW_S), epochs.epoch(OTHER, NOW_S + 99)) == ("run3", "run3")
    assert epochs.recreated_partitions() == []
    assert broker.asked == []


def test_an_id_that_is_over_does_not_come_back(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.begin_assignment([LOGS], NOW_S)
    learn(epochs, broker, 1)
    learn(epochs, broker, 2, NOW_S + 1)
    epochs.begin_assignment([LOGS], NOW_S + 2)
    learn(epochs, broker, 2, NOW_S + 2)
    learn(epochs, broker, 1, NOW_S + 3)  # a broker that lags behind
    assert epochs.recreated_partitions() == []
    assert epochs.epoch(LOGS, NOW_S + 2) == "00000002"
