"""Accepted records that wait for their topic's epoch or for room, as the client's messages.

`consumers.kafka.intake` puts them in and lets them out. They wait as messages because headers as objects may take thirty times their bytes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.kafka.message import ClientMessage, read_records
from consumers.kafka.poll_budget import BUDGET_BYTES
from consumers.record import Partition, Records, join_records


class Arrived(NamedTuple):
    """Accepted records of one partition.

    Thread: any.
    """

    at_s: float
    partition: Partition
    offset: NDArray[np.int64]
    """int64[n], of the messages."""
    messages: Sequence[ClientMessage]


class Released(NamedTuple):
    """Records that leave: of each partition and epoch together, in order."""

    records: list[Records]
    unreadable: Counter[Partition]
    """How many lost their headers, because the name of one was not UTF-8."""


class WaitingRecords:
    """The records of a partition leave in the order in which they came.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._waiting: list[Arrived] = []
        self._room_bytes = BUDGET_BYTES

    def add(self, arrived: Arrived) -> None:
        """Have records wait."""
        self._waiting.append(arrived)

    def drop(self, gone: Collection[Partition]) -> None:
        """Drop the records of these partitions (WaitingPlace)."""
        self._waiting = [came for came in self._waiting if came.partition not in gone]

    def topics(self) -> dict[str, float]:
        """Return the topics of which records wait, and when the newest of each came."""
        return {came.partition.topic: came.at_s for came in self._waiting}

    def partitions(self) -> set[Partition]:
        """Return the partitions of which records wait."""
        return {came.partition for came in self._waiting}

    def release(self, epoch_of: Callable[[Partition, float], str | None], *, is_paused: bool) -> Released:
        """Let out records whose epoch is known until `BUDGET_BYTES` are full; while it `is_paused`, what the last budget has left.

        `epoch_of`: the epoch of a partition's records that came at a time.
        """
        if not is_paused:
            self._room_bytes = BUDGET_BYTES
        arrived, self._waiting = self._waiting, []
        parts: dict[tuple[Partition, str], list[Records]] = {}
        unreadable: Counter[Partition] = Counter()
        for number, came in enumerate(arrived):
            if self._room_bytes <= 0:
                self._waiting += arrived[number:]
                break
            epoch = epoch_of(came.partition, came.at_s)
            if epoch is None:
                self._waiting.append(came)
                continue
            read = read_records(came.partition, epoch, came.offset, came.messages, room_bytes=self._room_bytes)
            self._room_bytes -= read.size_bytes
            parts.setdefault((came.partition, epoch), []).append(read.records)
            unreadable[came.partition] += read.unreadable
            if (size := read.records.size) < len(came.messages):
                self._waiting.append(came._replace(offset=came.offset[size:], messages=came.messages[size:]))
        return Released([join_records(several) for several in parts.values()], unreadable)
