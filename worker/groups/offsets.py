"""Where a group goes on in each partition, and what moving it would mean. Pure, but for what it asks Kafka.

`vectail offsets` shows and moves with it, `vectail run --from` moves, `vectail lag` compares two looks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from consumers.kafka.offset_reset import StartPolicy
from consumers.record import Partition
from worker.groups.kafka import GroupActive, GroupState, KafkaPositions
from worker.runtime.kafka_admin import KafkaRefused
from worker.settings.tables import KafkaTable


class GroupTopics(NamedTuple):
    """A group, what it reads, and where it begins."""

    group: str
    topics: tuple[str, ...]
    start: StartPolicy


def group_topics(kafka: KafkaTable, *, queries: bool) -> GroupTopics:
    """Return the log group, or the query group."""
    if queries:
        return GroupTopics(kafka.query_group, (kafka.query_topic,), "earliest")
    return GroupTopics(kafka.group, kafka.topics, kafka.offset_reset)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """Where a group stands in one partition.

    Thread: any.
    """

    partition: Partition
    committed: int | None
    """None: never committed."""
    first_offset: int
    end_offset: int
    start: StartPolicy

    @property
    def next_offset(self) -> int:
        """The next record that is there for the group."""
        if self.committed is None:
            return self.first_offset if self.start == "earliest" else self.end_offset
        return min(max(self.committed, self.first_offset), self.end_offset)

    @property
    def lag_records(self) -> int:
        """How many records are there that the group has not committed."""
        return self.end_offset - self.next_offset

    @property
    def lost_records(self) -> int:
        """How many records were gone before the group had committed them."""
        return 0 if self.committed is None else max(self.first_offset - self.committed, 0)

    @property
    def is_beyond_end(self) -> bool:
        """Whether the group has committed what is not there yet: the topic was cut or made anew."""
        return self.committed is not None and self.committed > self.end_offset


class Target(NamedTuple):
    """Where a group shall go on."""

    kind: Literal["earliest", "latest", "time", "offset"]
    number: int = 0
    """Milliseconds since 1970, or an offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """What a reset changes in one partition.

    Thread: any.
    """

    place: GroupPosition
    after: int

    @property
    def again_records(self) -> int:
        """How many records will be read again."""
        return max(self.place.next_offset - self.after, 0)

    @property
    def skipped_records(self) -> int:
        """How many records will never be read."""
        return max(self.after - self.place.next_offset, 0)


def look(kafka: KafkaPositions, readers: GroupTopics, chosen: Callable[[Partition], bool] = lambda _partition: True) -> list[GroupPosition]:
    """Return where the group stands in each chosen partition. Raises BrokerAway, KafkaRefused."""
    partitions = [partition for partition in kafka.partitions(readers.topics) if chosen(partition)]
    if not partitions:
        raise KafkaRefused(f"there is no such partition in {', '.join(readers.topics)}")
    committed = kafka.committed(readers.group, partitions)  # before the bounds: the end is never behind it
    bounds = kafka.bounds(partitions)
    return [
        GroupPosition(
            partition=partition,
            committed=committed[partition],
            first_offset=bounds[partition].first_offset,
            end_offset=bounds[partition].end_offset,
            start=readers.start,
        )
        for partition in partitions
    ]


def check_at_rest(group: str, found: GroupState) -> None:
    """Raise GroupActive if anybody reads with the group."""
    if found.members:
        members = ", ".join(f"{member.client} at {member.host} ({_shown(member.partitions)})" for member in found.members)
        raise GroupActive(f"group {group} is active: {members}; stop its workers first (one that was killed leaves after a while)")


def plan_moves(kafka: KafkaPositions, places: Sequence[GroupPosition], target: Target) -> list[Move]:
    """Return what a reset would change, partition by partition. Raises BrokerAway; KafkaRefused for an offset that is not there."""
    if target.kind == "time":
        found = kafka.offsets_at([place.partition for place in places], target.number)
        at = (found[place.partition] for place in places)
        return [Move(place=place, after=place.end_offset if offset is None else offset) for place, offset in zip(places, at, strict=True)]
    return [Move(place=place, after=_after(place, target)) for place in places]


def _after(place: GroupPosition, target: Target) -> int:
    if target.kind == "earliest":
        return place.first_offset
    if target.kind == "latest":
        return place.end_offset
    if place.first_offset <= target.number <= place.end_offset:
        return target.number
    held = f"it holds {place.first_offset} to {place.end_offset - 1}" if place.end_offset > place.first_offset else "it is empty"
    raise KafkaRefused(
        f"offset {target.number} is not in {place.partition.topic}/{place.partition.partition}: {held}, its end is {place.end_offset}"
    )


def _shown(partitions: Sequence[Partition]) -> str:
    return ", ".join(f"{partition.topic}/{partition.partition}" for partition in partitions) or "no partition"
