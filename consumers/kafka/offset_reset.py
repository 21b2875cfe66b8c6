"""Where a partition goes on that has no position: nothing was committed yet, or what was committed is not there any more.

The client runs with `auto.offset.reset=error`: it never jumps by itself, it says so and lets the partition stand. `consumers.kafka`
hands such a partition in here and moves it where `decide` says. Asking the broker never blocks polling for long: what is not answered
is asked again by the next call.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Literal, NamedTuple

from consumers.record import Partition
from consumers.source import SourceExpired

StartPolicy = Literal["earliest", "latest"]
ExpiredPolicy = Literal["stop", "earliest", "latest"]


class PartitionState(NamedTuple):
    """What a partition holds, and which position it has."""

    committed: int | None
    first_offset: int
    end_offset: int


class ResumePoint(NamedTuple):
    """Where a partition goes on."""

    offset: int
    said: str
    """Which records are not read because of it, in one line; empty if none."""
    gone: int = 0
    """How many were gone before they were read, or are passed over for that."""


Ask = Callable[[Partition], PartitionState | None]
"""Asks the broker, for a moment only; None: no answer."""
Move = Callable[[Partition, int, bool], bool]
"""Makes a partition go on at an offset, which is committed first if the flag says so; False: not now."""


class OffsetReset:
    """Partitions that stand still until it is decided where they go on; no other is touched.

    Thread: one, its source's.
    """

    def __init__(self, *, start: StartPolicy, expired: ExpiredPolicy, ask: Ask, move: Move, say: Callable[[str], None]) -> None:
        self._start: StartPolicy = start
        self._expired: ExpiredPolicy = expired
        self._ask = ask
        self._move = move
        self._say = say
        self._standing: dict[Partition, int | None] = {}
        """By where the client stood, None if it had no position."""
        self._anew: set[Partition] = set()
        """Of those, the ones whose topic was made anew: no position of theirs means anything any more."""
        self._delivered: set[Partition] = set()
        self.gone: Counter[str] = Counter()
        """Records that were never read, by topic."""

    def note(self, partition: Partition, stood_at: int | None) -> None:
        """The client has let a partition stand; `stood_at` is the next record that was to be taken in, None if none of it has come yet."""
        self._standing[partition] = stood_at

    def begin_anew(self, partition: Partition) -> None:
        """The topic was deleted and made anew while we read it: all that is there now came later, so nothing of it is skipped."""
        self._standing[partition] = None
        self._anew.add(partition)

    def stands(self, partition: Partition) -> bool:
        """Whether what still comes of it is from a place that does not count."""
        return partition in self._standing

    def delivered(self, partition: Partition) -> None:
        """A record of this assignment was taken in: its position is the ledger's to commit, from now on."""
        self._delivered.add(partition)

    def forget(self, partitions: Iterable[Partition]) -> None:
        """An assignment is over."""
        for partition in partitions:
            self._standing.pop(partition, None)
            self._anew.discard(partition)
            self._delivered.discard(partition)

    def place(self, owned: Collection[Partition], *, waits: Callable[[Partition], bool] = lambda _partition: False) -> None:
        """Let every partition that stands still go on; what `waits` or gets no answer is for the next call. Raises SourceExpired."""
        self._standing = {partition: stood_at for partition, stood_at in self._standing.items() if partition in owned}
        for partition, stood_at in list(self._standing.items()):
            if waits(partition):
                continue
            found = self._ask(partition)
            if found is None:
                return
            decision, commit_it = self._decide(partition, stood_at, found)
            if not self._move(partition, decision.offset, commit_it):
                self._say(f"{partition.topic}/{partition.partition} cannot go on at {decision.offset} yet; trying again")
                return
            self._standing.pop(partition, None)
            self._anew.discard(partition)
            self.gone[partition.topic] += decision.gone
            if decision.said:
                self._say(decision.said)

    def _decide(self, partition: Partition, stood_at: int | None, found: PartitionState) -> tuple[ResumePoint, bool]:
        """Return where it goes on, and whether that is committed at once: where a restart would else begin somewhere else."""
        if partition in self._anew:
            return ResumePoint(found.first_offset, ""), True
        is_untouched = partition not in self._delivered
        if stood_at is not None and not (found.committed is None and is_untouched):
            found = found._replace(committed=stood_at)
        decision = decide(partition, found, start=self._start, expired=self._expired)
        # One that skips is committed at once, or a restart before the first commit would skip still more. Never with records open.
        return decision, bool(decision.said) and is_untouched


class PendingStartCommits:
    """Places where a partition began that have to be committed, until that is accepted or another commit takes over.

    Thread: one, its source's.
    """

    def __init__(self) -> None:
        self._owed: dict[Partition, int] = {}
        self._sent: dict[Partition, int] = {}

    def add(self, partition: Partition, offset: int) -> None:
        """A partition begins there."""
        self._owed[partition] = offset
        self._sent.pop(partition, None)

    def forget(self, partitions: Iterable[Partition]) -> None:
        """They are not ours any more, or a later place is committed."""
        for partition in partitions:
            self._owed.pop(partition, None)
            self._sent.pop(partition, None)

    def due(self) -> dict[Partition, int]:
        """Return what has to be sent now."""
        fresh = {partition: offset for partition, offset in self._owed.items() if partition not in self._sent}
        self._sent |= fresh
        return fresh

    def settles(self, partition: Partition, offset: int, *, is_accepted: bool) -> bool:
        """Return whether this outcome was about a place of ours; one that was refused is due again."""
        if self._sent.get(partition) != offset:
            return False
        del self._sent[partition]
        if is_accepted:
            self._owed.pop(partition, None)
        return True


def decide(partition: Partition, found: PartitionState, *, start: StartPolicy, expired: ExpiredPolicy) -> ResumePoint:
    """Return where the partition goes on; a position that is there stays. Raises SourceExpired."""
    committed, first_offset, end_offset = found
    name = f"{partition.topic}/{partition.partition}"
    if committed is None:
        offset, skipped = (first_offset, 0) if start == "earliest" else (end_offset, end_offset - first_offset)
        said = f"{name}: nothing was committed yet; starting at {offset}, behind {_records(skipped)} (kafka.offset_reset = latest)"
        return ResumePoint(offset, said if skipped else "")
    if first_offset <= committed <= end_offset:
        return ResumePoint(committed, "")
    lost = f"{name}: {_what_is_gone(committed, first_offset, end_offset)}"
    if expired == "stop":
        way = (
            f"`vectail offsets reset --to earliest --topic {partition.topic} --partition {partition.partition}` goes on with what is there"
        )
        raise SourceExpired(f"{lost}; {way} (kafka.on_expired_offset decides it for every time)")
    offset = first_offset if expired == "earliest" else end_offset
    skipped = offset - first_offset
    gone = skipped + max(first_offset - committed, 0)
    also = f", behind {_records(skipped)} more" if skipped else ""
    return ResumePoint(offset, f"{lost}; going on at {offset}{also} (kafka.on_expired_offset = {expired})", gone)


def _what_is_gone(committed: int, first_offset: int, end_offset: int) -> str:
    if committed < first_offset:
        gone = _records(first_offset - committed)
        return f"offset {committed} is next, but the first that is there is {first_offset}: {gone} not indexed and gone"
    return f"offset {committed} is next, but the topic ends at {end_offset}: it was cut or made anew, and holds offsets from {first_offset}"


def _records(count: int) -> str:
    return f"{count:,} record" if count == 1 else f"{count:,} records"
