"""How far the index is: what every answer says of records that are in Kafka and not in the index.

A look of `worker.watching.lag_watch` tells how many records of a topic wait, and until when what had arrived is indexed: at the look itself
where none waits, else at the last look before the oldest of them came. So a look that is old, or none, says that little is known, and an
answer is never called complete by mistake. What the worker has committed since then counts at once. Kafka's times of records are shown and
decide nothing: a producer's clock may be wrong.

Of topics that fit a pattern only those of which the worker owns a partition are known; to a worker that indexes nothing, all.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from consumers.record import Partition
from worker.asking.answers import ReachJson, TopicReachJson
from worker.watching.group_lag import outlook_json
from worker.watching.lag_history import LagPoint
from worker.watching.outlook import KEEPS_UP_S, Outlook, seen_after, total_outlook


class PartitionReach(NamedTuple):
    """One partition at a look."""

    partition: Partition
    records: int
    """That wait."""
    end_offset: int
    arrived_s: float
    """On the monotonic clock: the oldest of them came later than this; -infinity if it was there at the first look."""
    oldest_ms: int | None
    """Kafka's time of the oldest, milliseconds since 1970."""
    outlook: Outlook


class _Look(NamedTuple):
    at_s: float
    at_ms: int
    partitions: Sequence[PartitionReach]


def partition_reach(partition: Partition, course: Sequence[LagPoint], oldest_ms: int | None, outlook: Outlook) -> PartitionReach:
    """Return the reach of a partition; `course` ends with the look."""
    now = course[-1]
    return PartitionReach(partition, now.records, now.end_offset, seen_after(course), oldest_ms, outlook)


class IndexReach:
    """Knows nothing before the first look.

    Thread: `note` one; `said` any.
    """

    def __init__(self, *, flush_s: float, look_every_s: float) -> None:
        self.may_take_s: Final = flush_s + 2 * look_every_s + KEEPS_UP_S
        """Seconds from the arrival of a record in Kafka after which it should be known to be in the index."""
        self._look: _Look | None = None
        self._committed: Callable[[], Mapping[Partition, int]] = dict

    def follow(self, committed: Callable[[], Mapping[Partition, int]]) -> None:
        """Take what the worker has committed from here on from this."""
        self._committed = committed

    def note(self, at_s: float, at_ms: int, partitions: Iterable[PartitionReach]) -> None:
        """Take a look at all partitions of the log group."""
        self._look = _Look(at_s, at_ms, [*partitions])

    def said(self, asked_s: float, topics: Collection[str], not_topics: Collection[str]) -> ReachJson:
        """Return what an answer says of these topics, or of all if none is named; `asked_s`: when the question came.

        `behind` is there where records wait that came earlier than the index may take, or may do so: then the answer is not complete.
        """
        if (look := self._look) is None:
            return {"indexed_until_ms": None, "behind_records": None, "behind": []}
        committed = self._committed()
        asked = [one for one in look.partitions if one.partition.topic not in not_topics and (not topics or one.partition.topic in topics)]
        by_topic: dict[str, list[PartitionReach]] = {}
        for one in asked:
            by_topic.setdefault(one.partition.topic, []).append(_since_committed(one, committed.get(one.partition, -1)))
        said: ReachJson = {
            "indexed_until_ms": min((_until_ms(ones, look) for ones in by_topic.values()), default=look.at_ms),
            "behind_records": sum(one.records for ones in by_topic.values() for one in ones),
        }
        late_s = asked_s - self.may_take_s
        if look.at_s < late_s:
            said["behind"] = []
        if behind := [_shown(topic, ones, look) for topic, ones in sorted(by_topic.items()) if _arrived_s(ones) < late_s]:
            said["behind"] = behind
        return said


def _since_committed(one: PartitionReach, committed: int) -> PartitionReach:
    left = one.end_offset - committed
    if left >= one.records:
        return one
    return one._replace(records=max(left, 0), oldest_ms=None, arrived_s=one.arrived_s if left > 0 else math.inf)


def _arrived_s(ones: Iterable[PartitionReach]) -> float:
    return min((one.arrived_s for one in ones if one.records), default=math.inf)


def _until_ms(ones: Iterable[PartitionReach], look: _Look) -> int:
    """Return until when all is indexed: Kafka's time of the oldest record that waits, or when it was seen to have come later."""
    waiting = [one for one in ones if one.records]
    times_ms = [_of_oldest_ms(one, look) for one in waiting]
    return min((time_ms for time_ms in times_ms if time_ms is not None), default=look.at_ms)


def _of_oldest_ms(one: PartitionReach, look: _Look) -> int | None:
    if one.oldest_ms is not None:
        return one.oldest_ms
    return None if math.isinf(one.arrived_s) else look.at_ms - round(1_000 * (look.at_s - one.arrived_s))


def _shown(topic: str, ones: Sequence[PartitionReach], look: _Look) -> TopicReachJson:
    return {
        "topic": topic,
        "behind_records": sum(one.records for one in ones),
        "indexed_until_ms": _until_ms(ones, look),
        **outlook_json(total_outlook(one.outlook for one in ones)),
    }
