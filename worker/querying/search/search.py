"""Search ranks templates and shows lines: those that fit the query, and of each the line that stands for it.

The answer step calls it. Ten copies of the busiest template are not ten answers; only a text of nothing but identifiers is answered
with every line that has them, for then the lines themselves are wanted.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sinks.row import LineRow
from sinks.sink import Sink, TemplateHit
from worker.embedding.model.vectors import Vector
from worker.query import Mode, Query
from worker.querying.search.dense import rank_by_meaning
from worker.querying.search.lexical import rank_by_words, votes_by_words
from worker.querying.search.ranking import RankedTemplate, Ranking, SearchBounds
from worker.querying.search.words import Words, words_of

PER_TEMPLATE = 1
LEAST_SHARE = 0.5
"""In `hybrid`, a line without an identifier of the query votes only if it has so much of the query's words."""


class Hit(NamedTuple):
    """A line, and how well it fits."""

    score: float
    """Cosine similarity of query and template (dense), BM25 score of the line (bm25), or fused ranks (hybrid)."""
    line: LineRow


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


def mode_of(sought: PreparedQuery, sink: Sink) -> Mode:
    """Return how a query is ranked."""
    if sought.vector is None:
        return "bm25"
    by_meaning = sought.query.mode == "dense" or not sink.has_bm25
    return "dense" if by_meaning else "hybrid"


def search(sink: Sink, sought: PreparedQuery, *, deadline_passed: Callable[[], bool]) -> SearchResult:
    """Find the `k` best lines, best first. Raises SinkBusy."""
    query = sought.query
    per_template = query.per_template or PER_TEMPLATE
    if sought.vector is None and sought.is_exact and query.per_template is None:
        ranking = rank_by_words(sink, _words(query), _bounds(query, query.k, PER_TEMPLATE, deadline_passed), grouped=False)
    else:
        ranking = rank(sink, sought, query.k, per_template, deadline_passed=deadline_passed)
    hits = [Hit(template.score, line) for template in ranking.templates for line in template.lines[:per_template]]
    return SearchResult(hits[: query.k], ranking.complete)


def rank(sink: Sink, sought: PreparedQuery, k: int, per_template: int, *, deadline_passed: Callable[[], bool]) -> Ranking:
    """Rank templates by the query's mode, enough of them to have `k` lines."""
    query = sought.query
    words = _words(query)
    if sought.vector is None:
        return rank_by_words(sink, words, _bounds(query, k, per_template, deadline_passed))
    if mode_of(sought, sink) == "dense":
        return rank_by_meaning(sink, sought.vector, _bounds(query, k, per_template, deadline_passed), sought.near)
    bounds = _bounds(query, k, per_template, deadline_passed)._replace(deep=True)
    by_meaning = rank_by_meaning(sink, sought.vector, bounds, sought.near)
    if deadline_passed():
        return by_meaning._replace(complete=False)
    by_words = votes_by_words(sink, words, bounds, least_share=LEAST_SHARE)
    return fuse(by_meaning, by_words, words_first=bool(words.identifiers))


def _words(query: Query) -> Words:
    return words_of(query.text or "")


def _bounds(query: Query, k: int, per_template: int, deadline_passed: Callable[[], bool]) -> SearchBounds:
    return SearchBounds(k, per_template, query.filters.as_line_filter(), deadline_passed)


_RANK_OFFSET = 60
"""The constant of the paper: how slowly a rank loses weight."""


def fuse(by_meaning: Ranking, by_words: Ranking, *, words_first: bool) -> Ranking:
    """Return the templates of both; `words_first` decides between equal ones. Lines found by words are shown before the newest."""
    scores: dict[str, float] = {}
    lines: dict[str, dict[str, LineRow]] = {}
    for ranking in (by_words, by_meaning) if words_first else (by_meaning, by_words):
        for rank, template in enumerate(ranking.templates, start=1):
            scores[template.digest] = scores.get(template.digest, 0.0) + 1 / (_RANK_OFFSET + rank)
    for ranking in (by_words, by_meaning):
        for template in ranking.templates:
            shown = lines.setdefault(template.digest, {})
            for line in template.lines:
                shown.setdefault(line.id, line)
    best = sorted(scores, key=lambda digest: -scores[digest])
    templates = [RankedTemplate(digest, scores[digest], list(lines[digest].values())) for digest in best]
    return Ranking(templates, by_meaning.complete and by_words.complete)
