"""Reads from Kafka at intervals how far behind the worker's groups are in the partitions that it owns.

The numbers are Kafka's own (from `worker.groups`, as in `vectail lag`) and not the consumer's, because a paused partition brings no
news. Reading them is also the probe that tells whether Kafka answers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.groups.kafka import GroupState, KafkaPositions
from worker.groups.lag import Lag, LagSnapshot, lag_by_partition
from worker.groups.offsets import ConsumerGroup, GroupPosition, read_positions
from worker.observability.probe import ProbeFailed
from worker.runtime.kafka_admin import BrokerAway

_UNASKED = GroupState("unknown", [])


class PartitionLag(NamedTuple):
    """A group's position in one partition, and how far behind it is."""

    position: GroupPosition
    lag: Lag


class LagWatch:
    """All it shows comes from one snapshot of the partitions that were owned then.

    Thread: `read` and `close` one; the rest from any.
    """

    def __init__(
        self,
        connect: Callable[[], KafkaPositions],
        groups: Sequence[ConsumerGroup],
        *,
        owned: Callable[[], Collection[Partition]],
        clock: Callable[[], float],
        wall_ms: Callable[[], float],
    ) -> None:
        """`owned` returns the partitions of all groups that this worker owns now."""
        self._connect = connect
        self._groups = groups
        self._owned = owned
        self._clock = clock
        self._wall_ms = wall_ms
        self._kafka: KafkaPositions | None = None
        self._before: LagSnapshot | None = None
        self.by_partition: Mapping[Partition, PartitionLag] = {}
        """From the last snapshot; replaced as a whole."""
        self.read_s: float | None = None
        """When the last snapshot was taken, on the given clock."""

    def read(self) -> None:
        """Take a snapshot. Raises ProbeFailed when Kafka does not answer, or refuses."""
        try:
            self._kafka = self._kafka or self._connect()
            now = self._snapshot(self._kafka, set(self._owned()))
        except BrokerAway as error:
            raise ProbeFailed(str(error)) from None
        except KafkaRefused as error:
            # The client goes on asking with the leader epochs that it remembers from before a restart of the broker (librdkafka 2.16).
            self.close()
            raise ProbeFailed(str(error)) from None
        lags = lag_by_partition(self._before, now)
        self.by_partition = {one.partition: PartitionLag(one, lags[one.partition]) for one in now.positions}
        self.read_s, self._before = now.at_s, now

    def close(self) -> None:
        """Close the connection; the client's threads end with the last reference to it."""
        kafka, self._kafka = self._kafka, None
        if kafka is not None:
            kafka.close()

    def _snapshot(self, kafka: KafkaPositions, owned: Collection[Partition]) -> LagSnapshot:
        at_s, at_ms = self._clock(), int(self._wall_ms())
        positions = [one for group in self._groups for one in read_positions(kafka, group) if one.partition in owned]
        oldest_ms = kafka.times_at({one.partition: one.next_offset for one in positions if one.lag_records})
        return LagSnapshot(at_s=at_s, at_ms=at_ms, state=_UNASKED, positions=positions, oldest_ms=oldest_ms)
