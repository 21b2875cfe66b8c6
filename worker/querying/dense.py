"""Ranking by meaning: the templates nearest to the query's vector that have lines under the filters.

The nearest templates are tried first, a few dozen at most, and more of them where many are of few families. Under a filter that few lines
pass none of them may have one: then it is turned round, and the templates of the newest blocks that may hold such lines are ranked among
themselves. All of those are farther away than the ones tried before, so one ranking follows the other. A template of a family that has
all the lines it may show is passed over: a better one stands for it already.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sinks.row import TemplateId, TemplateText, Vector
from sinks.sink import Sink, TemplateHit
from worker.querying.ranking import Index, RankedTemplate, Ranking, SearchBounds, ranked
from worker.querying.template_groups import TemplateGroup

MOST_TEMPLATES = 64
"""Tried in the order of the whole index, whatever the filters."""
MOST_NEAR = 1_024
"""Tried in that order at most, while at least half of those that are tried have lines."""
_GROWTH = 4
MOST_BLOCKS = 1_000
"""Newest blocks whose templates are looked at when it is turned round."""
_NO_TEXT = TemplateText("")
"""Of a template that is found without reading its text."""


class _Page(NamedTuple):
    """Templates to be tried together."""

    hits: Sequence[TemplateHit]
    complete: bool
    """Whether no bound has left anything out up to here."""


def rank_by_meaning(index: Index, vector: Vector, bounds: SearchBounds, first: Sequence[TemplateHit] | None = None) -> Ranking:
    """Return the nearest templates; `first` are the nearest templates of all, if they are read already. Raises SinkBusy."""
    nearest_first = _NearestFirst(index, vector, bounds)
    complete = is_all_read = True
    for page in nearest_first.pages(first):
        if bounds.deadline_passed():
            return Ranking(nearest_first.ranked, complete=False)
        is_all_read = nearest_first.try_page(page) and is_all_read
        if bounds.is_met_by(nearest_first.ranked):
            return Ranking(nearest_first.ranked, is_all_read)
        complete = page.complete
    return Ranking(nearest_first.ranked, complete and is_all_read)


class _NearestFirst:
    """Templates in the order of their distance, each tried once, read only when they are asked for.

    Thread: one.
    """

    def __init__(self, index: Index, vector: Vector, bounds: SearchBounds) -> None:
        self.ranked: list[RankedTemplate] = []
        """Those that have lines."""
        self._index = index
        self._vector = vector
        self._bounds = bounds
        self._asked = 0
        """Templates whose lines were looked for."""

    def try_page(self, page: _Page) -> bool:
        """Add those that have lines; returns whether all was read. Raises SinkBusy."""
        hits = of_open_families(self._index, page.hits, self._bounds.full_families(self.ranked))
        found = with_lines(self._index, hits, self._bounds)
        self._asked += len(hits)
        self.ranked += found.templates
        return found.complete

    def pages(self, first: Sequence[TemplateHit] | None) -> Iterator[_Page]:
        """Yield templates, nearest first. The first page is as small as may do."""
        index, bounds = self._index, self._bounds
        if bounds.templates is not None:
            hits = near_among(index.sink, self._vector, sorted(bounds.templates))
            yield from (_Page(hits[start : start + MOST_TEMPLATES], complete=True) for start in range(0, len(hits), MOST_TEMPLATES))
            return
        wanted = max(MOST_TEMPLATES, bounds.k) if bounds.deep else bounds.k
        near = self._nearest(wanted) if first is None else list(first)
        yield _Page(near[:wanted], complete=True)
        if first is None and len(near) < wanted:
            return
        limit = at_once = max(MOST_TEMPLATES, wanted)
        tried = {hit.template for hit in near[:wanted]}
        while True:
            near = near if len(near) >= limit else self._nearest(limit)
            yield _Page([hit for hit in near if hit.template not in tried], complete=True)
            tried |= {hit.template for hit in near}
            if len(near) < limit:
                return
            if limit >= MOST_NEAR or 2 * len(self.ranked) < self._asked:
                break
            limit *= _GROWTH
        yield from self._turned_round(tried, at_once)

    def _nearest(self, limit: int) -> list[TemplateHit]:
        return nearest_but(self._index.sink, self._vector, limit, self._bounds.only.not_templates)

    def _turned_round(self, tried: set[TemplateId], at_once: int) -> Iterator[_Page]:
        index, bounds = self._index, self._bounds
        there = index.reader.newest_templates(bounds.only, most_blocks=MOST_BLOCKS, deadline_passed=bounds.deadline_passed)
        others = [TemplateHit(template, 0.0, _NO_TEXT) for template in there.templates if template not in tried]
        left = of_open_families(index, others, bounds.full_families(self.ranked))
        hits = near_among(index.sink, self._vector, [hit.template for hit in left])
        for start in range(0, max(len(hits), 1), at_once):
            yield _Page(hits[start : start + at_once], there.complete)


def of_open_families(index: Index, hits: Sequence[TemplateHit], full: Collection[str]) -> Sequence[TemplateHit]:
    """Return the templates that may show more lines: those of another family than these, and those of a family not known yet."""
    if not full:
        return hits
    groups = _known_groups(index, hits)
    return [hit for hit in hits if (group := groups.get(hit.template)) is None or group.family not in full]


def nearest_but(sink: Sink, vector: Vector, limit: int, unwanted: Collection[TemplateId]) -> list[TemplateHit]:
    """Return the nearest `limit` templates that are not `unwanted`, nearest first; fewer only where there are no more.

    What is excluded is mostly near, so as many more are read at first; then up to all of them, as far as a sink goes.
    """
    wanted = limit + min(len(unwanted), limit)
    while True:
        near = sink.templates.nearest(vector[None], wanted)[0]
        found = [hit for hit in near if hit.template not in unwanted]
        if len(found) >= limit or len(near) < wanted or wanted >= limit + len(unwanted):
            return found[:limit]
        wanted = min(wanted * _GROWTH, limit + len(unwanted))


def near_among(sink: Sink, vector: Vector, templates: Collection[TemplateId]) -> list[TemplateHit]:
    """Rank these templates, nearest first; one whose vector is not there (yet) is left out."""
    vectors = sink.templates.vectors(templates) if templates else {}
    found = list(vectors)
    scores = np.stack([vectors[template] for template in found]) @ vector if found else np.empty(0, np.float32)
    order = np.argsort(-scores, kind="stable")
    return [TemplateHit(found[place], float(scores[place]), _NO_TEXT) for place in order.tolist()]


def with_lines(index: Index, hits: Sequence[TemplateHit], bounds: SearchBounds) -> Ranking:
    """Return those of some templates that have lines under the filters, in their order, each with its newest lines. Raises SinkBusy.

    If lines are read last, all templates are returned, without lines.
    """
    if not hits:
        return Ranking([], complete=True)
    if bounds.reads_lines_last:
        return Ranking(_without_lines(index, hits), complete=True)
    templates = [hit.template for hit in hits]
    found = index.reader.newest_lines(templates, bounds.per_template, bounds.only, deadline_passed=bounds.deadline_passed)
    shown = [(hit.template, hit.score, found.lines[hit.template]) for hit in hits if found.lines.get(hit.template)]
    return Ranking(ranked(index, shown), found.complete)


def _without_lines(index: Index, hits: Sequence[TemplateHit]) -> list[RankedTemplate]:
    """Return templates with their families, which are read if they are not known; one that has been removed is left out."""
    groups = _known_groups(index, hits)
    unknown = [hit.template for hit in hits if hit.template not in groups]
    if unknown:
        groups |= index.templates.groups_of(index.sink.templates.texts(unknown))
    return [RankedTemplate(hit.template, hit.score, [], groups[hit.template].family) for hit in hits if hit.template in groups]


def _known_groups(index: Index, hits: Sequence[TemplateHit]) -> dict[TemplateId, TemplateGroup]:
    """Return the groups of those templates that were met before or come with their text; reads nothing."""
    groups = index.templates.known_groups([hit.template for hit in hits])
    return groups | index.templates.groups_of({hit.template: hit.text for hit in hits if hit.text and hit.template not in groups})
