"""Decides what is committed, and what the outcome of a commit says. `consumers.poller` is the only caller.

Nothing else calls `Source.commit`. The source only leaves out partitions whose topic may have been re-created, and sends.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping

from consumers.ledger import Ledger
from consumers.record import Partition
from consumers.source import Source


class Commits:
    """Every commit is of a partition that is owned now, and one outcome is awaited at a time.

    Thread: the poller's; `forbid`, `counts` and `given_up` any.
    """

    def __init__(self, source: Source, ledger: Ledger, *, say: Callable[[str], None], fail_point: Callable[[str], None]) -> None:
        self._source = source
        self._ledger = ledger
        self._say = say
        self._fail_point = fail_point
        self._is_allowed = True
        self._under_way: dict[Partition, int] = {}  # sent in this assignment, no outcome yet
        self.counts: Counter[str] = Counter()
        """Offsets of partitions that the broker took or not: `accepted`, `refused`."""
        self.given_up: dict[Partition, int | None] = {}
        """Partitions that went away during a drain before all of them was committed: the commit whose outcome is still to come, or None:
        some of it will be read again. Replaced whole, so any thread may read it."""

    def forbid(self) -> None:
        """After a crash: from now on nothing is committed, whatever settles."""
        self._is_allowed = False

    def begin(self, *, is_last: bool = False) -> None:
        """Begin a commit of what is settled; only the last one of an assignment does not wait for the outcome of the one before."""
        if not self._is_allowed or (self._under_way and not is_last):
            return
        next_offsets = {p: next_offset for p, next_offset in self._ledger.committable().items() if self._under_way.get(p) != next_offset}
        if not next_offsets:
            return
        self._fail_point("before_commit")
        self._under_way |= next_offsets  # before it is sent: an outcome may be there at once
        begun = self._source.commit(next_offsets, is_last=is_last)
        for partition in next_offsets.keys() - begun.keys():
            self._under_way.pop(partition, None)
        self._fail_point("after_commit")

    def is_under_way(self, partition: Partition) -> bool:
        """Whether the outcome of a commit of this assignment is still to come."""
        return partition in self._under_way

    def end(self, partitions: Collection[Partition], *, is_drain: bool) -> None:
        """Forget commits of assignments that end; in a drain, note which partitions are not committed to the end."""
        if is_drain:
            is_open, due = self._ledger.oldest_open_s(), self._ledger.committable()
            left = [partition for partition in partitions if partition in is_open or partition in due]
            sent = {p: due[p] for p in left if p not in is_open and self._under_way.get(p) == due[p]}
            self.given_up = {**self.given_up, **{partition: sent.get(partition) for partition in left}}
        for partition in partitions:
            self._under_way.pop(partition, None)

    def on_outcome(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        """Note what the broker has accepted; what it refused is tried again at the next tick. Outcomes of past assignments do not count."""
        if self.given_up:
            over: dict[Partition, int | None] = {p: None for p, (due, _) in refused.items() if self.given_up.get(p) == due}
            self.given_up = {p: due for p, due in (self.given_up | over).items() if due is None or accepted.get(p) != due}
        for partition, next_offset in accepted.items():
            if self._is_awaited(partition, next_offset):
                self.counts["accepted"] += 1
                self._ledger.mark_committed(partition, next_offset)
        for partition, (next_offset, reason) in refused.items():
            if self._is_awaited(partition, next_offset):
                self.counts["refused"] += 1
                self._say(f"commit of {partition.topic}/{partition.partition} was refused ({reason}); trying again")

    def _is_awaited(self, partition: Partition, next_offset: int) -> bool:
        """Whether this is about a commit of this assignment; then it is not under way any more."""
        if self._under_way.get(partition) != next_offset:
            return False
        del self._under_way[partition]
        return True
