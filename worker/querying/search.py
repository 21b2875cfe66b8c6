"""Search ranks templates and shows lines: those that fit the query, and of each family of templates the lines that stand for it.

The answer step calls it. Ten copies of the busiest template are not ten answers, nor are ten templates that differ in one word; only a
text of nothing but identifiers is answered with every line that has them, for then the lines themselves are wanted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sinks.line import Line
from sinks.row import Vector
from sinks.sink import TemplateHit
from worker.asking.question import Mode, Query
from worker.querying.dense import rank_by_meaning
from worker.querying.lexical import lines_with_identifiers, rank_by_words, score_of
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, OutOfTime, RankedTemplate, Ranking, SearchBounds, by_family, groups_of_lines
from worker.querying.scope import Scope, scope_of

PER_TEMPLATE = 1


class Hit(NamedTuple):
    """A line, and how well it fits."""

    score: float | None
    """Of the best template of its family: cosine similarity of query and template, by words the BM25 score of the template's text; None
    without a text."""
    line: Line


class SearchResult(NamedTuple):
    """The answer to a query."""

    hits: list[Hit]
    complete: bool
    """False when a bound or the deadline cut the search short."""


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
        return SearchResult([Hit(score_of(words, line), line) for line in exact.lines], exact.complete)
    ranking = rank(index, sought, bounds)
    return SearchResult(_shown(ranking.templates, bounds), ranking.complete)


def rank(index: Index, sought: PreparedQuery, bounds: SearchBounds) -> Ranking:
    """Rank templates by the query's mode, enough of them for what is wanted. Raises SinkBusy."""
    words = words_of(sought.query.text or "")
    if sought.vector is None:
        return rank_by_words(index, words, bounds)
    return rank_by_meaning(index, sought.vector, bounds, sought.near, None if mode_of(sought) == "dense" else words)


def _per_family(query: Query) -> int | None:
    if query.per_family is None and (query.filters.template or query.filters.family):
        return None
    return query.per_family or query.per_template or PER_TEMPLATE


def _shown(templates: Sequence[RankedTemplate], bounds: SearchBounds) -> list[Hit]:
    """Return the lines that stand for ranked templates."""
    if bounds.per_family is None:
        return [Hit(template.score, line) for template in templates for line in template.lines[: bounds.per_template]][: bounds.k]
    hits: list[Hit] = []
    for members in by_family(templates).values():
        lines = [line for template in members for line in template.lines[: bounds.per_template]]
        hits += [Hit(members[0].score, line) for line in lines[: bounds.per_family]]
    return hits[: bounds.k]


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
