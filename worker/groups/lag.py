"""How far behind a group is, in records and in seconds, and when it will have caught up: from two looks at it.

`vectail lag` calls it. Time is passed in, so that all but `take_look` is pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from consumers.record import Partition
from worker.groups.kafka import GroupState, KafkaPositions
from worker.groups.offsets import GroupPosition, GroupTopics, look


@dataclass(frozen=True, slots=True, kw_only=True)
class LagSnapshot:
    """Where a group stood at one moment.

    Thread: any.
    """

    at_s: float
    """Monotonic."""
    at_ms: int
    """Milliseconds since 1970, to compare with the times of records."""
    state: GroupState
    places: Sequence[GroupPosition]
    oldest_ms: Mapping[Partition, int]
    """Time of the oldest record that is not committed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far behind a group is in one partition, or in all of them.

    Thread: any.
    """

    records: int
    seconds: float | None
    """Age of the oldest record that is not committed; None: it has no time."""
    rate: float | None
    """Records committed a second; None after one look."""
    growth: float | None
    """Records produced a second."""

    @property
    def is_never_drained(self) -> bool:
        """Whether it would go on for ever as it went between the looks."""
        return bool(self.records) and self.rate is not None and self.growth is not None and self.rate <= self.growth

    @property
    def drain_s(self) -> float | None:
        """In how many seconds nothing would be left; None: never, or not known after one look."""
        if not self.records:
            return 0.0
        if self.rate is None or self.growth is None or self.is_never_drained:
            return None
        return self.records / (self.rate - self.growth)


def take_look(kafka: KafkaPositions, readers: GroupTopics, *, at_s: float, at_ms: int) -> LagSnapshot:
    """Ask Kafka. Raises BrokerAway, KafkaRefused."""
    places = look(kafka, readers)
    oldest_ms = kafka.times_at({place.partition: place.next_offset for place in places if place.lag_records})
    return LagSnapshot(at_s=at_s, at_ms=at_ms, state=kafka.state(readers.group), places=places, oldest_ms=oldest_ms)


def lag_by_partition(before: LagSnapshot | None, now: LagSnapshot) -> dict[Partition, Lag]:
    """Return the lag of each partition; rates are of the time between the looks, and 0 for a partition that is new."""
    earlier = {} if before is None else {place.partition: place for place in before.places}
    span_s = 0.0 if before is None else now.at_s - before.at_s
    return {place.partition: _lag(place, earlier.get(place.partition, place), span_s, now) for place in now.places}


def total_lag(lags: Mapping[Partition, Lag]) -> Lag:
    """Return the lag of all partitions: records and rates added up, the age of the oldest of all."""
    ages = [lag.seconds for lag in lags.values() if lag.seconds is not None]
    rates = [lag.rate for lag in lags.values() if lag.rate is not None]
    growths = [lag.growth for lag in lags.values() if lag.growth is not None]
    return Lag(
        records=sum(lag.records for lag in lags.values()),
        seconds=max(ages) if ages else None,
        rate=sum(rates) if rates else None,
        growth=sum(growths) if growths else None,
    )


def _lag(place: GroupPosition, earlier: GroupPosition, span_s: float, now: LagSnapshot) -> Lag:
    seconds: float | None = 0.0
    if place.lag_records:
        oldest_ms = now.oldest_ms.get(place.partition)
        seconds = None if oldest_ms is None else max(now.at_ms - oldest_ms, 0) / 1000
    if span_s <= 0:
        return Lag(records=place.lag_records, seconds=seconds, rate=None, growth=None)
    return Lag(
        records=place.lag_records,
        seconds=seconds,
        rate=_committed_since(earlier, place) / span_s,
        growth=max(place.end_offset - earlier.end_offset, 0) / span_s,
    )


def _committed_since(earlier: GroupPosition, place: GroupPosition) -> int:
    """Return how many records were committed between two looks; what retention has removed meanwhile does not count."""
    if place.committed is None:
        return 0
    return max(place.committed - (earlier.next_offset if earlier.committed is None else earlier.committed), 0)
