"""Splits what a poll returned into runs: records of one partition with no error between them, and the errors.

The client may mix partitions. Within a partition, records and errors keep their order; between partitions there is none. Called by
`consumers.kafka.executor` for every poll, and written for speed: no Python call for each message besides the client's own.
"""

from collections.abc import Sequence
from itertools import compress, pairwise
from operator import ne
from typing import NamedTuple

from consumers.kafka.kafka_client import ClientError
from consumers.kafka.message import ClientMessage, partition_of
from consumers.record import Partition


class MessageRun(NamedTuple):
    """Records of one partition, or one error.

    Thread: any.
    """

    partition: Partition
    messages: Sequence[ClientMessage]
    """At least one; exactly one if it is an error."""
    error: ClientError | None = None


def runs_of(messages: Sequence[ClientMessage]) -> list[MessageRun]:
    """Return the runs of what a poll returned."""
    runs: list[MessageRun] = []
    first = 0
    for row in [row for row, message in enumerate(messages) if message.error() is not None]:
        failed = messages[row]
        runs += [*_by_partition(messages[first:row]), MessageRun(partition_of(failed), [failed], failed.error())]
        first = row + 1
    return [*runs, *_by_partition(messages[first:])]


def _by_partition(messages: Sequence[ClientMessage]) -> list[MessageRun]:
    """Return one run for each partition."""
    if not messages:
        return []
    topics, numbers = [message.topic() for message in messages], [message.partition() for message in messages]
    has_one_topic = topics.count(topics[0]) == len(topics)
    if has_one_topic and numbers.count(numbers[0]) == len(numbers):
        return [MessageRun(partition_of(messages[0]), messages)]
    places: list[object] = list(numbers) if has_one_topic else list(zip(topics, numbers, strict=True))
    changes = compress(range(1, len(places)), map(ne, places[1:], places))
    found: dict[Partition, list[ClientMessage]] = {}
    for first, end in pairwise([0, *changes, len(places)]):
        found.setdefault(partition_of(messages[first]), []).extend(messages[first:end])
    return [MessageRun(partition, taken) for partition, taken in found.items()]
