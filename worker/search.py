"""Search ranks templates and shows lines: of each template near the query, its newest lines under the filters.

A dense query finds the kinds of lines that mean the same; one bounded query per template then brings lines to read. Ten
copies of the busiest template are not ten answers.
"""

from collections.abc import Callable
from typing import NamedTuple

from sinks.row import LineRow
from sinks.sink import Sink
from worker.cache.vectors import Vector
from worker.query import Query

MOST_TEMPLATES = 64
PER_TEMPLATE = 1


class Hit(NamedTuple):
    """A line, and how near its template is."""

    score: float
    """Cosine similarity of query and template, -1 … 1."""
    line: LineRow


class Found(NamedTuple):
    """The answer to a query."""

    hits: list[Hit]
    complete: bool
    """False when a bound or the deadline cut the search short."""


def search(sink: Sink, query: Query, vector: Vector, *, out_of_time: Callable[[], bool]) -> Found:
    """Find the `k` best lines, best first. Raises SinkBusy."""
    only = query.filters.as_line_filter()
    most = max(MOST_TEMPLATES, query.k)
    templates = sink.nearest_templates(vector, most)
    hits: list[Hit] = []
    for template in templates:
        if len(hits) >= query.k:
            break
        if out_of_time():
            return Found(hits, complete=False)
        hits += [Hit(template.score, line) for line in sink.newest_lines(template.digest, PER_TEMPLATE, only)]
    return Found(hits[: query.k], complete=len(hits) >= query.k or len(templates) < most)
