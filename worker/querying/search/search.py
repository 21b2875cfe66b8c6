"""Search ranks templates and shows lines: the kinds that fit the query, and of each the line that stands for it.

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
    """A line, and how well it fits.

    Thread: any.
    """

    score: float
    """Cosine similarity of query and template (dense), BM25 score of the line (bm25), or fused ranks (hybrid)."""
    line: LineRow


class SearchResult(NamedTuple):
    """The answer to a query.

    Thread: any.
    """

    hits: list[Hit]
    complete: bool
    """False when a bound or the deadline cut the search short."""


class PreparedQuery(NamedTuple):
    """A query that is ready to be searched for.

    Thread: any.
    """

    query: Query
    vector: Vector | None
    """None: by words only."""
    is_exact: bool = False
    """Its text is identifiers and nothing else."""
    near: Sequence[TemplateHit] | None = None
    """The nearest templates, if somebody has read them already."""


def mode_of(sought: PreparedQuery, sink: Sink) -> Mode:
    """Return how a query is ranked."""
    if sought.vector is None:
        return "bm25"
    by_meaning = sought.query.mode == "dense" or not sink.has_bm25
    return "dense" if by_meaning else "hybrid"


def search(sink: Sink, sought: PreparedQuery, *, deadline_passed: Callable[[], bool]) -> SearchResult:
    """Find the `k` best lines, best first. Raises SinkBusy."""
    query = sought.query
    per_kind = query.per_template or PER_TEMPLATE
    if sought.vector is None and sought.is_exact and query.per_template is None:
        ranking = rank_by_words(sink, _words(query), _bounds(query, query.k, PER_TEMPLATE, deadline_passed), grouped=False)
    else:
        ranking = rank(sink, sought, query.k, per_kind, deadline_passed=deadline_passed)
    hits = [Hit(kind.score, line) for kind in ranking.kinds for line in kind.lines[:per_kind]]
    return SearchResult(hits[: query.k], ranking.complete)


def rank(sink: Sink, sought: PreparedQuery, k: int, per_kind: int, *, deadline_passed: Callable[[], bool]) -> Ranking:
    """Rank the kinds of lines by the query's mode, so many that they have `k` lines."""
    query = sought.query
    words = _words(query)
    if sought.vector is None:
        return rank_by_words(sink, words, _bounds(query, k, per_kind, deadline_passed))
    if mode_of(sought, sink) == "dense":
        return rank_by_meaning(sink, sought.vector, _bounds(query, k, per_kind, deadline_passed), sought.near)
    bounds = _bounds(query, k, per_kind, deadline_passed)._replace(deep=True)
    by_meaning = rank_by_meaning(sink, sought.vector, bounds, sought.near)
    if deadline_passed():
        return by_meaning._replace(complete=False)
    by_words = votes_by_words(sink, words, bounds, least_share=LEAST_SHARE)
    return fuse(by_meaning, by_words, words_first=bool(words.identifiers))


def _words(query: Query) -> Words:
    return words_of(query.text or "")


def _bounds(query: Query, k: int, per_kind: int, deadline_passed: Callable[[], bool]) -> SearchBounds:
    return SearchBounds(k, per_kind, query.filters.as_line_filter(), deadline_passed)


_RANK_OFFSET = 60
"""The constant of the paper: how slowly a rank loses weight."""


def fuse(by_meaning: Ranking, by_words: Ranking, *, words_first: bool) -> Ranking:
    """Return the kinds of both; `words_first` decides between equal ones. Of a kind, lines that words found are shown before its newest."""
    scores: dict[str, float] = {}
    lines: dict[str, dict[str, LineRow]] = {}
    for ranking in (by_words, by_meaning) if words_first else (by_meaning, by_words):
        for rank, kind in enumerate(ranking.kinds, start=1):
            scores[kind.digest] = scores.get(kind.digest, 0.0) + 1 / (_RANK_OFFSET + rank)
    for ranking in (by_words, by_meaning):
        for kind in ranking.kinds:
            shown = lines.setdefault(kind.digest, {})
            for line in kind.lines:
                shown.setdefault(line.id, line)
    best = sorted(scores, key=lambda digest: -scores[digest])
    kinds = [RankedTemplate(digest, scores[digest], list(lines[digest].values())) for digest in best]
    return Ranking(kinds, by_meaning.complete and by_words.complete)
