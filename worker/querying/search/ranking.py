"""What a ranking is: templates, best first, each with the lines that stand for it.

`dense` ranks by meaning, `lexical` by words; `search` fuses the two and takes the hits.
"""

from collections.abc import Callable
from typing import NamedTuple

from sinks.row import LineRow
from sinks.sink import LineFilter

OutOfTime = Callable[[], bool]
"""Asked between two reads; when it says yes, what was found so far is the answer."""


class RankedTemplate(NamedTuple):
    """A template that a query found, and lines of it."""

    digest: str
    score: float
    lines: list[LineRow]
    """At least one, those to be shown first: its newest ones, or those with the query's words."""


class Ranking(NamedTuple):
    """Templates, best first."""

    templates: list[RankedTemplate]
    complete: bool
    """False when a bound or the deadline cut it short."""


class SearchBounds(NamedTuple):
    """How much is wanted of a ranking, and under which filters."""

    k: int
    """How many lines are wanted."""
    per_template: int
    """Most lines of one template."""
    only: LineFilter
    deadline_passed: OutOfTime
    deep: bool = False
    """Whether many templates are ranked, however few lines are wanted."""

    def is_met_by(self, templates: list[RankedTemplate]) -> bool:
        """Whether these are enough."""
        return sum(min(len(template.lines), self.per_template) for template in templates) >= self.k
