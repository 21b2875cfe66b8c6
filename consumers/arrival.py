"""The order in which one partition's records arrived, and how far it is settled without a hole.

`consumers.ledger` is the only caller and holds its lock around every call. Nothing here knows threads, Kafka or time.
"""

from collections import deque
from typing import NamedTuple


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Slot:
    """The place of one record in its partition's arrival order. Holds no record, so a settled one is freed at once."""

    __slots__ = ("offset", "settled")

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.settled = False


class PartitionLedger:
    """Open records of one partition in one assignment, in arrival order; `next_offset` never passes an open one.

    Thread: any, under its Ledger's lock.
    """

    __slots__ = ("alive", "first_offset", "next_offset", "open")

    def __init__(self) -> None:
        self.open: deque[Slot] = deque()
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self.alive = True

    def arrive(self, offset: int) -> Slot:
        """Note a record's arrival."""
        slot = Slot(offset)
        if self.first_offset is None:
            self.first_offset = offset
        self.open.append(slot)
        return slot

    def settle(self, slot: Slot) -> int:
        """Mark one record done; return how many were popped."""
        slot.settled = True
        popped = 0
        while self.open and self.open[0].settled:
            self.next_offset = self.open.popleft().offset + 1
            popped += 1
        return popped
