"""The index as the lowest level of the cache: vectors of templates that are stored already.

A cache may only save embedding. So an index that does not answer is a miss, and one that has failed again and again is left alone for a
while: its time-out is far longer than the engine takes.
"""

from collections.abc import Callable, Collection

from sinks.sink import SinkBusy
from worker.embedding.cache.breaker import MOST_S, Breaker
from worker.embedding.model.vectors import Vector


class IndexLevel:
    """What it returns is stored; it never fails.

    Thread: any.
    """

    def __init__(
        self,
        read: Callable[[Collection[str]], dict[str, Vector]],
        *,
        say: Callable[[str], None],
        clock: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        """`read` is the sink's `template_vectors`; `draw` returns a number from 0 to 1 (see Breaker)."""
        self._read = read
        self._say = say
        self._clock = clock
        self._breaker = Breaker(draw)

    def find(self, digests: Collection[str]) -> dict[str, Vector]:
        """Return the vectors of those that are stored, as far as the index says so now."""
        admission = self._breaker.admit(self._clock())
        if admission is None:
            return {}
        try:
            found = self._read(digests)
        except SinkBusy as error:
            if self._breaker.failed(admission, self._clock()):
                self._say(f"the index does not say which templates it has ({error}); they are embedded; asked again within {MOST_S:g} s")
            return {}
        if self._breaker.succeeded(admission):
            self._say("the index says again which templates it has")
        return found
