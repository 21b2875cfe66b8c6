"""How far behind a group is, in records and in seconds, and when it will have caught up: computed from two snapshots.

`vectail lag` and the worker's metrics use it. Time is passed in, and everything but `take_snapshot` is pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from consumers.record import Partition
from worker.watching.group_offsets import ConsumerGroup, GroupPosition, read_positions
from worker.watching.group_positions import GroupState, KafkaPositions


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
    """Records committed per second; None after one snapshot."""
    growth: float | None
    """Records produced per second; None after one snapshot."""

    @property
    def is_never_drained(self) -> bool:
        """Whether the lag did not shrink between the snapshots."""
        return bool(self.records) and self.rate is not None and self.growth is not None and self.rate <= self.growth

    @property
    def drain_s(self) -> float | None:
        """Seconds until the lag is gone at this rate; None: never, or unknown after one snapshot."""
        if not self.records:
            return 0.0
        if self.rate is None or self.growth is None or self.is_never_drained:
            return None
        return self.records / (self.rate - self.growth)


def take_snapshot(kafka: KafkaPositions, group: ConsumerGroup, *, at_s: float, at_ms: int) -> LagSnapshot:
    """Ask Kafka. Raises BrokerAway, KafkaRefused."""
    positions = read_positions(kafka, group)
    oldest_ms = kafka.times_at({one.partition: one.next_offset for one in positions if one.lag_records})
    return LagSnapshot(at_s=at_s, at_ms=at_ms, state=kafka.state(group.name), positions=positions, oldest_ms=oldest_ms)


def lag_by_partition(before: LagSnapshot | None, now: LagSnapshot) -> dict[Partition, Lag]:
    """Return the lag of each partition. Rates are those between the two snapshots, and 0 for a new partition."""
    earlier = {} if before is None else {one.partition: one for one in before.positions}
    span_s = 0.0 if before is None else now.at_s - before.at_s
    return {one.partition: _lag(one, earlier.get(one.partition, one), span_s, now) for one in now.positions}


def total_lag(lags: Mapping[Partition, Lag]) -> Lag:
    """Return the lag of all partitions: the sum of records and rates, and the age of the oldest record."""
    ages = [lag.seconds for lag in lags.values() if lag.seconds is not None]
    rates = [lag.rate for lag in lags.values() if lag.rate is not None]
    growths = [lag.growth for lag in lags.values() if lag.growth is not None]
    return Lag(
        records=sum(lag.records for lag in lags.values()),
        seconds=max(ages) if ages else None,
        rate=sum(rates) if rates else None,
        growth=sum(growths) if growths else None,
    )


def _lag(position: GroupPosition, earlier: GroupPosition, span_s: float, now: LagSnapshot) -> Lag:
    seconds: float | None = 0.0
    if position.lag_records:
        oldest_ms = now.oldest_ms.get(position.partition)
        seconds = None if oldest_ms is None else max(now.at_ms - oldest_ms, 0) / 1000
    if span_s <= 0:
        return Lag(records=position.lag_records, seconds=seconds, rate=None, growth=None)
    return Lag(
        records=position.lag_records,
        seconds=seconds,
        rate=_committed_since(earlier, position) / span_s,
        growth=max(position.end_offset - earlier.end_offset, 0) / span_s,
    )


def _committed_since(earlier: GroupPosition, position: GroupPosition) -> int:
    """Return how many records were committed between two snapshots; those that retention removed do not count."""
    if position.committed is None:
        return 0
    return max(position.committed - (earlier.next_offset if earlier.committed is None else earlier.committed), 0)
