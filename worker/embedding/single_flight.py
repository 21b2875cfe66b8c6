"""Single flight: equal texts that are asked for at the same time are computed once. Pure: no lock, no thread.

`worker.embedding.embedder` asks it about every text, by cache key. A text without a key has a flight of its own.

Theory of operation
1. The first text with a key opens its flight and goes into the batcher. Later ones join it, and get its outcome.
2. One that joins with a more urgent class than all before goes into the batcher as well, so that the text is computed as early as its own
   class would have it. The places that are left over in less urgent classes come up later and are dropped (`begin` is false).
3. A flight has *begun* when the engine is about to compute it; who joins then waits for this computation, whatever the class.
4. It ends when its outcome is delivered, after the vector is in the cache: so there is never a moment when a text is neither in flight
   nor in the cache.
"""

from typing import Generic, TypeVar

from worker.embedding.batcher import Urgency
from worker.embedding.model.space import CacheKey

T = TypeVar("T")

_RANK: dict[Urgency, int] = {"query": 0, "online": 1, "bulk": 2}


class Flight(Generic[T]):
    """One computation, and who waits for it."""

    __slots__ = ("has_begun", "rank", "waiters")

    def __init__(self, first: T, rank: int) -> None:
        self.waiters = [first]
        self.rank = rank
        """Of the most urgent class that waits."""
        self.has_begun = False


class SingleFlight(Generic[T]):
    """At most one computation of a key is open at any time, and each text that joined is handed back once, by `land`.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(self) -> None:
        self._open: dict[CacheKey, Flight[T]] = {}

    def joins(self, key: CacheKey | None, text: T, urgency: Urgency) -> bool:
        """Note a text that asks for a vector; return whether it must go into the batcher."""
        if key is None:
            return True
        flight, rank = self._open.get(key), _RANK[urgency]
        if flight is None:
            self._open[key] = Flight(text, rank)
            return True
        flight.waiters.append(text)
        is_raised = rank < flight.rank and not flight.has_begun
        flight.rank = min(flight.rank, rank)
        return is_raised

    def __contains__(self, key: CacheKey | None) -> bool:
        """Whether a text with this key waits or is being computed."""
        return key in self._open

    def begin(self, key: CacheKey | None) -> bool:
        """Begin the flight of a text that has left the batcher; False if it has begun, or even ended, in a more urgent class."""
        if key is None:
            return True
        flight = self._open.get(key)
        if flight is None or flight.has_begun:
            return False
        flight.has_begun = True
        return True

    def waiters(self, key: CacheKey | None, text: T) -> list[T]:
        """Return who waits for a text that has begun."""
        return [text] if key is None else self._open[key].waiters

    def land(self, key: CacheKey | None, text: T) -> list[T]:
        """End the flight; return who waited."""
        return [text] if key is None else self._open.pop(key).waiters

    def clear(self) -> None:
        """Forget all flights."""
        self._open.clear()
