"""Known, in flight, or mine: every template is embedded once, and its lines wait as data, not as threads.

Theory of operation
1. `board` decides in one locked step for a list of chunks: *known* (its template row was seen acknowledged), *parked* (somebody
   has begun the template's flight; the chunk waits in it), *mine* (this call begins the flight and the chunk waits in it
   too), or *rejected* (the template failed alone before).
2. A flight belongs to the process. Once begun it is finished, whatever happens to the record that began it.
3. `land` marks a template known and takes its parked chunks in one locked step, so that no chunk can board in between and be
   forgotten. The store step that got the row acknowledged writes those chunks in the same turn.
4. `fail` remembers the template as rejected (bounded) and hands back its parked chunks, for each to be rejected.

Not taken: waiting threads (a slow engine would block prepare), marks left by another process (they may lie after a restore).
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from consumers.chunk import Chunk


class Boarding(NamedTuple):
    """What became of a list of chunks; the parked ones are not listed, their flight has them."""

    known: list[Chunk]
    mine: list[Chunk]
    """One chunk for each flight that this call began; it is parked too."""
    rejected: list[tuple[Chunk, str]]


class Landing(NamedTuple):
    """A template whose row is acknowledged."""

    template: str
    tokens: int
    """Of the model's input, special tokens included."""
    embedded: bool
    """Did the engine compute it just now, or was it found?"""


@dataclass(slots=True)
class FlightTally:
    """Counters, written under the lock, read by anyone."""

    chunks: int = 0
    known: int = 0
    collapsed: int = 0
    tokens_saved: int = 0


@dataclass(slots=True)
class _Known:
    """Templates seen acknowledged, with their tokens; the oldest goes first when full."""

    most: int
    tokens: dict[str, int] = field(default_factory=dict)

    def add(self, template: str, tokens: int) -> None:
        self.tokens[template] = tokens
        if len(self.tokens) > self.most:
            del self.tokens[next(iter(self.tokens))]


class Flights:
    """No chunk is lost and none is handed out twice: each is in exactly one list that `board`, `land` or `fail` returns.

    Thread: any.
    """

    def __init__(self, *, most_known: int = 500_000, most_rejected: int = 10_000) -> None:
        self._lock = threading.Lock()
        self._parked: dict[str, list[Chunk]] = {}
        self._known = _Known(most_known)
        self._rejected: dict[str, str] = {}
        self._most_rejected = most_rejected
        self.tally = FlightTally()

    def board(self, chunks: Sequence[Chunk]) -> Boarding:
        """Place each chunk, in order."""
        boarding = Boarding([], [], [])
        with self._lock:
            for chunk in chunks:
                self._place(chunk, boarding)
        return boarding

    def land(self, landings: Iterable[Landing]) -> list[Chunk]:
        """Mark templates known; return the chunks that were parked with them."""
        freed: list[Chunk] = []
        with self._lock:
            for landing in landings:
                parked = self._parked.pop(landing.template, [])
                self._known.add(landing.template, landing.tokens)
                waited = len(parked) - 1 if landing.embedded else len(parked)
                self.tally.tokens_saved += landing.tokens * max(waited, 0)
                freed += parked
        return freed

    def fail(self, template: str, reason: str) -> list[Chunk]:
        """Remember a template that can never be stored; return the chunks that were parked with it."""
        with self._lock:
            self._rejected[template] = reason
            if len(self._rejected) > self._most_rejected:
                del self._rejected[next(iter(self._rejected))]
            return self._parked.pop(template, [])

    def forget_known(self) -> None:
        """The collection is another one: what was acknowledged there says nothing about this one."""
        with self._lock:
            self._known.tokens.clear()

    def _place(self, chunk: Chunk, boarding: Boarding) -> None:
        self.tally.chunks += 1
        template = chunk.template
        tokens = self._known.tokens.get(template)
        if tokens is not None:
            self.tally.known += 1
            self.tally.tokens_saved += tokens
            boarding.known.append(chunk)
        elif template in self._parked:
            self.tally.collapsed += 1
            self._parked[template].append(chunk)
        elif template in self._rejected:
            boarding.rejected.append((chunk, self._rejected[template]))
        else:
            self._parked[template] = [chunk]
            boarding.mine.append(chunk)
