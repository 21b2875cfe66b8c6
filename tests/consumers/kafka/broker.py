"""What the executor asks of its client and tells it and the poller, for tests of both without a client."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, NamedTuple

from consumers.kafka.executor import Executor
from consumers.kafka.kafka_client import KafkaClient
from consumers.kafka.resume_point import ExpiredPolicy, PartitionState, Position
from consumers.kafka.source_settings import KafkaSourceSettings
from consumers.record import Partition
from tests.consumers.kafka.messages import Message, each_of
from tests.consumers.records import LOGS_0, LOGS_1

Call = tuple[str, Partition, int | None]


class TopicId(NamedTuple):
    bits: int
    low_bits: int = 0

    def get_most_significant_bits(self) -> int:
        return self.bits

    def get_least_significant_bits(self) -> int:
        return self.low_bits


class Description(NamedTuple):
    topic_id: TopicId


class Broker:
    """Answers and obeys as the test says, and notes what it was told."""

    def __init__(self, topic_epoch: str | None = "e", expired: ExpiredPolicy = "earliest") -> None:
        self.states: dict[Partition, PartitionState] = {}
        self.states_asked: list[list[Partition]] = []
        self.positions: dict[Partition, Position] | None = {}
        self.asked: list[set[Partition]] = []
        self.obeys = True
        self.topic_number = 1
        self.calls: list[Call] = []
        self.moved_to: list[Position | None] = []
        self.said: list[str] = []
        settings = KafkaSourceSettings(topic_epoch=topic_epoch, on_expired_offset=expired)
        client = KafkaClient(self._topic_ids, self._states, self._positions, lambda _partition: -1, self._told("move"), self._told("check"))
        self.executor = Executor(settings, client, say=self.said.append)
        self.executor.subscribe(self)
        self.executor.intake.begin([LOGS_0, LOGS_1], 0.0)

    def _topic_ids(self, topics: Sequence[str]) -> Mapping[str, Future[Any]]:
        answers: dict[str, Future[Any]] = {topic: Future() for topic in topics}
        for answer in answers.values():
            answer.set_result(Description(TopicId(self.topic_number << 32)))
        return answers

    def _states(self, partitions: Collection[Partition]) -> Mapping[Partition, PartitionState]:
        self.states_asked.append(list(partitions))
        return {partition: self.states[partition] for partition in partitions if partition in self.states}

    def _positions(self, partitions: Collection[Partition]) -> Mapping[Partition, Position] | None:
        self.asked.append(set(partitions))
        return self.positions

    def _told(self, what: str) -> Callable[[Partition, Position | None], bool]:
        def call(partition: Partition, position: Position | None) -> bool:
            self.calls.append((what, partition, None if position is None else position.next_offset))
            self.moved_to += [position] if what == "move" else []
            return self.obeys

        return call

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        self.calls += [("assign", partition, None) for partition in partitions]

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        raise AssertionError(partitions)

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        self.calls += [("lost", partition, None) for partition in partitions]

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        raise AssertionError(accepted, refused)

    def turn(self, *messages: Message, now_s: float = 0.0) -> list[int]:
        """Return the offsets that leave."""
        self.calls.clear()
        self.moved_to.clear()
        self.states_asked.clear()
        return [record.offset for record in each_of(self.executor.take_turn(messages, now_s, is_paused=False))]


def stopped(partition: Partition, reason: str = "a reason") -> Message:
    """Return the error with which the client stops a partition that has no position."""
    return Message(partition, -1, error="_AUTO_OFFSET_RESET", reason=reason)
