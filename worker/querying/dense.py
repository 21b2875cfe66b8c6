"""Ranking by meaning: the templates nearest to the query's vector that have lines under the filters.

The nearest templates are tried first, a few dozen at most, and more of them where many are of few families; words may decide between the
first ones. Lines are read only of those that would be shown if each had one, then of those that move up. Under a filter that few lines
pass none of them may have one: then it is turned round, and the templates of the newest blocks that may hold such lines are ranked among
themselves. All of those are farther away than the ones tried before, so one ranking follows the other. A template of a family that has
all the lines it may show is passed over: a better one stands for it already.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sinks.row import TemplateId, TemplateText, Vector
from sinks.sink import TemplateHit, TemplateView
from worker.querying.hybrid import order_of
from worker.querying.query_words import Words
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


def rank_by_meaning(
    index: Index, vector: Vector, bounds: SearchBounds, first: Sequence[TemplateHit] | None = None, words: Words | None = None
) -> Ranking:
    """Return the nearest templates, with their cosines. Raises SinkBusy.

    `first`: the nearest `MOST_TEMPLATES` of all, if they are read already. `words` decide between those that are about equally near.
    """
    nearest_first = _NearestFirst(index, vector, bounds, words)
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

    def __init__(self, index: Index, vector: Vector, bounds: SearchBounds, words: Words | None) -> None:
        self.ranked: list[RankedTemplate] = []
        """Those that have lines, best first."""
        self._index = index
        self._vector = vector
        self._bounds = bounds
        self._words = words
        self._ranks: dict[TemplateId, int] = {}
        """Of all that were found, whether they are read or not."""
        self._asked = 0
        """Templates whose lines were looked for."""

    def try_page(self, page: _Page) -> bool:
        """Add those that have lines; returns whether all was read. Raises SinkBusy."""
        hits = of_open_families(self._index, page.hits, self._bounds.full_families(self.ranked))
        found = with_lines(self._index, hits, self._bounds)
        self._asked += len(hits)
        self.ranked = sorted([*self.ranked, *found.templates], key=lambda one: self._ranks[one.template])
        return found.complete

    def pages(self, first: Sequence[TemplateHit] | None) -> Iterator[_Page]:
        """Yield templates, best first; each page is as small as may do."""
        bounds = self._bounds
        if bounds.templates is not None:
            hits = near_among(self._index.vectors, self._vector, sorted(bounds.templates))
            yield from self._few_at_once(hits)
            return
        limit = at_once = max(MOST_TEMPLATES, bounds.k)
        near = self._nearest(limit) if first is None or bounds.k > MOST_TEMPLATES else list(first)
        yield from self._few_at_once(self._by_words_too(near))
        while len(near) >= limit and limit < MOST_NEAR and 2 * len(self.ranked) >= self._asked:
            limit *= _GROWTH
            near = self._nearest(limit)
            yield from self._few_at_once([hit for hit in near if hit.template not in self._ranks])
        if len(near) >= limit:
            yield from self._turned_round(at_once)

    def _by_words_too(self, near: Sequence[TemplateHit]) -> Sequence[TemplateHit]:
        """Return the nearest templates in the order of meaning and words, if words are looked at."""
        if self._words is None or not near:
            return near
        first, others = near[:MOST_TEMPLATES], near[MOST_TEMPLATES:]
        order = order_of(np.array([hit.score for hit in first], np.float32), [hit.text for hit in first], self._words)
        return [*(first[at] for at in order.tolist()), *others]

    def _few_at_once(self, hits: Sequence[TemplateHit]) -> Iterator[_Page]:
        """Yield those that would be shown if each had a line, then those that move up; all others where most have none."""
        self._rank(hits)
        left = list(hits)
        while left:
            page = left if 2 * len(self.ranked) < self._asked else self._would_be_shown(left)
            yield _Page(page, complete=True)
            done = {hit.template for hit in page}
            left = [hit for hit in left if hit.template not in done]

    def _would_be_shown(self, left: Sequence[TemplateHit]) -> list[TemplateHit]:
        """Return the first templates that make up what is missing, if each has a line."""
        groups = _known_groups(self._index, left)
        lines = self._bounds.lines_of_families(self.ranked)
        most = self._bounds.k if self._bounds.per_family is None else self._bounds.per_family
        missing = self._bounds.missing(self.ranked)
        page: list[TemplateHit] = []
        for hit in left:
            family = groups[hit.template].family if hit.template in groups else hit.template
            lines[family] += 1
            if lines[family] <= most:
                page.append(hit)
            if len(page) >= missing:
                break
        return page or list(left)

    def _rank(self, hits: Sequence[TemplateHit]) -> None:
        for hit in hits:
            self._ranks.setdefault(hit.template, len(self._ranks))

    def _nearest(self, limit: int) -> list[TemplateHit]:
        return nearest_but(self._index.vectors, self._vector, limit, self._bounds.only.not_templates)

    def _turned_round(self, at_once: int) -> Iterator[_Page]:
        index, bounds = self._index, self._bounds
        there = index.reader.newest_templates(bounds.only, most_blocks=MOST_BLOCKS, deadline_passed=bounds.deadline_passed)
        others = [TemplateHit(template, 0.0, _NO_TEXT) for template in there.templates if template not in self._ranks]
        left = of_open_families(index, others, bounds.full_families(self.ranked))
        hits = near_among(index.vectors, self._vector, [hit.template for hit in left])
        self._rank(hits)
        for start in range(0, max(len(hits), 1), at_once):
            yield _Page(hits[start : start + at_once], there.complete)


def of_open_families(index: Index, hits: Sequence[TemplateHit], full: Collection[str]) -> Sequence[TemplateHit]:
    """Return the templates that may show more lines: those of another family than these, and those of a family not known yet."""
    if not full:
        return hits
    groups = _known_groups(index, hits)
    return [hit for hit in hits if (group := groups.get(hit.template)) is None or group.family not in full]


def nearest_but(view: TemplateView, vector: Vector, limit: int, unwanted: Collection[TemplateId]) -> list[TemplateHit]:
    """Return the nearest `limit` templates that are not `unwanted`, nearest first; fewer only where there are no more.

    What is excluded is mostly near, so as many more are read at first; then up to all of them, as far as a sink goes.
    """
    wanted = limit + min(len(unwanted), limit)
    while True:
        near = view.nearest(vector[None], wanted)[0]
        found = [hit for hit in near if hit.template not in unwanted]
        if len(found) >= limit or len(near) < wanted or wanted >= limit + len(unwanted):
            return found[:limit]
        wanted = min(wanted * _GROWTH, limit + len(unwanted))


def near_among(view: TemplateView, vector: Vector, templates: Collection[TemplateId]) -> list[TemplateHit]:
    """Rank these templates, nearest first; one whose vector is not there (yet) is left out."""
    vectors = view.vectors(templates) if templates else {}
    found = list(vectors)
    scores = np.stack([vectors[template] for template in found]) @ vector if found else np.empty(0, np.float32)
    order = np.argsort(-scores, kind="stable")
    return [TemplateHit(found[place], float(scores[place]), _NO_TEXT) for place in order.tolist()]


def with_lines(index: Index, hits: Sequence[TemplateHit], bounds: SearchBounds) -> Ranking:
    """Return those of some templates that have lines under the filters, in their order, each with its newest lines. Raises SinkBusy."""
    if not hits:
        return Ranking([], complete=True)
    templates = [hit.template for hit in hits]
    found = index.reader.newest_lines(templates, bounds.per_template, bounds.only, deadline_passed=bounds.deadline_passed)
    shown = [(hit.template, hit.score, found.lines[hit.template]) for hit in hits if found.lines.get(hit.template)]
    return Ranking(ranked(index, shown), found.complete)


def _known_groups(index: Index, hits: Sequence[TemplateHit]) -> dict[TemplateId, TemplateGroup]:
    """Return the groups of those templates that were met before or come with their text; reads nothing."""
    groups = index.templates.known_groups([hit.template for hit in hits])
    return groups | index.templates.groups_of({hit.template: hit.text for hit in hits if hit.text and hit.template not in groups})
