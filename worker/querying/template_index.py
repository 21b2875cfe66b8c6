"""The words of all templates: which templates share words with a text, best first (BM25), and which hold an identifier.

Where the sink itself ranks by words (a Milvus server from 2.5 on), it is asked. Elsewhere the templates' texts are read once, a page
at a time, and ranked here; templates are few. They are read again when their number has changed, but never so often that reading
takes more than a small share of the time. Removed ones stay until there are many: they have no lines, so no search shows them.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.sink import Sink, TemplateHit
from worker.querying.words import Identifier, Words, terms_of

MOST_TEMPLATES = 100_000
"""Of more, the rest are not found by words that are ranked here."""
MOST_HOLDING = 1_000
"""Templates that hold one identifier."""
_PAGE = 10_000
_REST = 20
"""After reading, templates are not read again for this many times as long as it took."""
_AGAIN_S = 300.0
"""After that they are read again, whatever their number."""
_SATURATION, _LENGTH_SHARE = 1.5, 0.75
"""Constants of BM25, k1 and b (Robertson and Zaragoza 2009)."""
_PART = re.compile(r"\w+")


class TemplatesFound(NamedTuple):
    """Templates that have words of a text."""

    hits: list[TemplateHit]
    """Best first."""
    complete: bool
    """False when a bound or the deadline left some out."""


class TemplateIndex:
    """Finds templates by their words, on every backend.

    Thread: one.
    """

    def __init__(self, sink: Sink, clock: Callable[[], float], *, most: int = MOST_TEMPLATES) -> None:
        self._sink = sink
        self._clock = clock
        self._most = most
        self._known: set[str] = set()
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._postings = _Postings()
        self._after = ""
        """Where reading goes on if it was cut short."""
        self._seen = 0
        """Templates read so far, from the first on."""
        self._counted: int | None = None
        """How many templates there were when all had been read; None: some are to be read."""
        self._read_again_s = -np.inf
        self._outdated_s = -np.inf

    def matching(self, words: Words, limit: int, deadline_passed: Callable[[], bool]) -> TemplatesFound:
        """Return at most `limit` templates that share words with a text, best first. Raises SinkBusy."""
        if not words.text:
            return TemplatesFound([], complete=True)
        if self._sink.has_bm25:
            hits = self._sink.matching_templates(words.text, limit)
            return TemplatesFound(hits, complete=len(hits) < limit)
        is_all = self._read(deadline_passed)
        scores = self._postings.scores(words.terms)
        found = np.flatnonzero(scores)
        best = found[np.argsort(-scores[found], kind="stable")]
        hits = [self._hit(place, float(scores[place])) for place in best[:limit].tolist()]
        return TemplatesFound(hits, is_all and len(best) <= limit)

    def holding(self, identifier: Identifier, deadline_passed: Callable[[], bool]) -> TemplatesFound:
        """Return the templates whose text has an identifier whole, at most `MOST_HOLDING`. Raises SinkBusy."""
        if self._sink.has_bm25:
            hits = self._sink.matching_templates(identifier.text, MOST_HOLDING)
            is_all = len(hits) < MOST_HOLDING
        else:
            is_all = self._read(deadline_passed)
            hits = [self._hit(place, 0.0) for place in self._postings.with_all(terms_of(identifier.text)).tolist()]
        held = [hit for hit in hits if identifier.is_in(hit.text)]
        return TemplatesFound(held[:MOST_HOLDING], is_all and len(held) <= MOST_HOLDING)

    def _hit(self, place: int, score: float) -> TemplateHit:
        return TemplateHit(self._ids[place], score, self._texts[place])

    def _read(self, deadline_passed: Callable[[], bool]) -> bool:
        """Read templates that are not known yet; returns whether all are known."""
        started_s = self._clock()
        if started_s < self._read_again_s:
            return len(self._ids) < self._most
        count = self._sink.counts().templates
        if count == self._counted and started_s < self._outdated_s:
            return len(self._ids) < self._most
        if self._counted is not None:  # a new round
            self._after, self._seen, self._counted = "", 0, None
            if len(self._ids) > 2 * count + _PAGE:
                self._known, self._ids, self._texts, self._postings = set(), [], [], _Postings()
        while len(self._ids) < self._most:
            page = self._sink.all_templates(self._after, _PAGE)
            self._add(page)
            if len(page) < _PAGE:
                break
            if deadline_passed():
                return False
        ended_s = self._clock()
        self._counted = count if self._seen >= count or len(self._ids) >= self._most else -1  # a very new one may not be seen yet
        self._read_again_s = ended_s + _REST * (ended_s - started_s)
        self._outdated_s = ended_s + _AGAIN_S
        return len(self._ids) < self._most

    def _add(self, page: Sequence[tuple[str, str]]) -> None:
        new = [(template, text) for template, text in page if template not in self._known][: self._most - len(self._ids)]
        self._known.update(template for template, _ in new)
        self._ids += [template for template, _ in new]
        self._texts += [text for _, text in new]
        self._postings.add(text for _, text in new)
        self._seen += len(page)
        self._after = page[-1][0] if page else self._after


class _Postings:
    """Which texts have which terms, and how often.

    Thread: one.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        """Of terms."""
        self._terms = array("i")
        self._texts = array("i")
        """Term and text of every occurrence."""
        self._lengths = array("i")
        """Terms of each text."""
        self._starts = np.zeros(1, np.int64)
        self._sorted = np.empty(0, np.int32)
        """Texts by term: those of term t are from starts[t] to starts[t + 1], ascending, repeated for every occurrence."""

    def add(self, texts: Iterable[str]) -> None:
        numbers = self._numbers
        for text in texts:
            terms = [numbers.setdefault(term, len(numbers)) for term in _PART.findall(text.lower())]
            self._terms.extend(terms)
            self._texts.extend([len(self._lengths)] * len(terms))
            self._lengths.append(len(terms))

    def scores(self, terms: Iterable[str]) -> NDArray[np.float64]:
        """Return the BM25 score of every text, 0 where it has none of the terms."""
        self._sort()
        lengths = np.frombuffer(self._lengths, np.int32) if self._lengths else np.empty(0, np.int32)
        scores = np.zeros(len(lengths))
        norm = 1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths / max(float(lengths.mean()) if len(lengths) else 0.0, 1.0)
        for term in sorted(terms):
            texts, times = np.unique(self._with(term), return_counts=True)
            rarity = np.log(1 + (len(lengths) - len(texts) + 0.5) / (len(texts) + 0.5))
            scores[texts] += rarity * times * (_SATURATION + 1) / (times + _SATURATION * norm[texts])
        return scores

    def with_all(self, terms: Iterable[str]) -> NDArray[np.int32]:
        """Return the texts that have all of the terms, ascending."""
        self._sort()
        found: NDArray[np.int32] | None = None
        for term in terms:
            texts = np.unique(self._with(term))
            found = texts if found is None else np.intersect1d(found, texts, assume_unique=True)
        return np.empty(0, np.int32) if found is None else found

    def _with(self, term: str) -> NDArray[np.int32]:
        number = self._numbers.get(term)
        return self._sorted[:0] if number is None else self._sorted[self._starts[number] : self._starts[number + 1]]

    def _sort(self) -> None:
        if len(self._sorted) == len(self._terms):
            return
        terms = np.frombuffer(self._terms, np.int32)
        self._sorted = np.frombuffer(self._texts, np.int32)[np.argsort(terms, kind="stable")]
        self._starts = np.searchsorted(np.sort(terms), np.arange(len(self._numbers) + 1))
