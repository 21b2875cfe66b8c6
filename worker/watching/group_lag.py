"""How far behind the whole group is, whoever reads its partitions: what `/api/lag` answers, asked of Kafka when somebody wants to know.

The figures come from `worker.groups`, as those of `vectail lag` do. While Kafka does not answer, the last figures stay, with their time,
and the answer says in words what is wrong.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.asking.worker_answers import BehindJson, GroupLagJson, LagJson, MemberJson, PartitionLagJson
from worker.runtime.kafka_admin import BrokerAway
from worker.watching.group_offsets import ConsumerGroup
from worker.watching.group_positions import KafkaPositions
from worker.watching.lag_history import MOST_POINTS, LagHistory
from worker.watching.partition_lag import Lag, LagSnapshot, lag_by_partition, take_snapshot, total_lag

FRESH_S: Final = 2.0
"""Whoever asks within this time after somebody else gets the same answer."""
_SPAN_S: Final = 30.0
"""Rates are those since the oldest look that is not older than this: commits come in steps of seconds."""
_IDLE_S: Final = 60.0

GroupKind = Literal["logs", "queries"]


class WatchedGroup(NamedTuple):
    """A group and what it reads."""

    kind: GroupKind
    group: ConsumerGroup


class GroupLag:
    """One asker at a time asks Kafka; others wait for its answer.

    Thread: any.
    """

    def __init__(
        self,
        connect: Callable[[], KafkaPositions],
        groups: Sequence[WatchedGroup],
        history: LagHistory,
        *,
        clock: Callable[[], float],
        wall_ms: Callable[[], float],
    ) -> None:
        self._connect = connect
        self._groups = groups
        self._history = history
        self._clock = clock
        self._wall_ms = wall_ms
        self._lock = threading.Lock()
        self._kafka: KafkaPositions | None = None
        self._looks: dict[str, deque[LagSnapshot]] = {one.group.name: deque() for one in groups}
        self._asked_s = float("-inf")
        self._document: LagJson = {"asked_ms": 0, "groups": [], "error": None}

    def document(self) -> LagJson:
        """Return the lag of all groups, at most `FRESH_S` old; with `error` where Kafka does not answer. Waits for Kafka."""
        with self._lock:
            if self._clock() - self._asked_s >= FRESH_S:
                self._document = self._ask()
                self._asked_s = self._clock()
            return self._document

    def rest(self) -> None:
        """Let go of the connection if nobody has asked for a while."""
        if self._clock() - self._asked_s > _IDLE_S:
            self.close()

    def close(self) -> None:
        """Let go of the connection; the next question connects again. One that is being answered keeps its own."""
        if self._lock.acquire(blocking=False):
            try:
                self._disconnect()
            finally:
                self._lock.release()

    def _disconnect(self) -> None:
        kafka, self._kafka = self._kafka, None
        if kafka is not None:
            kafka.close()

    def _ask(self) -> LagJson:
        asked_ms, errors = int(self._wall_ms()), []
        for _, group in self._groups:
            try:
                self._kafka = self._kafka or self._connect()
                self._note(group, take_snapshot(self._kafka, group, at_s=self._clock(), at_ms=int(self._wall_ms())))
            except BrokerAway as error:
                errors.append(f"Kafka does not answer: {error}")
                break
            except KafkaRefused as error:
                # What the client remembers of a broker before its restart may be the reason, as in `LagWatch`.
                self._disconnect()
                errors.append(f"{group.name}: {error}")
        groups = [_shown(watched, self._looks[watched.group.name], self._history) for watched in self._groups]
        return {"asked_ms": asked_ms, "groups": groups, "error": "; ".join(errors) or None}

    def _note(self, group: ConsumerGroup, now: LagSnapshot) -> None:
        looks = self._looks[group.name]
        while len(looks) > 1 and now.at_s - looks[0].at_s > _SPAN_S:
            looks.popleft()
        looks.append(now)
        self._history.forget_all_but(group.name, frozenset(one.partition for one in now.positions))
        for one in now.positions:
            self._history.add_point(group.name, one.partition, now.at_ms, one.lag_records)


def _shown(watched: WatchedGroup, looks: Sequence[LagSnapshot], history: LagHistory) -> GroupLagJson:
    if not looks:
        return {
            "group": watched.group.name,
            "kind": watched.kind,
            "state": "unknown",
            "protocol": None,
            "members": [],
            "records": 0,
            "seconds": None,
            "drain_s": None,
            "is_never_drained": False,
            "most_records": 0,
            "partitions": [],
            "read_ms": None,
        }
    now = looks[-1]
    lags = lag_by_partition(looks[0] if len(looks) > 1 else None, now)
    reader = {partition: member.id or member.client for member in now.state.members for partition in member.partitions}
    members: list[MemberJson] = [
        {"member": one.id or one.client, "host": one.host, "partitions": [_place(partition) for partition in one.partitions]}
        for one in now.state.members
    ]
    partitions: list[PartitionLagJson] = [
        {
            "topic": one.partition.topic,
            "partition": one.partition.partition,
            "committed": one.committed,
            "end": one.end_offset,
            **_figures(lags[one.partition]),
            "member": reader.get(one.partition),
            "history": _until_now(history.points(watched.group.name, one.partition), now.at_ms, one.lag_records),
        }
        for one in now.positions
    ]
    return {
        "group": watched.group.name,
        "kind": watched.kind,
        "state": now.state.state,
        "protocol": now.state.protocol,
        "members": members,
        **_figures(total_lag(lags)),
        "most_records": max((lag.records for lag in lags.values()), default=0),
        "partitions": partitions,
        "read_ms": now.at_ms,
    }


def _until_now(points: list[tuple[int, int]], now_ms: int, records: int) -> list[tuple[int, int]]:
    """Return the points; the last one is what the partition's other figures say."""
    return [*(point for point in points if point[0] < now_ms), (now_ms, records)][-MOST_POINTS:]


def _figures(lag: Lag) -> BehindJson:
    drain_s = lag.drain_s
    return {
        "records": lag.records,
        "seconds": None if lag.seconds is None else round(lag.seconds, 3),
        "drain_s": None if drain_s is None else round(drain_s, 1),
        "is_never_drained": lag.is_never_drained,
    }


def _place(partition: Partition) -> str:
    return f"{partition.topic}/{partition.partition}"
