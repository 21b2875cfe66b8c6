"""Kinds of lines: what `as: templates` asks for, most frequent first or nearest to a text first.

The answer step calls it, and `vectail templates` where it may read the index itself. Counts, first and last seen and the example come
from the lines of the window; a template has none of them itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sinks.row import LineRow
from sinks.sink import Sink, TemplateCount
from worker.cache.vectors import Vector
from worker.query import Query

MOST_LINES = 100_000
"""The newest lines that a worker counts for one query; a window with more gives an answer that is not complete."""
MOST_NEAR = 64


class Kind(NamedTuple):
    """A template with what its lines in the window say."""

    counted: TemplateCount
    text: str
    """Masked: what all of its lines have in common."""
    example: LineRow | None
    """Its newest line in the window; None when it was removed meanwhile."""
    score: float | None
    """Cosine similarity to the text that was asked for."""


class Kinds(NamedTuple):
    """The answer."""

    kinds: list[Kind]
    complete: bool
    """False when a bound or the deadline cut it short."""


class Enough(NamedTuple):
    """Asked between two reads: whether to stop there.

    Thread: one.
    """

    counted: Callable[[], bool]
    """Of counting lines."""
    all: Callable[[], bool]
    """Of all of it."""


def find_kinds(sink: Sink, query: Query, vector: Vector | None, enough: Enough, *, most_lines: int = MOST_LINES) -> Kinds:
    """Return the `k` first kinds of lines under the query's filters; without a vector the most frequent. Raises SinkBusy."""
    only = query.filters.as_line_filter()
    scores: dict[str, float] = {}
    texts: dict[str, str] = {}
    most_near = max(MOST_NEAR, query.k)
    if vector is not None:
        near = sink.nearest_templates(vector, most_near)
        scores = {hit.digest: hit.score for hit in near}
        texts = {hit.digest: hit.text for hit in near}
    counted = sink.count_templates(
        only, templates=None if vector is None else list(scores), most_rows=most_lines, out_of_time=enough.counted
    )
    counts = counted.counts if vector is None else sorted(counted.counts, key=lambda count: -scores[count.digest])
    shown = counts[: query.k]
    cut = vector is not None and len(scores) == most_near and len(shown) < query.k
    if vector is None:
        texts = sink.template_texts([count.digest for count in shown])
    kinds: list[Kind] = []
    for count in shown:
        newest = [] if enough.all() else sink.newest_lines(count.digest, 1, only)
        kinds.append(Kind(count, texts.get(count.digest, ""), newest[0] if newest else None, scores.get(count.digest)))
    return Kinds(kinds, complete=counted.complete and not cut and not enough.all())


def kinds_document(kinds: Kinds) -> dict[str, Any]:
    """Return the answer as a reply holds it."""
    return {"templates": [_kind(kind) for kind in kinds.kinds], "complete": kinds.complete}


def _kind(kind: Kind) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "template": kind.counted.digest,
        "text": kind.text,
        "lines": kind.counted.lines,
        "first": kind.counted.first_ms,
        "last": kind.counted.last_ms,
        "example": None if kind.example is None else kind.example.text,
    }
    return shown if kind.score is None else shown | {"score": round(kind.score, 6)}
