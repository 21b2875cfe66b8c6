"""Where a group resumes in each partition, and what moving it would change.

`vectail offsets`, `vectail run --from` and `vectail lag` use it. Everything but `read_positions` and `plan_moves` is pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from consumers.kafka.resume_point import StartPolicy
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.settings.settings import Settings
from worker.watching.group_positions import GroupActive, GroupState, KafkaPositions

_MOST_NAMED: Final = 5


class ConsumerGroup(NamedTuple):
    """A consumer group: its name, what it reads, and where it begins without a committed offset."""

    name: str
    subscription: Subscription
    start: StartPolicy


def consumer_group(settings: Settings, *, queries: bool) -> ConsumerGroup:
    """Return the log group, or the query group."""
    kafka = settings.kafka
    if queries:
        return ConsumerGroup(kafka.query_group, Subscription(names=(kafka.query_topic,)), "earliest")
    return ConsumerGroup(kafka.group, settings.subscription, kafka.offset_reset)


def existing_topics(kafka: KafkaPositions, subscription: Subscription) -> tuple[str, ...]:
    """Return what a worker would subscribe to now; asks only for patterns. Raises BrokerAway, and KafkaRefused if that is nothing."""
    topics = subscription.topics_among(kafka.topics() if subscription.patterns else ())
    if not topics:
        patterns = ", ".join(repr(pattern.include) for pattern in subscription.patterns)
        raise KafkaRefused(f"no topic fits topic.pattern {patterns}")
    return topics


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPosition:
    """Where a group stands in one partition."""

    partition: Partition
    committed: int | None
    """None: never committed."""
    first_offset: int
    end_offset: int
    start: StartPolicy

    @property
    def next_offset(self) -> int:
        """The offset at which the group resumes."""
        if self.committed is None:
            return self.first_offset if self.start == "earliest" else self.end_offset
        return min(max(self.committed, self.first_offset), self.end_offset)

    @property
    def lag_records(self) -> int:
        """Records that the partition holds and the group has not committed."""
        return self.end_offset - self.next_offset

    @property
    def lost_records(self) -> int:
        """Records that expired before the group committed them."""
        return 0 if self.committed is None else max(self.first_offset - self.committed, 0)

    @property
    def is_beyond_end(self) -> bool:
        """Whether the group has committed past the end: the topic was truncated or created again."""
        return self.committed is not None and self.committed > self.end_offset


def place_of(one: GroupPosition) -> str:
    """Return a partition's name: `logs/0`."""
    return f"{one.partition.topic}/{one.partition.partition}"


def beyond_end(positions: Iterable[GroupPosition]) -> str:
    """Return in words where a group has committed past the end, which its lag does not show; empty if nowhere."""
    beyond = [place_of(one) for one in positions if one.is_beyond_end]
    more = f" and {len(beyond) - _MOST_NAMED} more" if len(beyond) > _MOST_NAMED else ""
    return f"has committed past the end of {', '.join(beyond[:_MOST_NAMED])}{more}: the topic was created again or cut" if beyond else ""


class Target(NamedTuple):
    """Where to move a group."""

    kind: Literal["earliest", "latest", "time", "offset"]
    number: int = 0
    """Milliseconds since 1970, or an offset."""


class InsideEvent(NamedTuple):
    """That the offset which was asked for lies inside a stored event of several records."""

    offset: int
    """What was asked for."""
    first_offset: int
    """Where the event begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetMove:
    """What a reset changes in one partition."""

    position: GroupPosition
    """Before the move."""
    after: int
    """The next offset after the move."""
    inside_event: InsideEvent | None = None
    """Why `after` is before the offset that was asked for."""

    @property
    def again_records(self) -> int:
        """Records that will be read again."""
        return max(self.position.next_offset - self.after, 0)

    @property
    def skipped_records(self) -> int:
        """Records that will never be read."""
        return max(self.after - self.position.next_offset, 0)


def read_positions(
    kafka: KafkaPositions, group: ConsumerGroup, chosen: Callable[[Partition], bool] = lambda _partition: True
) -> list[GroupPosition]:
    """Return the group's position in each chosen partition. Raises BrokerAway, KafkaRefused."""
    topics = existing_topics(kafka, group.subscription)
    partitions = [partition for partition in kafka.partitions(topics) if chosen(partition)]
    if not partitions:
        raise KafkaRefused(f"there is no such partition in {', '.join(topics)}")
    committed = kafka.committed(group.name, partitions)  # before the ranges, so that no end is older than it
    ranges = kafka.offset_ranges(partitions)
    return [
        GroupPosition(
            partition=partition,
            committed=committed[partition],
            first_offset=ranges[partition].first_offset,
            end_offset=ranges[partition].end_offset,
            start=group.start,
        )
        for partition in partitions
    ]


def check_inactive(group: str, found: GroupState) -> None:
    """Raise GroupActive if the group has members."""
    if found.members:
        members = ", ".join(f"{member.client} at {member.host} ({_shown(member.partitions)})" for member in found.members)
        raise GroupActive(f"group {group} is active: {members}; stop its workers first (one that was killed leaves after a while)")


def plan_moves(kafka: KafkaPositions, positions: Sequence[GroupPosition], target: Target) -> list[OffsetMove]:
    """Return what a reset would change in each partition. Raises BrokerAway; KafkaRefused for an offset that is not held."""
    if target.kind == "time":
        found = kafka.offsets_at([position.partition for position in positions], target.number)
        at = (found[position.partition] for position in positions)
        return [
            OffsetMove(position=position, after=position.end_offset if offset is None else offset)
            for position, offset in zip(positions, at, strict=True)
        ]
    return [OffsetMove(position=position, after=_after(position, target)) for position in positions]


def inner_offsets(moves: Sequence[OffsetMove]) -> dict[Partition, int]:
    """Return the new offsets that may lie inside a stored event: those with records before and behind them in Kafka."""
    return {move.position.partition: move.after for move in moves if move.position.first_offset < move.after < move.position.end_offset}


def to_event_starts(moves: Sequence[OffsetMove], starts: Mapping[Partition, int]) -> list[OffsetMove]:
    """Return the moves, those in `starts` to the first record there is of the stored event inside which they end: it begins there."""
    return [
        move
        if (start := starts.get(move.position.partition)) is None
        else replace(move, after=max(start, move.position.first_offset), inside_event=InsideEvent(move.after, start))
        for move in moves
    ]


def _after(position: GroupPosition, target: Target) -> int:
    if target.kind == "earliest":
        return position.first_offset
    if target.kind == "latest":
        return position.end_offset
    if position.first_offset <= target.number <= position.end_offset:
        return target.number
    held = (
        f"it holds {position.first_offset} to {position.end_offset - 1}" if position.end_offset > position.first_offset else "it is empty"
    )
    raise KafkaRefused(f"offset {target.number} is not in {_shown([position.partition])}: {held}, its end is {position.end_offset}")


def _shown(partitions: Sequence[Partition]) -> str:
    return ", ".join(f"{partition.topic}/{partition.partition}" for partition in partitions) or "no partition"
