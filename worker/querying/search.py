"""Search ranks templates and shows lines: those that fit the query, and of each the line that stands for it.

The answer step calls it. Ten copies of the busiest template are not ten answers; only a text of nothing but identifiers is answered
with every line that has them, for then the lines themselves are wanted.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sinks.line import Line
from sinks.sink import TemplateHit
from worker.embedding.model.vectors import Vector
from worker.query import Mode, Query
from worker.querying.dense import rank_by_meaning
from worker.querying.lexical import lines_with_identifiers, rank_by_words, score_of, votes_by_words
from worker.querying.ranking import Index, OutOfTime, RankedTemplate, Ranking, SearchBounds
from worker.querying.words import Words, words_of

PER_TEMPLATE = 1
LEAST_SHARE = 0.5
"""In `hybrid`, a template votes only if its text has this share of the query's words, or a line of it an identifier."""


class Hit(NamedTuple):
    """A line, and how well it fits."""

    score: float | None
    """Cosine similarity of query and template (dense), BM25 score of the template's text (words), or fused ranks (hybrid); None without
    a text."""
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


def search(index: Index, sought: PreparedQuery, *, deadline_passed: Callable[[], bool]) -> SearchResult:
    """Find the `k` best lines, best first; without a text the newest of the filter's templates. Raises SinkBusy."""
    query = sought.query
    if query.text is None:
        return _newest(index, query, deadline_passed)
    if sought.vector is None and sought.is_exact and query.per_template is None:
        words = words_of(query.text)
        exact = lines_with_identifiers(index, words, query.k, bounds_of(query, query.k, PER_TEMPLATE, deadline_passed))
        return SearchResult([Hit(score_of(words, line), line) for line in exact.lines], exact.complete)
    per_template = query.per_template or PER_TEMPLATE
    ranking = rank(index, sought, query.k, per_template, deadline_passed=deadline_passed)
    hits = [Hit(template.score, line) for template in ranking.templates for line in template.lines[:per_template]]
    return SearchResult(hits[: query.k], ranking.complete)


def rank(index: Index, sought: PreparedQuery, k: int, per_template: int, *, deadline_passed: OutOfTime) -> Ranking:
    """Rank templates by the query's mode, enough of them to have `k` lines."""
    words = words_of(sought.query.text or "")
    bounds = bounds_of(sought.query, k, per_template, deadline_passed)
    if sought.vector is None:
        return rank_by_words(index, words, bounds)
    if mode_of(sought) == "dense":
        return rank_by_meaning(index, sought.vector, bounds, sought.near)
    bounds = bounds._replace(deep=True)
    by_meaning = rank_by_meaning(index, sought.vector, bounds, sought.near)
    if deadline_passed():
        return by_meaning._replace(complete=False)
    by_words = votes_by_words(index, words, bounds, least_share=LEAST_SHARE)
    return fuse(by_meaning, by_words, words)


def bounds_of(query: Query, k: int, per_template: int, deadline_passed: OutOfTime) -> SearchBounds:
    """Return how much is wanted of a ranking for a query."""
    filters = query.filters
    return SearchBounds(k, per_template, filters.as_line_filter(), deadline_passed, frozenset(filters.template))


def _newest(index: Index, query: Query, deadline_passed: OutOfTime) -> SearchResult:
    bounds = bounds_of(query, query.k, query.per_template or query.k, deadline_passed)
    found = index.reader.newest_lines(bounds.templates, bounds.per_template, bounds.only, deadline_passed=deadline_passed)
    newest = sorted((line for lines in found.lines.values() for line in lines), key=lambda line: (-line.time, line.id))
    return SearchResult([Hit(None, line) for line in newest[: query.k]], found.complete)


_RANK_OFFSET = 60
"""The constant of the paper: how slowly a rank loses weight (Cormack, Clarke and Büttcher 2009)."""


def fuse(by_meaning: Ranking, by_words: Ranking, words: Words) -> Ranking:
    """Return the templates of both. Where the text has identifiers, words decide between equal ones and their lines are shown first."""
    scores: dict[str, float] = {}
    lines: dict[str, dict[str, Line]] = {}
    for ranking in (by_words, by_meaning) if words.identifiers else (by_meaning, by_words):
        for place, template in enumerate(ranking.templates, start=1):
            scores[template.template] = scores.get(template.template, 0.0) + 1 / (_RANK_OFFSET + place)
    for ranking in (by_words, by_meaning):
        for template in ranking.templates:
            shown = lines.setdefault(template.template, {})
            for line in template.lines:
                shown.setdefault(line.id, line)
    best = sorted(scores, key=lambda template: -scores[template])
    templates = [RankedTemplate(template, scores[template], list(lines[template].values())) for template in best]
    return Ranking(templates, by_meaning.complete and by_words.complete)
