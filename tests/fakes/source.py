"""A broker in memory and its sources: groups, rebalances on request, gaps in offsets, refused commits.

For every test that needs a `consumers.poller.Source` but no Kafka. `tests/contracts/test_source.py` runs the same suite on it and
on the real thing, so that what a test learns from it is true; like a real broker it accepts the commit of a partition that has
moved to somebody else. The switches are plain attributes, set between calls or from another thread.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from consumers.record import Header, Partition, Record, Records, records_of
from consumers.source import Rebalance, SourceFatal

EPOCH = "fa4e0000"


class FakeBroker:
    """One topic and one group; partitions are spread evenly over the members unless `move` says otherwise.

    Thread: any; a member's callbacks run in its own `fetch` and `close`, outside the lock.
    """

    def __init__(self, topic: str = "logs", partitions: int = 4) -> None:
        self.topic = topic
        self.partitions = [Partition(topic, number) for number in range(partitions)]
        self.committed: dict[Partition, int] = {}
        """The group's positions."""
        self.commits: list[dict[Partition, int]] = []
        """What was accepted, call by call."""
        self.on_commit: Callable[[FakeSource, Mapping[Partition, int]], None] = lambda _member, _next_offsets: None
        """Called with every commit before it is looked at."""
        self.refused: dict[Partition, str] = {}
        """Commits of these partitions are refused with this reason."""
        self.changed = threading.Condition()
        self.owners: dict[Partition, FakeSource] = {}
        self.members: list[FakeSource] = []
        self._logs: dict[Partition, list[Record]] = {partition: [] for partition in self.partitions}
        self._ends = dict.fromkeys(self.partitions, 0)
        self._firsts = dict.fromkeys(self.partitions, 0)

    def produce(
        self,
        number: int,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        time_ms: int = 0,
        gap: int = 0,
    ) -> int:
        """Append a record to a partition, `gap` offsets after the last one; return its offset."""
        partition = self.partitions[number]
        with self.changed:
            offset = self._ends[partition] + gap
            self._logs[partition].append(Record(*partition, offset, EPOCH, time_ms, key, value, tuple(headers), leader_epoch=0))
            self._ends[partition] = offset + 1
            self.changed.notify_all()
        return offset

    def mark(self, number: int) -> None:
        """Append a transaction's marker to a partition: an offset without a record."""
        with self.changed:
            self._ends[self.partitions[number]] += 1
            self.changed.notify_all()

    def move(self, wanted: Mapping["FakeSource", Sequence[int]]) -> None:
        """Begin a rebalance: each member gives back at its next `fetch` what it shall not keep, and gets what is free by then."""
        with self.changed:
            for member in self.members:
                member.wanted = {self.partitions[number] for number in wanted.get(member, ())}
            self.changed.notify_all()

    def spread(self) -> None:
        """Begin a rebalance that gives every member its share."""
        self.move({member: range(n, len(self.partitions), len(self.members)) for n, member in enumerate(self.members)})

    def throw_out(self, member: "FakeSource") -> None:
        """Give a member's partitions to the others without asking it; its next `fetch` finds them lost and joins again."""
        with self.changed:
            self.members.remove(member)
            self.owners = {partition: owner for partition, owner in self.owners.items() if owner is not member}
            member.lost = True
        self.spread()

    def end_of(self, partition: Partition) -> int:
        """Return the log's end."""
        return self._ends[partition]

    def expire(self, number: int, first_offset: int) -> None:
        """Drop the records of a partition before an offset, as retention does."""
        partition = self.partitions[number]
        with self.changed:
            self._firsts[partition] = first_offset
            self._logs[partition] = self.read(partition, first_offset, len(self._logs[partition]))

    def first_of(self, partition: Partition) -> int:
        """Return the first offset that the log holds."""
        return self._firsts[partition]

    def read(self, partition: Partition, position: int, most: int) -> list[Record]:
        """Return records from a position on."""
        return [record for record in self._logs[partition] if record.offset >= position][:most]


