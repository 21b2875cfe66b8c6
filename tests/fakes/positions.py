"""What Kafka knows of groups, as far as lags ask `KafkaPositions` for it."""

import threading
from collections.abc import Mapping, Sequence

from consumers.groupless.groupless_reader import OffsetRange, TopicUnknown
from consumers.record import Partition
from worker.watching.group_positions import GroupState

WAIT_S = 60.0


class FakePositions:
    """Partitions that begin at 0, and one position in each whichever group asks; every record is of 50 s.

    Thread: any.
    """

    def __init__(self, ends: Mapping[Partition, int], done: Mapping[Partition, int | None]) -> None:
        self.ends = dict(ends)
        self.done = dict(done)
        self.states: dict[str, GroupState] = {}
        self.failure: Exception | None = None
        self.asked_topics: list[Sequence[str]] = []
        self.asked_times: list[Mapping[Partition, int]] = []
        self.connected = self.closed = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def connect(self) -> "FakePositions":
        self.connected += 1
        return self

    def close(self) -> None:
        self.closed += 1

    def topics(self) -> set[str]:
        return {partition.topic for partition in self.ends}

    def partitions(self, topics: Sequence[str]) -> list[Partition]:
        self.asked_topics.append(topics)
        assert self.may_answer.wait(WAIT_S)
        if self.failure is not None:
            raise self.failure
        for topic in topics:
            if topic not in self.topics():
                raise TopicUnknown(f"topic {topic} does not exist")
        return [partition for partition in self.ends if partition.topic in topics]

    def committed(self, _group: str, partitions: Sequence[Partition]) -> dict[Partition, int | None]:
        return {partition: self.done.get(partition) for partition in partitions}

    def offset_ranges(self, partitions: Sequence[Partition]) -> dict[Partition, OffsetRange]:
        return {partition: OffsetRange(0, self.ends[partition]) for partition in partitions}

    def times_at(self, places: Mapping[Partition, int]) -> dict[Partition, int]:
        self.asked_times.append(places)
        return dict.fromkeys(places, 50_000)

    def state(self, group: str) -> GroupState:
        return self.states.get(group, GroupState("none", []))
