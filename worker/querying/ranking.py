"""What a ranking is: templates, best first, each with the lines that stand for it.

`dense` ranks by meaning, with words between equals in the order of `hybrid`; `lexical` ranks by words; `search` takes the hits.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sinks.line import Line
from sinks.reading.line_filter import LineFilter
from sinks.reading.reader import BlockReader
from sinks.row import TemplateId
from sinks.sink import Sink, TemplateView
from worker.embedding.model.nearness import Nearness
from worker.querying.template_groups import TemplateGroup
from worker.querying.template_index import TemplateIndex

OutOfTime = Callable[[], bool]
"""Asked between two reads; when it says yes, what was found so far is the answer."""


class Meaning(NamedTuple):
    """What a question's vector is compared with: the vectors of the model that made it, and no others.

    Thread: any.
    """

    view: TemplateView
    nearness: Nearness | None
    """What was measured of that model."""


@dataclass(slots=True)
class AskedMeaning:
    """Of the question that is being answered: while the index changes its model, some that wait were embedded before and some after.

    Thread: the answer thread, which sets it before each question.
    """

    meaning: Meaning | None = None
    """None: the templates of the sink."""


class Index(NamedTuple):
    """All that a search reads.

    Thread: one; only the reader and the sink may be shared.
    """

    sink: Sink
    reader: BlockReader
    templates: TemplateIndex
    own_nearness: Nearness | None = None
    """What was measured of the model whose vectors the sink's templates have."""
    asked: AskedMeaning | None = None
    """None: every question is one of the sink's templates."""

    @property
    def vectors(self) -> TemplateView:
        """What the question's vector is compared with."""
        return self.sink.templates if self.asked is None or self.asked.meaning is None else self.asked.meaning.view

    @property
    def nearness(self) -> Nearness | None:
        """What was measured of these vectors' model."""
        return self.own_nearness if self.asked is None or self.asked.meaning is None else self.asked.meaning.nearness


class RankedTemplate(NamedTuple):
    """A template that a query found, and lines of it."""

    template: TemplateId
    score: float
    lines: list[Line]
    """Those to be shown first: those with the query's identifiers, then its newest ones."""
    family: str
    """Id of its group."""


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
    templates: frozenset[TemplateId] | None = None
    """Only these; None: all."""
    per_family: int | None = None
    """Most lines of one family; None: no bound."""

    def is_met_by(self, templates: Iterable[RankedTemplate]) -> bool:
        """Whether these are enough."""
        return self.missing(templates) <= 0

    def missing(self, templates: Iterable[RankedTemplate]) -> int:
        """Return how many more lines than those of these templates are wanted."""
        most = self.k if self.per_family is None else self.per_family
        return self.k - sum(min(lines, most) for lines in self.lines_of_families(templates).values())

    def full_families(self, templates: Iterable[RankedTemplate]) -> frozenset[str]:
        """Return the families that already have as many of these lines as may be shown."""
        if self.per_family is None:
            return frozenset()
        most = self.per_family
        return frozenset(family for family, lines in self.lines_of_families(templates).items() if lines >= most)

    def admits(self, template: TemplateId) -> bool:
        """Whether lines of a template are wanted."""
        return template not in self.only.not_templates and (self.templates is None or template in self.templates)

    def at_least(self, limit: int) -> int:
        """Return how many templates to read so that `limit` of them, or all, are not excluded."""
        return limit + len(self.only.not_templates)

    def lines_of_families(self, templates: Iterable[RankedTemplate]) -> Counter[str]:
        """Return how many lines may be shown of each family, if there were no bound for it."""
        lines: Counter[str] = Counter()
        for template in templates:
            lines[template.family] += min(len(template.lines), self.per_template)
        return lines


def by_family(templates: Iterable[RankedTemplate]) -> dict[str, list[RankedTemplate]]:
    """Return ranked templates by the ids of their families: the best family first, and of each its best template first."""
    families: dict[str, list[RankedTemplate]] = {}
    for template in templates:
        families.setdefault(template.family, []).append(template)
    return families


def groups_of_lines(index: Index, lines: Iterable[Line]) -> dict[TemplateId, TemplateGroup]:
    """Return the groups of the lines' templates by their ids; lines have the texts, so nothing is read."""
    return index.templates.groups_of({line.template: line.template_text for line in lines})


def ranked(index: Index, templates: Sequence[tuple[TemplateId, float, list[Line]]]) -> list[RankedTemplate]:
    """Return templates with their families, given id, score and lines of each."""
    groups = groups_of_lines(index, [lines[0] for _, _, lines in templates])
    return [RankedTemplate(template, score, lines, groups[template].family) for template, score, lines in templates]