class FakeSource:
    """One member of the group.

    Thread: one, as every source; the switches any.
    """

    def __init__(self, broker: FakeBroker) -> None:
        self.wanted: set[Partition] = set()
        self.calls: list[str] = []
        """Names of all calls so far, in order."""
        self.asked: list[int] = []
        """How many records each `fetch` asked for."""
        self.handed_out: list[Record] = []
        """Every record that a `fetch` has returned."""
        self.threads: set[int] = set()
        """Who has called."""
        self.lost = False
        """The next `fetch` finds that the group has given its partitions away without asking."""
        self.fatal = ""
        """Not empty: the next `fetch` raises SourceFatal with it."""
        self.turns: list[Callable[[], object]] | None = None
        """Not None: every `fetch` first makes the next of these calls, and waits for nothing."""
        self._broker = broker
        self._rebalance: Rebalance | None = None
        self._positions: dict[Partition, int] = {}
        self._started: set[Partition] = set()
        self._reached: dict[Partition, int] = {}
        self._stopped = False
        self.silent = False
        """Nothing is answered: outcomes of commits are kept back."""
        self._outcomes: deque[tuple[dict[Partition, int], dict[Partition, tuple[int, str]]]] = deque()

    @property
    def assigned(self) -> set[Partition]:
        """The partitions that this member owns now."""
        return set(self._positions)

    def subscribe(self, rebalance: Rebalance) -> None:
        self._note("subscribe")
        self._rebalance = rebalance
        self._broker.members.append(self)
        self._broker.spread()

    def fetch(self, max_records: int, timeout_s: float) -> list[Records]:
        self._note("fetch")
        self.asked.append(max_records)
        if self.turns:
            self.turns.pop(0)()
        if self.fatal:
            raise SourceFatal(self.fatal)
        self._tell_outcomes()
        self._follow()
        fetched = self._take(max_records)
        if not fetched and self.turns is None:
            with self._broker.changed:
                self._broker.changed.wait(timeout_s)
            self._follow()
            fetched = self._take(max_records)
        return fetched

    def pause(self) -> None:
        self._note("pause")
        self._stopped = True

    def resume(self) -> None:
        self._note("resume")
        self._stopped = False

    def commit(self, next_offsets: Mapping[Partition, int], *, is_last: bool = False) -> dict[Partition, int]:  # noqa: ARG002 - as every source
        self._note("commit")
        self._broker.on_commit(self, next_offsets)
        unknown = {partition: "unknown partition" for partition in next_offsets if partition not in self._broker.partitions}
        refused = unknown | {partition: reason for partition, reason in self._broker.refused.items() if partition in next_offsets}
        accepted = {partition: next_offset for partition, next_offset in next_offsets.items() if partition not in refused}
        self._broker.committed |= accepted
        if accepted:
            self._broker.commits.append(accepted)
        self._outcomes.append((accepted, {partition: (next_offsets[partition], reason) for partition, reason in refused.items()}))
        return dict(next_offsets)

    def begin_again(self, next_offsets: Mapping[Partition, int]) -> dict[Partition, int]:
        self._note("begin_again")
        if self.silent:
            return {}
        with self._broker.changed:
            begins = {partition: max(offset, self._broker.first_of(partition)) for partition, offset in next_offsets.items()}
            self._broker.committed |= begins
        self._broker.commits.append(begins)
        self._positions |= begins
        self._started -= begins.keys()
        for partition in begins:
            self._reached.pop(partition, None)
        return begins

    def end_offsets(self) -> dict[Partition, int]:
        self._note("end_offsets")
        return {partition: self._broker.end_of(partition) for partition in self._positions}

    def reached(self) -> dict[Partition, int]:
        self._note("reached")
        return dict(self._reached)

    def close(self) -> None:
        self._note("close")
        self._give_back(self.assigned, lost=False)
        self._tell_outcomes()
        if self in self._broker.members:
            self._broker.members.remove(self)
            self._broker.spread()

    def _tell_outcomes(self) -> None:
        while self._outcomes and not self.silent and self._rebalance is not None:
            self._rebalance.on_committed(*self._outcomes.popleft())

    def _note(self, call: str) -> None:
        self.calls.append(call)
        self.threads.add(threading.get_ident())

    def _follow(self) -> None:
        """Do what the last rebalance asks for: first give back, then take what nobody has."""
        if self.lost:
            self.lost = False
            self._give_back(self.assigned, lost=True)
            if self not in self._broker.members:
                self._broker.members.append(self)
                self._broker.spread()
        self._give_back(self.assigned - self.wanted, lost=False)
        with self._broker.changed:
            arrived = sorted(partition for partition in self.wanted if partition not in self._broker.owners)
            self._broker.owners |= dict.fromkeys(arrived, self)
        if arrived and self._rebalance is not None:
            self._positions |= {partition: self._broker.committed.get(partition, 0) for partition in arrived}
            self._rebalance.on_assign(arrived)

    def _give_back(self, gone: set[Partition], *, lost: bool) -> None:
        if not gone or self._rebalance is None:
            return
        if lost:
            self._rebalance.on_lost(sorted(gone))
        else:
            self._rebalance.on_revoke(sorted(gone))
        self._started -= gone
        for partition in gone:
            self._reached.pop(partition, None)
        with self._broker.changed:
            for partition in gone:
                del self._positions[partition]
                if self._broker.owners.get(partition) is self:
                    del self._broker.owners[partition]
            self._broker.changed.notify_all()

    def _take(self, max_records: int) -> list[Records]:
        taken: list[Records] = []
        left = max_records
        with self._broker.changed:
            for partition, position in self._positions.items():
                if self._stopped and partition in self._started:
                    continue
                found = self._broker.read(partition, position, left)
                if found:
                    self._started.add(partition)
                    self._positions[partition] = found[-1].offset + 1
                    taken.append(records_of(found))
                    self.handed_out += found
                    left -= len(found)
                at, end = self._positions[partition], self._broker.end_of(partition)
                if at <= end and not self._broker.read(partition, at, 1):
                    self._reached[partition] = self._positions[partition] = end
        return taken
