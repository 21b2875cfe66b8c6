"""Ranking by meaning: the templates nearest to the query's vector that have lines under the filters.

The nearest templates are tried first, a few dozen at most. Under a filter that few lines pass none of them may have one: then it is
turned round, and the templates of the newest blocks that may hold such lines are ranked among themselves. All of those are farther away
than the ones tried before, so one ranking follows the other.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sinks.sink import Sink, TemplateHit
from worker.embedding.model.vectors import Vector
from worker.querying.ranking import Index, RankedTemplate, Ranking, SearchBounds

MOST_TEMPLATES = 64
"""Tried in the order of the whole index, whatever the filters."""
MOST_BLOCKS = 1_000
"""Newest blocks whose templates are looked at when it is turned round."""


class _Page(NamedTuple):
    """Templates to be tried together."""

    hits: Sequence[TemplateHit]
    complete: bool
    """Whether no bound has left anything out up to here."""


def rank_by_meaning(index: Index, vector: Vector, bounds: SearchBounds, first: Sequence[TemplateHit] | None = None) -> Ranking:
    """Return the nearest templates; `first` are the nearest templates of all, if they are read already. Raises SinkBusy."""
    templates: list[RankedTemplate] = []
    complete = is_all_read = True
    for page in _pages(index, vector, bounds, first):
        if bounds.deadline_passed():
            return Ranking(templates, complete=False)
        found = with_lines(index, page.hits, bounds)
        templates += found.templates
        is_all_read = is_all_read and found.complete
        if bounds.is_met_by(templates):
            return Ranking(templates, is_all_read)
        complete = page.complete
    return Ranking(templates, complete and is_all_read)


def _pages(index: Index, vector: Vector, bounds: SearchBounds, first: Sequence[TemplateHit] | None) -> Iterator[_Page]:
    """Yield templates, nearest first, each once; read only when they are asked for. The first page is as small as may do."""
    if bounds.templates:
        ranked = near_among(index.sink, vector, sorted(bounds.templates))
        yield from (_Page(ranked[start : start + MOST_TEMPLATES], complete=True) for start in range(0, len(ranked), MOST_TEMPLATES))
        return
    wanted = max(MOST_TEMPLATES, bounds.k) if bounds.deep else bounds.k
    near = index.sink.nearest_templates(vector[None], wanted)[0] if first is None else first
    yield _Page(near[:wanted], complete=True)
    if first is None and len(near) < wanted:
        return
    most = max(MOST_TEMPLATES, wanted)
    nearest = near if len(near) >= most else index.sink.nearest_templates(vector[None], most)[0]
    tried = {hit.template for hit in near[:wanted]}
    yield _Page([hit for hit in nearest if hit.template not in tried], complete=True)
    if len(nearest) < most:
        return
    tried |= {hit.template for hit in nearest}
    there = index.reader.newest_templates(bounds.only, most_blocks=MOST_BLOCKS, deadline_passed=bounds.deadline_passed)
    ranked = near_among(index.sink, vector, [template for template in there.templates if template not in tried])
    for start in range(0, max(len(ranked), 1), most):
        yield _Page(ranked[start : start + most], there.complete)


def near_among(sink: Sink, vector: Vector, templates: Collection[str]) -> list[TemplateHit]:
    """Rank these templates, nearest first; one whose vector is not there (yet) is left out."""
    vectors = sink.template_vectors(templates) if templates else {}
    found = list(vectors)
    scores = np.stack([vectors[template] for template in found]) @ vector if found else np.empty(0, np.float32)
    order = np.argsort(-scores, kind="stable")
    return [TemplateHit(found[place], float(scores[place]), "") for place in order.tolist()]


def with_lines(index: Index, hits: Sequence[TemplateHit], bounds: SearchBounds) -> Ranking:
    """Return those of some templates that have lines under the filters, in their order, each with its newest lines. Raises SinkBusy."""
    if not hits:
        return Ranking([], complete=True)
    templates = [hit.template for hit in hits]
    found = index.reader.newest_lines(templates, bounds.per_template, bounds.only, deadline_passed=bounds.deadline_passed)
    ranked = [RankedTemplate(hit.template, hit.score, found.lines[hit.template]) for hit in hits if found.lines.get(hit.template)]
    return Ranking(ranked, found.complete)
