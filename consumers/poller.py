"""The poll loop: takes records in while the ledger has room, commits what is settled, never stops polling.

One poller a consumer group, on a thread of its own; *no other thread calls its source*. At the cap it *holds* what it has fetched, and
polls for one record at a time while the ledger still makes room; when that stops for a while, or too many records are held, it pauses its
partitions and keeps polling. Pausing is expensive: the client discards its prefetched records; at full speed the cap is reached all the
time. A drain stops intake but not polling, until `finish` lets it commit for the last time and leave the group.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from consumers.assignment import Receipt
from consumers.commits import Commits
from consumers.held import HeldRecords
from consumers.ledger import Ledger
from consumers.pausing import Pausing
from consumers.record import Partition, Records
from consumers.source import Source, SourceExpired
from consumers.waiting_place import WaitingPlace

COMMIT_INTERVAL_S = 1.0
_IDLE_S = 0.1
_HELD_S = 0.01
"""Between two polls while records are held."""
_COMMIT_RESERVE_S = 5.0
_MOST_GRACE_S = 30.0
JOINED_S = 30.0
"""A member that has received no partitions after this long is assumed to get none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollerSettings:
    """How one poll loop takes records in."""

    max_fetch_records: int = 8_000
    """Asked of the source by one poll, less what is held."""
    max_poll_interval_s: float = 300.0
    commit_interval_s: float = COMMIT_INTERVAL_S
    patience_s: float = 1.0
    """After so long without room for any record, the partitions are paused."""

    @property
    def most_held_records(self) -> int:
        """With more than these held, the partitions are paused: those of one poll, and some that came one by one."""
        return self.max_fetch_records + self.max_fetch_records // 16

    @property
    def grace_s(self) -> float:
        """How long a revocation may wait for open records; the reserve for the commit is already taken off."""
        budget_s = min(0.2 * self.max_poll_interval_s, _MOST_GRACE_S)
        return max(budget_s - _COMMIT_RESERVE_S, 0.0)


