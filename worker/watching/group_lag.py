"""How far behind the whole group is, whoever reads its partitions: what `/api/lag` answers, asked of Kafka when somebody wants to know.

The figures come from `worker.groups`, as those of `vectail lag` do. While Kafka does not answer, the last figures stay, with their time,
and the answer says in words what is wrong.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from consumers.record import Partition
from consumers.source import KafkaRefused
from worker.asking.answers import OutlookJson
from worker.asking.worker_answers import BehindJson, GroupLagJson, LagJson, MemberJson, PartitionLagJson
from worker.runtime.kafka_admin import BrokerAway
from worker.watching.group_offsets import ConsumerGroup
from worker.watching.group_positions import KafkaPositions
from worker.watching.lag_history import LagHistory
from worker.watching.outlook import Outlook
from worker.watching.partition_lag import Lag, LagSnapshot, courses_of, lag_by_partition, note_snapshot, take_snapshot, total_lag

FRESH_S: Final = 2.0
"""Whoever asks within this time after somebody else gets the same answer."""
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
        self._looks: dict[str, LagSnapshot] = {}
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
                now = take_snapshot(self._kafka, group, at_s=self._clock(), at_ms=int(self._wall_ms()))
                note_snapshot(self._history, group.name, now)
                self._looks[group.name] = now
            except BrokerAway as error:
                errors.append(f"Kafka does not answer: {error}")
                break
            except KafkaRefused as error:
                # What the client remembers of a broker before its restart may be the reason, as in `LagWatch`.
                self._disconnect()
                errors.append(f"{group.name}: {error}")
        groups = [_shown(watched, self._looks.get(watched.group.name), self._history) for watched in self._groups]
        return {"asked_ms": asked_ms, "groups": groups, "error": "; ".join(errors) or None}


def _shown(watched: WatchedGroup, now: LagSnapshot | None, history: LagHistory) -> GroupLagJson:
    if now is None:
        return {
            "group": watched.group.name,
            "kind": watched.kind,
            "state": "unknown",
            "protocol": None,
            "members": [],
            **_figures(Lag(records=0, seconds=None, rate=None, growth=None, outlook=Outlook("unknown"))),
            "most_records": 0,
            "partitions": [],
            "read_ms": None,
        }
    courses = courses_of(history, watched.group.name, now)
    lags = lag_by_partition(courses, now)
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
            "history": [(point.at_ms, point.records) for point in courses[one.partition]],
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


def _figures(lag: Lag) -> BehindJson:
    return {"records": lag.records, "seconds": None if lag.seconds is None else round(lag.seconds, 3), **outlook_json(lag.outlook)}


def outlook_json(outlook: Outlook) -> OutlookJson:
    """Return what the API and `vectail lag --json` say of an outlook."""
    in_s = None if outlook.in_s is None else (round(outlook.in_s[0], 1), round(outlook.in_s[1], 1))
    return {"outlook": outlook.kind, "outlook_text": outlook.text, "caught_up_in_s": in_s}


def _place(partition: Partition) -> str:
    return f"{partition.topic}/{partition.partition}"
