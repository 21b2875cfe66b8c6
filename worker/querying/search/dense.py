"""Ranking by meaning: the templates nearest to the query's vector that have lines under the filters.

The nearest templates are tried first, a few dozen at most. Under a filter that few lines pass none of them may have one: then it is
turned round, and the templates of the newest lines that do pass are ranked among themselves. All of those are farther away than the
ones tried before, so one ranking follows the other.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sinks.sink import Sink, TemplateHit
from worker.embedding.model.vectors import Vector
from worker.querying.search.ranking import RankedTemplate, Ranking, SearchBounds

MOST_TEMPLATES = 64
"""Tried in the order of the whole index, whatever the filters."""
MOST_LINES = 10_000
"""Newest lines under the filters whose templates are looked at when it is turned round."""


class _Page(NamedTuple):
    """Templates to be tried together."""

    hits: Sequence[TemplateHit]
    complete: bool
    """Whether no bound has left anything out up to here."""


def rank_by_meaning(sink: Sink, vector: Vector, bounds: SearchBounds, first: Sequence[TemplateHit] | None = None) -> Ranking:
    """Return the nearest templates; `first` are the nearest templates of all, if they are read already. Raises SinkBusy."""
    templates: list[RankedTemplate] = []
    complete = True
    for page in _pages(sink, vector, bounds, first):
        if bounds.deadline_passed():
            return Ranking(templates, complete=False)
        templates += _with_lines(sink, page.hits, bounds)
        if bounds.is_met_by(templates):
            return Ranking(templates, complete=True)
        complete = page.complete
    return Ranking(templates, complete)


def _pages(sink: Sink, vector: Vector, bounds: SearchBounds, first: Sequence[TemplateHit] | None) -> Iterator[_Page]:
    """Yield templates, nearest first, each once; read only when they are asked for. The first page is as small as may do."""
    wanted = max(MOST_TEMPLATES, bounds.k) if bounds.deep else bounds.k
    near = sink.nearest_templates(vector[None], wanted)[0] if first is None else first
    yield _Page(near[:wanted], complete=True)
    if first is None and len(near) < wanted:
        return
    most = max(MOST_TEMPLATES, wanted)
    nearest = near if len(near) >= most else sink.nearest_templates(vector[None], most)[0]
    tried = {hit.digest for hit in near[:wanted]}
    yield _Page([hit for hit in nearest if hit.digest not in tried], complete=True)
    if len(nearest) < most:
        return
    tried |= {hit.digest for hit in nearest}
    there = sink.count_templates(bounds.only, templates=None, most_rows=MOST_LINES, deadline_passed=bounds.deadline_passed)
    ranked = near_among(sink, vector, [count.digest for count in there.counts if count.digest not in tried])
    for start in range(0, max(len(ranked), 1), most):
        yield _Page(ranked[start : start + most], there.complete)


def near_among(sink: Sink, vector: Vector, digests: Sequence[str]) -> list[TemplateHit]:
    """Rank these templates, nearest first; one whose vector is not there (yet) is left out."""
    vectors = sink.template_vectors(digests)
    found = list(vectors)
    scores = np.stack([vectors[digest] for digest in found]) @ vector if found else np.empty(0, np.float32)
    order = np.argsort(-scores, kind="stable")
    return [TemplateHit(found[place], float(scores[place]), "") for place in order.tolist()]


def _with_lines(sink: Sink, hits: Sequence[TemplateHit], bounds: SearchBounds) -> list[RankedTemplate]:
    if not hits:
        return []
    lines = sink.newest_lines([hit.digest for hit in hits], bounds.per_template, bounds.only)
    return [RankedTemplate(hit.digest, hit.score, lines[hit.digest]) for hit in hits if lines.get(hit.digest)]
