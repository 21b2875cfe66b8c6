"""What a ranking is: templates, best first, each with the lines that stand for it.

`dense` ranks by meaning, `lexical` by words; `search` fuses the two and takes the hits.
"""

from collections.abc import Callable
from typing import NamedTuple

from sinks.line import Line
from sinks.reading.filters import LineFilter
from sinks.reading.reader import BlockReader
from sinks.sink import Sink
from worker.querying.template_index import TemplateIndex

OutOfTime = Callable[[], bool]
"""Asked between two reads; when it says yes, what was found so far is the answer."""


class Index(NamedTuple):
    """All that a search reads.

    Thread: one; only the reader and the sink may be shared.
    """

    sink: Sink
    reader: BlockReader
    templates: TemplateIndex


class RankedTemplate(NamedTuple):
    """A template that a query found, and lines of it."""

    template: str
    """Its id."""
    score: float
    lines: list[Line]
    """At least one, those to be shown first: those with the query's identifiers, then its newest ones."""


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
    templates: frozenset[str] = frozenset()
    """Ids: only these templates; empty: all."""
    deep: bool = False
    """Whether many templates are ranked, however few lines are wanted."""

    def is_met_by(self, templates: list[RankedTemplate]) -> bool:
        """Whether these are enough."""
        return sum(min(len(template.lines), self.per_template) for template in templates) >= self.k

    def admits(self, template: str) -> bool:
        """Whether lines of a template are wanted."""
        return not self.templates or template in self.templates
