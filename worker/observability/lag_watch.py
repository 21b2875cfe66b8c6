"""Looks at Kafka again and again: how far behind the worker's groups are in the partitions that it owns.

The figures are Kafka's own (`worker.groups`, which `vectail lag` shows too), not what the consumer happens to have seen last: a
partition that is paused brings no news. Asking is also how the worker knows whether Kafka answers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from consumers.record import Partition
from worker.groups.kafka import GroupState, KafkaPositions
from worker.groups.lag import Lag, LagSnapshot, lag_by_partition
from worker.groups.offsets import GroupPosition, GroupTopics, look
from worker.observability.probe import ProbeFailed
from worker.runtime.kafka_admin import BrokerAway, KafkaRefused

_UNASKED = GroupState("unknown", [])


class PartitionLag(NamedTuple):
    """Where a group stands in one partition, and how far behind that is."""

    place: GroupPosition
    lag: Lag


class LagWatch:
    """What it shows is of one look; of partitions that were not owned then, nothing.

    Thread: `ask` and `close` one; the rest from any.
    """

    def __init__(
        self,
        connect: Callable[[], KafkaPositions],
        readers: Sequence[GroupTopics],
        *,
        owned: Callable[[], Collection[Partition]],
        clock: Callable[[], float],
        wall_ms: Callable[[], float],
    ) -> None:
        """`owned` returns the partitions of all groups that this worker has now."""
        self._connect = connect
        self._readers = readers
        self._owned = owned
        self._clock = clock
        self._wall_ms = wall_ms
        self._kafka: KafkaPositions | None = None
        self._before: LagSnapshot | None = None
        self.standings: Mapping[Partition, PartitionLag] = {}
        """As of the last look; replaced whole."""
        self.looked_s: float | None = None
        """When that was, on the clock given."""

    def ask(self) -> None:
        """LagSnapshot. Raises ProbeFailed when Kafka does not answer, or refuses."""
        try:
            self._kafka = self._kafka or self._connect()
            now = self._look(self._kafka, set(self._owned()))
        except (BrokerAway, KafkaRefused) as error:
            raise ProbeFailed(str(error)) from None
        lags = lag_by_partition(self._before, now)
        self.standings = {place.partition: PartitionLag(place, lags[place.partition]) for place in now.places}
        self.looked_s, self._before = now.at_s, now

    def close(self) -> None:
        """Leave Kafka; the client's threads end with the last reference to it."""
        kafka, self._kafka = self._kafka, None
        if kafka is not None:
            kafka.close()

    def _look(self, kafka: KafkaPositions, owned: Collection[Partition]) -> LagSnapshot:
        at_s, at_ms = self._clock(), int(self._wall_ms())
        places = [place for readers in self._readers for place in look(kafka, readers) if place.partition in owned]
        oldest_ms = kafka.times_at({place.partition: place.next_offset for place in places if place.lag_records})
        return LagSnapshot(at_s=at_s, at_ms=at_ms, state=_UNASKED, places=places, oldest_ms=oldest_ms)
