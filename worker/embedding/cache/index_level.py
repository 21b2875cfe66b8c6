"""The index as the lowest level of the cache: vectors of templates that are already stored.

An index that does not answer is a miss. After repeated failures it is not asked for a while, because its timeout is far longer than
embedding takes.
"""

from collections.abc import Callable, Collection

from sinks.row import TemplateId, Vector
from sinks.sink import SinkBusy
from worker.embedding.cache.breaker import LONGEST_WAIT_S, Breaker


class IndexLevel:
    """Every vector that it returns is stored in the index; a failure is a miss.

    Thread: any.
    """

    def __init__(
        self,
        read: Callable[[Collection[TemplateId]], dict[TemplateId, Vector]],
        *,
        say: Callable[[str], None],
        clock: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        """`read` is a template view's `vectors`; `draw` returns a number from 0 to 1 (see Breaker)."""
        self._read = read
        self._say = say
        self._clock = clock
        self._breaker = Breaker(draw)

    def find(self, templates: Collection[TemplateId]) -> dict[TemplateId, Vector]:
        """Return the vectors of those templates that are stored; none if the index does not answer."""
        admission = self._breaker.admit(self._clock())
        if admission is None:
            return {}
        try:
            found = self._read(templates)
        except SinkBusy as error:
            if self._breaker.on_failure(admission, self._clock()):
                self._say(
                    f"templates cannot be looked up in the index ({error}); they are embedded; trying again within {LONGEST_WAIT_S:g} s"
                )
            return {}
        if self._breaker.on_success(admission):
            self._say("templates can be looked up in the index again")
        return found
