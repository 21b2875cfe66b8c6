"""How far behind a group is, in records and in seconds, and what becomes of it: computed from a snapshot and the looks before it.

`vectail lag`, the page and the worker's metrics use it. Time is passed in, and everything but `take_snapshot` and `note_snapshot` is pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from consumers.record import Partition
from worker.watching.group_offsets import ConsumerGroup, GroupPosition, read_positions
from worker.watching.group_positions import GroupState, KafkaPositions
from worker.watching.lag_history import LagHistory, LagPoint, point_of
from worker.watching.outlook import Outlook, outlook_of, total_outlook

_RATE_S: Final = 30.0
"""Rates are those since the oldest look that is not older than this: commits come in steps of seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSnapshot:
    """Where a group stood at one moment."""

    at_s: float
    """Seconds on the monotonic clock."""
    at_ms: int
    """Milliseconds since 1970, as the times of records."""
    state: GroupState
    positions: Sequence[GroupPosition]
    oldest_ms: Mapping[Partition, int]
    """Time of the oldest uncommitted record, in milliseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far behind a group is in one partition, or in all of them."""

    records: int
    seconds: float | None
    """Age of the oldest uncommitted record; None if it has no time."""
    rate: float | None
    """Records committed per second; None after one look."""
    growth: float | None
    """Records produced per second; None after one look."""
    outlook: Outlook


def take_snapshot(kafka: KafkaPositions, group: ConsumerGroup, *, at_s: float, at_ms: int) -> LagSnapshot:
    """Ask Kafka. Raises BrokerAway, KafkaRefused."""
    positions = read_positions(kafka, group)
    oldest_ms = kafka.times_at({one.partition: one.next_offset for one in positions if one.lag_records})
    return LagSnapshot(at_s=at_s, at_ms=at_ms, state=kafka.state(group.name), positions=positions, oldest_ms=oldest_ms)


def note_snapshot(history: LagHistory, group: str, now: LagSnapshot) -> None:
    """Add what a look at a whole group has found; partitions that are gone are forgotten."""
    history.forget_all_but(group, frozenset(one.partition for one in now.positions))
    for one in now.positions:
        history.add_point(group, one.partition, point_of(one, now.at_s, now.at_ms))


def courses_of(history: LagHistory, group: str, now: LagSnapshot) -> dict[Partition, list[LagPoint]]:
    """Return of each partition the points before this look, and its own."""
    return {one.partition: history.course_until(group, one.partition, point_of(one, now.at_s, now.at_ms)) for one in now.positions}


def lag_by_partition(courses: Mapping[Partition, Sequence[LagPoint]], now: LagSnapshot) -> dict[Partition, Lag]:
    """Return the lag of each partition; `courses` end with this look."""
    return {one.partition: _lag(one, courses[one.partition], now) for one in now.positions}


def total_lag(lags: Mapping[Partition, Lag]) -> Lag:
    """Return the lag of all partitions: the sum of records and rates, the age of the oldest record, and the worst outlook."""
    ages = [lag.seconds for lag in lags.values() if lag.seconds is not None]
    rates = [lag.rate for lag in lags.values() if lag.rate is not None]
    growths = [lag.growth for lag in lags.values() if lag.growth is not None]
    return Lag(
        records=sum(lag.records for lag in lags.values()),
        seconds=max(ages) if ages else None,
        rate=sum(rates) if rates else None,
        growth=sum(growths) if growths else None,
        outlook=total_outlook(lag.outlook for lag in lags.values()),
    )


def _lag(position: GroupPosition, course: Sequence[LagPoint], now: LagSnapshot) -> Lag:
    seconds: float | None = 0.0
    if position.lag_records:
        oldest_ms = now.oldest_ms.get(position.partition)
        seconds = None if oldest_ms is None else max(now.at_ms - oldest_ms, 0) / 1000
    earlier = next(one for one in course if now.at_s - one.at_s <= _RATE_S)
    span_s = now.at_s - earlier.at_s
    return Lag(
        records=position.lag_records,
        seconds=seconds,
        rate=_committed_since(earlier, position) / span_s if span_s > 0 else None,
        growth=max(position.end_offset - earlier.end_offset, 0) / span_s if span_s > 0 else None,
        outlook=outlook_of(course, seconds),
    )


def _committed_since(earlier: LagPoint, position: GroupPosition) -> int:
    """Return how many records were committed between two looks; those that retention removed do not count."""
    if position.committed is None:
        return 0
    return max(position.committed - (earlier.end_offset - earlier.records if earlier.committed is None else earlier.committed), 0)
