"""Which blocks came to an index, whoever wrote them, in the order in which this process saw them: what a tail reads.

1. A run numbers its blocks 0, 1, 2 … and a merged block `a-b` has the lines of a … b. So what was seen of a run is its last number and
   the numbers below it that are still missing (two writers of a worker may overtake each other): a block is new if none of its numbers
   was seen. Times say nothing: clocks differ, and the lines of a replay may be a year old.
2. A look asks the sink for ids behind what was seen, nothing else. Where a number is missing, it asks for all ids of that run, because a
   merged block that has it begins earlier; after `GAP_S` the number is given up (it was refused, and is in another run).
3. At the first look all that is there counts as seen.
4. Of a partition several runs may be written at once: by a worker that does not know yet that it lost the partition, by a replay of
   dead letters. Those that were not written for long are forgotten, but for the latest ones.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sinks.block import BlockId, BlockPlace
from sinks.sink import SeenRun, Sink

LOOK_S = 0.5
"""However many ask, the sink is asked no more often."""
GAP_S = 10.0
MOST_ARRIVALS = 16_384
"""Remembered; whoever reads on behind those has missed some."""
_MOST_MISSING = 64
_MOST_RUNS = 4
"""Of a partition at first; more once they are written."""
_LATEST_RUNS = 2
_MOST_FORGOTTEN = 16
"""Of a partition: a worker that was overtaken as often has noticed."""
_QUIET_S = 600.0


class Arrival(NamedTuple):
    """A block with lines that were not in the index before.

    Thread: any.
    """

    block: BlockId
    is_whole: bool
    """False: some of its lines were, and nobody can say which."""


class Arrivals(NamedTuple):
    """What came since some moment.

    Thread: any.
    """

    blocks: list[Arrival]
    """In the order in which they came."""
    end: int
    """Where the next reading begins."""
    is_all: bool
    """False: it was so long ago that what came first is forgotten."""


@dataclass(slots=True)
class _WatchedRun:
    """What was seen of one run. Thread: as `Watch`."""

    last: int
    written_s: float
    """When one of its blocks was last seen to be new."""
    missing: dict[int, float] = field(default_factory=dict)
    """Numbers below `last` that were not seen, and since when they are missed."""

    def unseen(self, one: BlockId) -> int:
        """Return how many of a block's numbers were not seen."""
        return max(one.last - max(self.last, one.first - 1), 0) + sum(one.first <= number <= one.last for number in self.missing)

    def see(self, one: BlockId, now_s: float) -> None:
        """Note that a block was seen."""
        for number in range(max(self.last + 1, one.first - _MOST_MISSING), one.first):
            self.missing[number] = now_s
        for number in [number for number in self.missing if one.first <= number <= one.last]:
            del self.missing[number]
        self.last = max(self.last, one.last)
        self.written_s = now_s


class Watch:
    """Every block with new lines arrives once.

    Thread: one.
    """

    def __init__(self, sink: Sink, clock: Callable[[], float], *, most: int = MOST_ARRIVALS) -> None:
        self._sink = sink
        self._clock = clock
        self._runs: dict[BlockPlace, dict[str, _WatchedRun]] = {}
        self._forgotten: dict[BlockPlace, dict[str, int]] = {}
        """The last numbers of the latest runs of each partition that were seen once, and are not watched any more."""
        self._arrivals: deque[Arrival] = deque(maxlen=most)
        self._looked_s: float | None = None
        self.end = 0
        """How many blocks have arrived."""

    def look(self) -> None:
        """Ask the sink what is new, unless it was asked a moment ago. The first look reads the ids of all blocks. Raises SinkBusy."""
        now_s = self._clock()
        if self._looked_s is not None and now_s - self._looked_s < LOOK_S:
            return
        seen = [
            SeenRun(place, run, -1 if known.missing else known.last) for place, runs in self._runs.items() for run, known in runs.items()
        ]
        new = sorted(self._sink.unseen_blocks(seen), key=lambda one: (one.place, one.run, one.first, -one.last))
        if self._looked_s is None:
            self._begin(new, now_s)
        else:
            self._add(new, now_s)
            self._forget(now_s)
        self._looked_s = now_s

    def since(self, number: int) -> Arrivals:
        """Return what came since there were `number` arrivals."""
        first = self.end - len(self._arrivals)
        start = max(number - first, 0)
        return Arrivals([one for at, one in enumerate(self._arrivals) if at >= start], self.end, number >= first)

    def has_seen(self, one: BlockId) -> bool:
        """Whether a block's lines were there at the first look, or have arrived.

        Not those of a run that was first written after a later one: its writer had lost the partition, and the later run has its lines.
        Nor what the writer of a run added that is not watched any more: it never arrived, so a copy of it is new.
        """
        runs = self._runs.get(one.place, {})
        if one.run in runs:
            return runs[one.run].unseen(one) == 0
        forgotten = self._forgotten.get(one.place, {})
        return one.last <= forgotten[one.run] if one.run in forgotten else one.run <= max(forgotten, default="")

    def _begin(self, found: Iterable[BlockId], now_s: float) -> None:
        for one in found:
            runs = self._runs.setdefault(one.place, {})
            runs.setdefault(one.run, _WatchedRun(one.first - 1, now_s)).see(one, now_s)
        for place, runs in self._runs.items():
            for run in sorted(runs)[:-_MOST_RUNS]:
                self._forget_run(place, run)

    def _add(self, found: Iterable[BlockId], now_s: float) -> None:
        for one in found:
            known = self._runs.setdefault(one.place, {}).setdefault(one.run, _WatchedRun(-1, now_s))
            unseen = known.unseen(one)
            if unseen:
                known.see(one, now_s)
                self._arrivals.append(Arrival(one, unseen == one.last - one.first + 1))
                self.end += 1

    def _forget(self, now_s: float) -> None:
        """Give up numbers that are missing for long, and runs that are not written any more."""
        for place, runs in self._runs.items():
            for known in runs.values():
                known.missing = {number: since_s for number, since_s in known.missing.items() if now_s - since_s < GAP_S}
            for run in sorted(runs)[:-_LATEST_RUNS]:
                if now_s - runs[run].written_s > _QUIET_S:
                    self._forget_run(place, run)

    def _forget_run(self, place: BlockPlace, run: str) -> None:
        forgotten = self._forgotten.setdefault(place, {})
        forgotten[run] = self._runs[place].pop(run).last
        if len(forgotten) > _MOST_FORGOTTEN:
            del forgotten[min(forgotten)]
