"""Search ranks templates and shows lines: those that fit the query, and of each family of templates the lines that stand for it.

The answer step calls it. Ten copies of the busiest template are not ten answers, nor are ten families that differ in one word; only a
text of nothing but identifiers is answered with every line that has them, for then the lines themselves are wanted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from sinks.line import Line
from sinks.row import TemplateText, Vector
from sinks.sink import TemplateHit
from worker.asking.question import Mode, Query
from worker.querying.dense import MOST_TEMPLATES, rank_by_meaning
from worker.querying.family_kinds import AlikeFamily, FamilyKind, KindsFound, find_kinds
from worker.querying.lexical import lines_with_identifiers, rank_by_words, score_of
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, OutOfTime, Ranking, SearchBounds, groups_of_lines
from worker.querying.scope import Scope, scope_of
from worker.querying.similarity import Fit, Similarities

PER_TEMPLATE = 1


class Hit(NamedTuple):
    """A line, and how well it fits."""

    fit: Fit | None
    """Of its family; None without a text."""
    line: Line
    alike: Sequence[AlikeFamily] = ()
    """The families that it stands for as well."""

    @property
    def score(self) -> float | None:
        """How well it fits."""
        return None if self.fit is None else self.fit.score


class SearchResult(NamedTuple):
    """The answer to a query."""

    hits: list[Hit]
    complete: bool
    """False when a bound or the deadline cut the search short."""
    counted: Sequence[str] | None = None
    """The families that counts would count, of those that the hits stand for; None without hits by meaning."""


class PreparedQuery(NamedTuple):
    """A query that is ready to be searched for."""

    query: Query
    vector: Vector | None
    """None: by words only."""
    is_exact: bool = False
    """Its text is identifiers and nothing else."""
    near: Sequence[TemplateHit] | None = None
    """The nearest templates, if they are read already."""


def mode_of(sought: PreparedQuery) -> Mode:
    """Return how a query is ranked."""
    if sought.vector is None:
        return "words"
    return "dense" if sought.query.mode == "dense" else "hybrid"


def search(index: Index, sought: PreparedQuery, *, deadline_passed: Callable[[], bool], scope: Scope | None = None) -> SearchResult:
    """Find the `k` best lines, best first; without a text the newest of the filter's templates. Raises SinkBusy.

    `scope`: of the query's filters, if it is known already.
    """
    if scope is None:
        scope = scope_of(index, sought.query.filters, deadline_passed)
    found = _find(index, sought, scope, deadline_passed)
    return found._replace(complete=found.complete and scope.complete)


def _find(index: Index, sought: PreparedQuery, scope: Scope, deadline_passed: OutOfTime) -> SearchResult:
    query = sought.query
    per_template = query.per_template or PER_TEMPLATE
    bounds = SearchBounds(query.k, per_template, scope.only, deadline_passed, scope.templates, per_family=_per_family(query))
    if query.text is None:
        return _newest(index, query, bounds)
    if sought.vector is None and sought.is_exact and query.per_template is query.per_family is None:
        words = words_of(query.text)
        exact = lines_with_identifiers(index, words, query.k, bounds)
        return SearchResult([Hit(Fit(score_of(words, line)), line) for line in exact.lines], exact.complete)
    found = rank_kinds(index, sought, bounds)
    hits, kinds = _shown(found.kinds, bounds)
    counted = None if sought.vector is None or not hits else [family for kind in found.counted(kinds) for family in kind.families]
    return SearchResult(hits, found.complete, counted)


def rank_kinds(index: Index, sought: PreparedQuery, bounds: SearchBounds) -> KindsFound:
    """Rank kinds of families by the query's mode, enough of them for what is wanted. Raises SinkBusy."""
    if sought.vector is not None and sought.near is None and bounds.templates is None and not bounds.only.not_templates:
        sought = sought._replace(near=index.vectors.nearest(sought.vector[None], MOST_TEMPLATES)[0])
    near = sought.near or ()
    return find_kinds(index, partial(rank, index, sought), bounds, near, Similarities(index, sought.vector, sought.query, near))


def rank(index: Index, sought: PreparedQuery, bounds: SearchBounds) -> Ranking:
    """Rank templates by the query's mode, enough of them for what is wanted. Raises SinkBusy."""
    words = words_of(sought.query.text or "")
    if sought.vector is None:
        return rank_by_words(index, words, bounds)
    return rank_by_meaning(index, sought.vector, bounds, sought.near, None if mode_of(sought) == "dense" else words)


def similarities_of(index: Index, sought: PreparedQuery, ranking: Ranking) -> Similarities:
    """Return what judges a ranking; of one by meaning the cosines are known."""
    near = [TemplateHit(one.template, one.score, TemplateText("")) for one in ranking.templates]
    return Similarities(index, sought.vector, sought.query, () if sought.vector is None else near)


def _per_family(query: Query) -> int | None:
    if query.per_family is None and (query.filters.template or query.filters.family):
        return None
    return query.per_family or query.per_template or PER_TEMPLATE


def _shown(kinds: Sequence[FamilyKind], bounds: SearchBounds) -> tuple[list[Hit], int]:
    """Return the lines that stand for kinds, and for how many."""
    hits: list[Hit] = []
    shown = 0
    for kind in kinds:
        if len(hits) >= bounds.k:
            break
        lines = [line for template in kind.templates for line in template.lines[: bounds.per_template]]
        hits += [Hit(kind.fit, line, kind.alike) for line in lines[: bounds.per_family]]
        shown += 1
    return hits[: bounds.k], shown


def _newest(index: Index, query: Query, bounds: SearchBounds) -> SearchResult:
    per_template = query.per_template or query.k
    found = index.reader.newest_lines(bounds.templates or (), per_template, bounds.only, deadline_passed=bounds.deadline_passed)
    newest = sorted((line for lines in found.lines.values() for line in lines), key=lambda line: (-line.time, line.id))
    if query.per_family is not None:
        newest = _newest_of_families(index, newest, query.per_family)
    return SearchResult([Hit(None, line) for line in newest[: query.k]], found.complete)


def _newest_of_families(index: Index, lines: Sequence[Line], most: int) -> list[Line]:
    """Return the first `most` lines of each family."""
    groups = groups_of_lines(index, lines)
    shown: Counter[str] = Counter()
    kept: list[Line] = []
    for line in lines:
        family = groups[line.template].family
        shown[family] += 1
        if shown[family] <= most:
            kept.append(line)
    return kept
