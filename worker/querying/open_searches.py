"""Searches that wait to begin, and who waits for each: equal questions share one. Pure: no lock, no clock.

`worker.querying.answer` adds each question that is ready, and begins the searches.

Theory of operation
1. Questions are equal if all that decides the answer is: each field that was set but the deadline, so the redacted text, and the model
   whose vector the text has. A window is milliseconds: two windows that differ by one are two questions.
2. A question joins a search that has not begun: one of the same turn, behind heavy ones, or that found the index busy. One that has begun
   may have read before the question came, so it is not joined: no answer lacks what was stored before its question. Nothing is cached.
3. Each question keeps its requester: its deadline, its id, and its place in the figures. A search ends early only for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sinks.sink import TemplateHit
from worker.asking.requests import is_late
from worker.querying.ready_query import ReadyQuery

SearchKey = tuple[str, int, bool, bool]


@dataclass(slots=True, eq=False)
class OpenSearch:
    """At least one question waits, and all are equal. Thread: the answer thread."""

    asked: list[ReadyQuery]
    """In the order in which they came."""
    near: Sequence[TemplateHit] | None = None
    """The nearest templates, if they were read together with those of other searches."""
    slow_failures: int = 0
    reason: str = ""
    """Why the last try failed."""

    @property
    def ready(self) -> ReadyQuery:
        """The question, as the first one asked it."""
        return self.asked[0]

    def is_awaited(self, now_s: float) -> bool:
        """Whether anybody waits who is not late."""
        return any(not is_late(one.requester, now_s) for one in self.asked)

    def split(self, is_of_first: Callable[[ReadyQuery], bool]) -> "tuple[list[ReadyQuery], OpenSearch | None]":
        """Return the questions of which something holds, and a search for the others; None if there are none. Asks once of each."""
        first: list[ReadyQuery] = []
        others: list[ReadyQuery] = []
        for one in self.asked:
            (first if is_of_first(one) else others).append(one)
        return first, OpenSearch(others, self.near, self.slow_failures, self.reason) if others else None


class OpenSearches:
    """Of equal questions that wait, all are in one search.

    Thread: the answer thread; `shared` is read by any.
    """

    def __init__(self) -> None:
        self._waiting: dict[SearchKey, OpenSearch] = {}
        self.shared = 0
        """Questions that joined the search of another one."""

    def add_question(self, ready: ReadyQuery) -> OpenSearch | None:
        """Return the search that is needed for a question; None if it has joined one."""
        waiting = self._waiting.get(key := _key_of(ready))
        if waiting is not None:
            waiting.asked.append(ready)
            waiting.near = None  # what was read before this question came may lack a template
            waiting.slow_failures = 0  # it has not been tried for this one
            self.shared += 1
            return None
        return self._waiting.setdefault(key, OpenSearch([ready]))

    def begin(self, search: OpenSearch) -> None:
        """From now on no question joins this search."""
        self._waiting.pop(_key_of(search.ready), None)

    def wait_again(self, search: OpenSearch) -> None:
        """Let questions join a search that will begin anew."""
        self._waiting[_key_of(search.ready)] = search


def _key_of(ready: ReadyQuery) -> SearchKey:
    asked = ready.query.model_dump_json(exclude={"deadline_ms"}, exclude_unset=True)
    return asked, id(ready.meaning), ready.vector is None, ready.is_exact
