"""A form of question: what only it may say, how it is checked, what it costs, and how it is answered, as one value.

Each form is declared in the file that answers it; `worker.querying.forms` lists them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from worker.asking.question import Query
from worker.asking.refusals import BadQuery
from worker.querying.ranking import Index, OutOfTime
from worker.runtime.surroundings import Surroundings

if TYPE_CHECKING:
    from worker.querying.search import PreparedQuery

Answer = Callable[["PreparedQuery", OutOfTime, float], Mapping[str, object]]
"""Returns what a reply holds. Reading ends when it is out of time, which it is from a moment of the clock on. Raises SinkBusy."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What answers are made from.

    Thread: the answer thread.
    """

    index: Index
    surroundings: Surroundings


class Form(NamedTuple):
    """One form of question.

    Thread: any.
    """

    name: str
    """What `as` says."""
    open: Callable[[Sources], Answer]
    """Called once for each index, before the first question."""
    takes: tuple[str, ...] = ()
    """Parts of a query that are refused for all forms that do not take them."""
    check: Callable[[Query], None] = lambda _query: None
    """Raises BadQuery for parts that contradict each other."""
    head_start_s: float = 0.0
    """By how much a query is older in the queue of heavy ones than it is: shorter ones go first, and none waits for ever."""
    path: str = ""
    """Where HTTP answers it with one reply."""
    schema: str = ""
    """Of its answer, in `/openapi.json`."""
    summary: str = ""
    says_reach: bool = True
    """Whether an answer is of the whole index as it is now, and so is not complete while records wait in Kafka."""


def refuse_set(reason: str, **parts: object) -> None:
    """Refuse the first of these parts that is set. Raises BadQuery."""
    for name, value in parts.items():
        if value is not None:
            raise BadQuery(name, reason)
