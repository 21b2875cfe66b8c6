"""What is known of all templates: which share words with a text, best first (BM25), which hold an identifier, which are of a family.

Templates are few, so they are read once, a page at a time: by whoever asks first, or before that, while nobody asks. Where the sink
itself ranks by words (a Milvus server from 2.5 on), it is asked for them, and only the groups of the templates are remembered here. They
are read again when their number has changed, but never so often that reading takes more than a small share of the time. Removed ones stay
until there are many: they have no lines, so no search shows them.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sinks.row import TemplateId, TemplateText
from sinks.sink import TemplateHit, TemplateView
from worker.querying.postings import Postings
from worker.querying.query_words import Identifier, Words, terms_of
from worker.querying.template_groups import MOST_REMEMBERED, TemplateGroup, TemplateGroups

MOST_TEMPLATES = 100_000
"""Of more, the rest are not found by words that are ranked here."""
MOST_HOLDING = 1_000
"""Templates that hold one identifier."""
_PAGE = 10_000
_WHOLE_PAGE = 250_000
"""Where every page costs as much as all of them."""
_SERVER_PAGE = 2_000
"""A page that only groups are wanted of is short, because a search that needs none waits for it."""
_REST = 20
"""After reading, templates are not read again for this many times as long as it took."""
_SERVER_REST_S = 1.0
"""A server is not asked more often how many templates there are: that is a query of its own."""
_AGAIN_S = 300.0
"""After that they are read again, whatever their number."""


class TemplatesFound(NamedTuple):
    """Templates that have words of a text."""

    hits: list[TemplateHit]
    """Best first."""
    complete: bool
    """False when a bound or the deadline left some out."""


class Members(NamedTuple):
    """Templates of some families."""

    templates: list[TemplateId]
    """Ascending."""
    complete: bool
    """False when a bound or the deadline left some out."""


class TemplateIndex:
    """Finds templates by their words and by their families, on every backend.

    Thread: one.
    """

    def __init__(
        self,
        templates: Callable[[], TemplateView],
        clock: Callable[[], float],
        groups: TemplateGroups | None = None,
        *,
        most: int = MOST_TEMPLATES,
    ) -> None:
        """`templates` returns the view to read, which may be another one at the next call, of the same templates.

        `groups`: of the templates; their families, if not given.
        """
        self._templates = templates
        self._clock = clock
        self._groups = TemplateGroups() if groups is None else groups
        self._most = most
        self._known: set[TemplateId] = set()
        self._ids: list[TemplateId] = []
        self._texts: list[TemplateText] = []
        self._postings = Postings()
        self._after = ""
        """Where reading goes on."""
        self._seen = 0
        """Templates read in this round, from the first on."""
        self._at_end = False
        """Whether this round has read the last template."""
        self._counted = -1
        """How many templates there were when those that were wanted had been read; -1: some were not seen."""
        self._is_behind = True
        self._read_again_s = -np.inf
        self._outdated_s = -np.inf

    def matching(self, words: Words, limit: int, deadline_passed: Callable[[], bool]) -> TemplatesFound:
        """Return at most `limit` templates that share words with a text, best first. Raises SinkBusy."""
        if not words.text:
            return TemplatesFound([], complete=True)
        if self._view.capabilities.ranks_words:
            hits = self._view.matching(words.text, limit)
            return TemplatesFound(hits, complete=len(hits) < limit)
        is_all = self._read_words(deadline_passed)
        scores = self._postings.scores(words.terms)
        found = np.flatnonzero(scores)
        best = found[np.argsort(-scores[found], kind="stable")]
        hits = [self._hit(place, float(scores[place])) for place in best[:limit].tolist()]
        return TemplatesFound(hits, is_all and len(best) <= limit)

    def holding(self, identifier: Identifier, deadline_passed: Callable[[], bool]) -> TemplatesFound:
        """Return the templates whose text has an identifier whole, at most `MOST_HOLDING`. Raises SinkBusy."""
        if self._view.capabilities.ranks_words:
            hits = self._view.matching(identifier.text, MOST_HOLDING)
            is_all = len(hits) < MOST_HOLDING
        else:
            is_all = self._read_words(deadline_passed)
            hits = [self._hit(place, 0.0) for place in self._postings.with_all(terms_of(identifier.text)).tolist()]
        held = [hit for hit in hits if identifier.is_in(hit.text)]
        return TemplatesFound(held[:MOST_HOLDING], is_all and len(held) <= MOST_HOLDING)

    def members(self, families: Collection[str], deadline_passed: Callable[[], bool]) -> Members:
        """Return the stored templates of some families. Raises SinkBusy."""
        is_all = self._read(MOST_REMEMBERED, deadline_passed)
        self._is_behind = not is_all and not self._groups.is_full
        return Members(self._groups.members(families), is_all and not self._groups.is_full)

    @property
    def is_behind(self) -> bool:
        """Whether the templates have not been read yet, or families were asked for before all had been read."""
        return self._is_behind

    def read_on(self) -> None:
        """Read some more of the templates whose families were asked for. Raises SinkBusy."""
        self._is_behind = False  # whatever happens: the next question for families says so again
        self._is_behind = not self._read(MOST_REMEMBERED, lambda: True) and not self._groups.is_full

    def known_groups(self, templates: Collection[TemplateId]) -> dict[TemplateId, TemplateGroup]:
        """Return the groups of those of some templates that were met before; reads nothing."""
        return self._groups.find(templates)

    @property
    def groups(self) -> TemplateGroups:
        """What is remembered of templates' groups."""
        return self._groups

    def groups_of(self, texts: Mapping[TemplateId, TemplateText]) -> dict[TemplateId, TemplateGroup]:
        """Return the group of each template; reads nothing."""
        return self._groups.learn(texts)

    @property
    def _view(self) -> TemplateView:
        return self._templates()

    def _hit(self, place: int, score: float) -> TemplateHit:
        return TemplateHit(self._ids[place], score, self._texts[place])

    def _read_words(self, deadline_passed: Callable[[], bool]) -> bool:
        """Read templates whose words are not known yet; returns whether all are known."""
        is_all = self._read(self._most, deadline_passed)
        return is_all and len(self._ids) < self._most

    def _read(self, most: int, deadline_passed: Callable[[], bool]) -> bool:
        """Read templates that are not known yet, as long as there are at most `most`; returns whether all are known."""
        started_s = self._clock()
        if self._has_read(most):
            if started_s < self._read_again_s:
                return self._at_end
            count = self._view.count()
            if started_s < self._outdated_s and (count == self._counted or not self._at_end):
                self._read_again_s = max(self._read_again_s, started_s + self._least_rest_s)
                return self._at_end  # a round that goes on for another question ends first
            self._begin_round(count)
        else:
            count = self._view.count()
        able = self._view.capabilities
        size = _WHOLE_PAGE if able.scans else _SERVER_PAGE if able.ranks_words else _PAGE
        while not self._has_read(most):
            page = self._view.all_above(self._after, size)
            self._add(page)
            self._at_end = len(page) < size
            if not self._has_read(most) and deadline_passed():
                return False
        ended_s = self._clock()
        self._counted = count if self._seen >= min(count, most) else -1  # a very new one may not be seen yet
        self._read_again_s = ended_s + max(_REST * (ended_s - started_s), self._least_rest_s)
        self._outdated_s = ended_s + _AGAIN_S
        return self._at_end

    @property
    def _least_rest_s(self) -> float:
        return _SERVER_REST_S if self._view.capabilities.ranks_words else 0.0

    def _has_read(self, most: int) -> bool:
        return self._at_end or self._seen >= most

    def _begin_round(self, count: int) -> None:
        """Read from the first template on, of `count` that there are now."""
        self._after, self._seen, self._at_end = "", 0, False
        if max(len(self._ids), self._groups.size) > 2 * count + _PAGE:
            self._known, self._ids, self._texts, self._postings = set(), [], [], Postings()
            self._groups.forget()

    def _add(self, page: Sequence[tuple[TemplateId, TemplateText]]) -> None:
        self._groups.learn(dict(page))
        if not self._view.capabilities.ranks_words:
            new = [(template, text) for template, text in page if template not in self._known][: self._most - len(self._ids)]
            self._known.update(template for template, _ in new)
            self._ids += [template for template, _ in new]
            self._texts += [text for _, text in new]
            self._postings.add(text for _, text in new)
        self._seen += len(page)
        self._after = page[-1][0] if page else self._after
