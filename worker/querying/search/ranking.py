"""What a ranking is: kinds of lines, best first, each with the lines that stand for it.

`dense` ranks by meaning, `lexical` by words, `fused` puts the two together; `search` takes the hits from it.
"""

from collections.abc import Callable
from typing import NamedTuple

from sinks.row import LineRow
from sinks.sink import LineFilter

OutOfTime = Callable[[], bool]
"""Asked between two reads; when it says yes, what was found so far is the answer."""


class RankedTemplate(NamedTuple):
    """A template that a query found, and lines of it.

    Thread: any.
    """

    digest: str
    score: float
    lines: list[LineRow]
    """At least one, those to be shown first: its newest ones, or those with the query's words."""


class Ranking(NamedTuple):
    """Kinds of lines, best first.

    Thread: any.
    """

    kinds: list[RankedTemplate]
    complete: bool
    """False when a bound or the deadline cut it short."""


class SearchBounds(NamedTuple):
    """How much is wanted of a ranking, and under which filters.

    Thread: any.
    """

    k: int
    """So many lines, …"""
    per_kind: int
    """… of one kind at most so many."""
    only: LineFilter
    deadline_passed: OutOfTime
    deep: bool = False
    """Whether many kinds are ranked, however few lines are wanted."""

    def is_met_by(self, kinds: list[RankedTemplate]) -> bool:
        """Whether these are enough."""
        return sum(min(len(kind.lines), self.per_kind) for kind in kinds) >= self.k