class Poller:
    """Every record that it delivers holds a receipt, and every commit is of a partition that is owned now.

    Thread: `run` on its own; `stop_intake`, `finish` and the counters from any.
    """

    def __init__(
        self,
        *,
        source: Source,
        ledger: Ledger,
        deliver: Callable[[list[Receipt]], None],
        settings: PollerSettings,
        say: Callable[[str], None],
        fail_point: Callable[[str], None] = lambda _point: None,
    ) -> None:
        """`deliver` takes what one poll admitted, at most once a turn; `fail_point` is a no-op outside fault tests."""
        self._source = source
        self._ledger = ledger
        self._deliver = deliver
        self._settings = settings
        self._say = say
        self._fail_point = fail_point
        self._held = HeldRecords()
        self.places: tuple[WaitingPlace[Partition], ...] = (self._held,)
        """Where records wait that are not admitted; the source has places of its own."""
        self._pausing = Pausing(patience_s=settings.patience_s, most_held_records=settings.most_held_records)
        self.commits = Commits(source, ledger, say=say, fail_point=fail_point)
        self._intake_stopped = threading.Event()
        self._finished = threading.Event()
        self.intake_ended = threading.Event()
        """Set once nothing more will be delivered after `stop_intake`."""
        self._next_commit_s = 0.0
        self.events: Counter[str] = Counter()
        """Assignments, revocations and losses: `assign`, `revoke`, `lost`."""
        self._began_s: float | None = None
        self.last_poll_s = time.monotonic()
        self.end_offsets: dict[Partition, int] = {}
        """Log ends as of the last commit tick; replaced whole, so any thread may read it."""

    def run(self) -> None:
        """Poll until `finish`; then commit what is settled and leave the group. Raises SourceFatal, SourceExpired, SourceAway."""
        ended_well = False
        self._began_s = time.monotonic()
        try:
            self._source.subscribe(self)
            while not self._finished.is_set():
                self._turn()
            self.commits.begin(is_last=True)
            ended_well = True
        except SourceExpired:
            self.commits.begin(is_last=True)  # what is settled is not among what is gone
            raise
        finally:
            if not ended_well:
                self.commits.forbid()
            self.intake_ended.set()
            self._settings = PollerSettings(max_poll_interval_s=0.0)  # leaving: no grace for what is still open
            self._source.close()

    def stop_intake(self) -> None:
        """Take nothing new in; go on polling and committing."""
        self._intake_stopped.set()

    def finish(self, *, commit: bool) -> None:
        """End the loop; after a crash nothing more is committed."""
        if not commit:
            self.commits.forbid()
        self._intake_stopped.set()
        self._finished.set()

    def on_assign(self, partitions: Sequence[Partition]) -> None:
        """Begin fresh ledgers (Rebalance)."""
        self.events["assign"] += 1
        self._let_go(partitions)
        self._ledger.assign(partitions)

    def on_revoke(self, partitions: Sequence[Partition]) -> None:
        """Give open records a short grace, commit what is settled, let go (Rebalance)."""
        self.events["revoke"] += 1
        self._fail_point("revoke")
        self._ledger.wait_until_settled(partitions, self._settings.grace_s)
        self.commits.begin(is_last=True)
        self._let_go(partitions)

    def on_lost(self, partitions: Sequence[Partition]) -> None:
        """Let go without a commit (Rebalance)."""
        self.events["lost"] += 1
        self._let_go(partitions)

    def on_committed(self, accepted: Mapping[Partition, int], refused: Mapping[Partition, tuple[int, str]]) -> None:
        """Note what the broker has accepted; what it refused is tried again at the next tick (Rebalance)."""
        self.commits.on_outcome(accepted, refused)

    def has_joined(self, now_s: float) -> bool:
        """Whether the group has said what is ours; under the `consumer` protocol it says nothing to a member for which nothing is left."""
        began_s = self._began_s
        return bool(self.events["assign"]) or (began_s is not None and now_s - began_s > JOINED_S)

    def lag_records(self) -> int:
        """Records of the owned partitions that are not committed yet, as far as the client knows."""
        ends, positions = self.end_offsets, self._ledger.positions()
        return sum(max(end - positions.get(partition, end), 0) for partition, end in ends.items())

    def _turn(self) -> None:
        self._begin_again()
        self._match_pause()
        self._held.add(self._fetch())
        self.last_poll_s = time.monotonic()
        if self._intake_stopped.is_set():
            self._held.clear()
            self.intake_ended.set()
        admitted = self._held.admit(self._ledger)
        if admitted:
            self._pausing.note_admitted(self.last_poll_s)
            self._fail_point("polled")
            self._deliver(admitted)
        if self.last_poll_s >= self._next_commit_s:
            self._next_commit_s = self.last_poll_s + self._settings.commit_interval_s
            self._note_ends()
            self.commits.begin()
            self.end_offsets = self._source.end_offsets()

    def _begin_again(self) -> None:
        """Have partitions read again where their assignments have asked for it; a drain leaves that to the next worker.

        Not while a commit of one is under way: if the broker took it late, it would undo that of the new position.
        """
        if self._intake_stopped.is_set():
            return
        asked = {p: offset for p, offset in self._ledger.asked_to_begin_again().items() if not self.commits.is_under_way(p)}
        for partition, offset in (self._source.begin_again(asked) if asked else {}).items():
            self._drop_waiting([partition])
            self._ledger.begin_again(partition)
            which = "" if offset == asked[partition] else f" that kafka still holds (it began at {asked[partition]})"
            what = f"the first record of an event that is stored{which}"
            self._say(f"{partition.topic}/{partition.partition}: reading begins again at {offset}, {what}")

    def _fetch(self) -> list[Records]:
        room = max(self._settings.max_fetch_records - self._held.size, 1)
        if not self._held.size:
            return self._source.fetch(room, _IDLE_S)
        if self._pausing.is_paused:
            return self._source.fetch(room, _HELD_S)
        self._ledger.wait_for_room(self._held.first_bytes, _HELD_S)
        return self._source.fetch(1, 0.0)

    def _match_pause(self) -> None:
        was_paused, is_ended = self._pausing.is_paused, self._intake_stopped.is_set()
        if self._pausing.decide(self._held.size, time.monotonic(), has_room=self._ledger.has_room(), is_ended=is_ended):
            self._source.pause()
        elif was_paused:
            self._source.resume()

    def _note_ends(self) -> None:
        """Tell the ledger of partitions that were read to their end; not once records are thrown away, which were read but not admitted."""
        if self._intake_stopped.is_set():
            return
        held = self._held.partitions
        for partition, end_offset in self._source.reached().items():
            if partition not in held:
                self._ledger.reach(partition, end_offset)

    def _let_go(self, partitions: Sequence[Partition]) -> None:
        self.commits.end(partitions, is_drain=self._intake_stopped.is_set())
        self._drop_waiting(partitions)
        self._ledger.revoke(partitions)

    def _drop_waiting(self, gone: Collection[Partition]) -> None:
        for place in self.places:
            place.drop(gone)
