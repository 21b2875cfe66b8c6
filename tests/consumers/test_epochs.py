"""Epochs: read once an assignment, never guessed, and a question that is not answered stops nobody."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

import pytest

from consumers.epochs import TopicEpochs


class TopicId(NamedTuple):
    bits: int

    def get_most_significant_bits(self) -> int:
        return self.bits


class Description(NamedTuple):
    topic_id: TopicId


class Reason:
    def str(self) -> str:
        return "not allowed"


class Broker:
    """Notes what is asked; the test answers."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.questions: dict[str, Future[Any]] = {}
        self.said: list[str] = []

    def ask(self, topics: Sequence[str]) -> dict[str, Future[Any]]:
        self.asked.append(list(topics))
        questions: dict[str, Future[Any]] = {topic: Future() for topic in topics}
        self.questions |= questions
        return questions

    def answer(self, topic: str, bits: int) -> None:
        self.questions[topic].set_result(Description(TopicId(bits)))


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def epochs(broker: Broker) -> TopicEpochs:
    return TopicEpochs(fixed=None, ask=broker.ask, say=broker.said.append)


def test_an_epoch_is_the_first_eight_hex_digits_of_the_topics_id(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.read({"logs", "other"})
    broker.answer("logs", 0x0123_4567_89AB_CDEF)
    broker.answer("other", -1)  # the client gives signed numbers
    epochs.read({"logs", "other"})
    assert epochs.known == {"logs": "01234567", "other": "ffffffff"}


def test_a_question_stays_open_and_is_not_asked_twice(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.read({"b", "a"})
    epochs.read({"a", "b", "c"})
    assert broker.asked == [["a", "b"], ["c"]]
    broker.answer("b", 1 << 32)
    epochs.read({"a", "b", "c"})
    assert epochs.known == {"b": "00000001"}
    assert broker.asked == [["a", "b"], ["c"]]


def test_what_is_known_is_not_asked(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.read({"logs"})
    broker.answer("logs", 0)
    epochs.read({"logs"})
    epochs.read({"logs"})
    assert broker.asked == [["logs"]]


def test_a_question_that_failed_is_said_and_asked_again(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.read({"logs"})
    broker.questions["logs"].set_exception(RuntimeError(Reason()))
    epochs.read({"logs"})
    assert epochs.known == {}
    assert broker.said == ["the id of topic logs cannot be read (not allowed); trying again (or set kafka.topic_epoch)"]
    epochs.read({"logs"})
    broker.answer("logs", 0)
    epochs.read({"logs"})
    assert epochs.known == {"logs": "00000000"}


def test_a_new_assignment_asks_anew_and_an_old_answer_does_not_count(broker: Broker, epochs: TopicEpochs) -> None:
    epochs.read({"logs"})
    before = broker.questions["logs"]
    epochs.forget(["logs"])
    before.set_result(Description(TopicId(1 << 32)))
    epochs.read({"logs"})
    assert epochs.known == {}
    broker.answer("logs", 2 << 32)
    epochs.read({"logs"})
    assert epochs.known == {"logs": "00000002"}


def test_a_fixed_epoch_stands_for_every_topic_and_nobody_is_asked(broker: Broker) -> None:
    epochs = TopicEpochs(fixed="run3", ask=broker.ask, say=broker.said.append)
    epochs.read({"a", "b"})
    epochs.forget(["a"])
    epochs.read({"a"})
    assert epochs.known == {"a": "run3", "b": "run3"}
    assert broker.asked == []
