"""The order in which one partition's records arrived, and how far it is settled without a hole.

`consumers.ledger` is the only caller and holds its lock around every call. Nothing here knows threads, Kafka or time.
"""

from collections import Counter, deque


class Slot:
    """The place of one record in its partition's arrival order. Holds no record, so a settled one is freed at once."""

    __slots__ = ("came_s", "offset", "settled")

    def __init__(self, offset: int, came_s: float) -> None:
        self.offset = offset
        self.came_s = came_s
        self.settled = False


class PartitionLedger:
    """Open records of one partition in one assignment, in arrival order; `next_offset` never passes an open one, nor one to come.

    Thread: any, under its Ledger's lock.
    """

    __slots__ = ("_end_offset", "alive", "committed", "first_offset", "next_offset", "open", "tally")

    def __init__(self, tally: Counter[str]) -> None:
        """`tally` counts the records of its topic by outcome, over all assignments."""
        self.open: deque[Slot] = deque()
        self.first_offset: int | None = None
        self.next_offset: int | None = None
        self.committed: int | None = None
        """What the broker has accepted."""
        self._end_offset = 0
        self.alive = True
        self.tally = tally

    @property
    def place(self) -> int | None:
        """What is committed, else the first record."""
        return self.first_offset if self.committed is None else self.committed

    def arrive(self, offset: int, now_s: float) -> Slot:
        """Note a record's arrival."""
        slot = Slot(offset, now_s)
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
        self._advance()
        return popped

    def reach(self, end_offset: int) -> None:
        """Note that every record before this offset has arrived: when they are settled, it is next."""
        self._end_offset = end_offset
        self._advance()

    def _advance(self) -> None:
        if self._end_offset > (self.next_offset or 0) and (not self.open or self.open[0].offset >= self._end_offset):
            self.next_offset = self._end_offset


class Outcomes:
    """Counts since the start, over all assignments.

    Thread: any, under its Ledger's lock.
    """

    def __init__(self) -> None:
        self._topics: dict[str, Counter[str]] = {}

    def of(self, topic: str) -> Counter[str]:
        """Return where the records of a topic are counted: `admitted`, and later each under its outcome."""
        return self._topics.setdefault(topic, Counter())

    def by_topic(self) -> dict[str, Counter[str]]:
        """Return a copy, with what is in flight."""
        found = {topic: Counter(tally) for topic, tally in self._topics.items()}
        for tally in found.values():
            tally["in_flight"] = 2 * tally["admitted"] - tally.total()
        return found
