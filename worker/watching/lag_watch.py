"""Reads from Kafka at intervals how far behind the worker's groups are in the partitions that it owns.

The numbers are Kafka's own (from `worker.groups`, as in `vectail lag`) and not the consumer's, because a paused partition brings no
news. Reading them is also the probe that tells whether Kafka answers.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from consumers.groupless.groupless_reader import TopicUnknown
from consumers.kafka.subscription import Subscription
from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.runtime.kafka_admin import BrokerAway
from worker.watching.group_offsets import ConsumerGroup, GroupPosition, read_positions
from worker.watching.group_positions import GroupState, KafkaPositions
from worker.watching.index_reach import IndexReach, partition_reach
from worker.watching.lag_history import LagHistory, LagPoint, point_of
from worker.watching.partition_lag import Lag, LagSnapshot, lag_by_partition
from worker.watching.probe import ProbeFailed

LIST_TOPICS_S: Final = 60.0
"""Between two lists of a cluster's topics, where patterns need one."""
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
        history: LagHistory | None = None,
        reach: IndexReach | None = None,
        lists_topics: bool = False,
    ) -> None:
        """`owned` returns the partitions of all groups that this worker owns now; each look adds a point to `history`.

        `reach` is told of all partitions of the first group's topics, whoever owns them; with `lists_topics`, of all that fit a pattern,
        too: for a worker that indexes nothing, and so owns none of them.
        """
        self._connect = connect
        self._groups = groups
        self._owned = owned
        self._clock = clock
        self._wall_ms = wall_ms
        self._history = history or LagHistory()
        self._reach = reach
        self._lists_topics = lists_topics
        self._listed: Collection[str] = ()
        self._listed_s = -math.inf
        self._kafka: KafkaPositions | None = None
        self.by_partition: Mapping[Partition, PartitionLag] = {}
        """From the last snapshot; replaced as a whole."""
        self.read_s: float | None = None
        """When the last snapshot was taken, on the given clock."""

    def read(self) -> None:
        """Take a snapshot. Raises ProbeFailed when Kafka does not answer, or refuses."""
        try:
            self._kafka = self._kafka or self._connect()
            owned = set(self._owned())
            now, courses = self._snapshot(self._kafka, owned)
        except BrokerAway as error:
            raise ProbeFailed(str(error)) from None
        except KafkaRefused as error:
            # The client goes on asking with the leader epochs that it remembers from before a restart of the broker (librdkafka 2.16).
            self.close()
            raise ProbeFailed(str(error)) from None
        lags = lag_by_partition(courses, now)
        self.by_partition = {one.partition: PartitionLag(one, lags[one.partition]) for one in now.positions if one.partition in owned}
        self.read_s = now.at_s
        if self._reach is not None:
            reads = self._groups[0].subscription
            logs = [one.partition for one in now.positions if reads.reads(one.partition.topic)]
            self._reach.note(
                now.at_s, now.at_ms, [partition_reach(one, courses[one], now.oldest_ms.get(one), lags[one].outlook) for one in logs]
            )

    def close(self) -> None:
        """Close the connection; the client's threads end with the last reference to it."""
        kafka, self._kafka = self._kafka, None
        if kafka is not None:
            kafka.close()

    def _snapshot(self, kafka: KafkaPositions, owned: Collection[Partition]) -> tuple[LagSnapshot, dict[Partition, list[LagPoint]]]:
        at_s, at_ms = self._clock(), int(self._wall_ms())
        known = {partition.topic for partition in owned}
        if self._lists_topics and any(group.subscription.patterns for group in self._groups):
            if at_s - self._listed_s >= LIST_TOPICS_S:
                self._listed, self._listed_s = kafka.topics(), at_s
            known.update(self._listed)
        by_group = {group.name: _read_positions(kafka, group, known) for group in self._groups}
        courses = {}
        for name, found in by_group.items():
            for one in found:
                point = point_of(one, at_s, at_ms)
                courses[one.partition] = self._history.course_until(name, one.partition, point)
                self._history.add_point(name, one.partition, point)
        positions = [one for found in by_group.values() for one in found]
        oldest_ms = kafka.times_at({one.partition: one.next_offset for one in positions if one.lag_records and one.partition in owned})
        return LagSnapshot(at_s=at_s, at_ms=at_ms, state=_UNASKED, positions=positions, oldest_ms=oldest_ms), courses


def _read_positions(kafka: KafkaPositions, group: ConsumerGroup, known: Collection[str]) -> list[GroupPosition]:
    """Return a group's positions in its topics. Raises BrokerAway; KafkaRefused also for a name that does not exist.

    Of the topics that fit a pattern only those in `known` are asked for: to list all topics of a cluster is too much every few seconds. One
    of them that was deleted is left out; it is owned until the next rebalance.
    """
    reads = group.subscription
    fitting = reads.matching(known) if reads.patterns else frozenset()
    try:
        return _read_topics(kafka, group, dict.fromkeys((*reads.names, *sorted(fitting))))
    except TopicUnknown:
        existing = fitting.intersection(kafka.topics())
        if existing == fitting:
            raise
        return _read_topics(kafka, group, dict.fromkeys((*reads.names, *sorted(existing))))


def _read_topics(kafka: KafkaPositions, group: ConsumerGroup, topics: Iterable[str]) -> list[GroupPosition]:
    asked = group._replace(subscription=Subscription(names=tuple(topics)))
    return read_positions(kafka, asked) if asked.subscription.names else []
