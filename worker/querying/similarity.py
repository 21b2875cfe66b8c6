"""How well templates fit a question: the cosine, and whether that is strong, weak or none in the model's space.

`search` and the listings ask for it once templates are ranked, because what a ranking adds up says nothing to a person. What was measured
of the model decides (`worker.embedding.model.nearness`); without that there are cosines alone, and nothing is refused. A line that has
every word of the question, an identifier or a phrase of it, is never "none".
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final, Literal, NamedTuple

from sinks.row import Vector
from sinks.sink import TemplateHit
from worker.asking.question import Query
from worker.embedding.model.nearness import Cuts
from worker.querying.query_words import words_of
from worker.querying.ranking import Index, RankedTemplate

_COUNTED_SHARE: Final = 0.75
Strength = Literal["strong", "weak", "none"]


class Fit(NamedTuple):
    """How well something fits a question.

    Thread: any.
    """

    score: float
    """The cosine of the question and the template, -1 … 1; without a vector, its BM25 score."""
    strength: Strength | None = None
    """What the cosine means; None where that was not measured."""
    is_literal: bool = False
    """Whether a line has every word of the question, or an identifier of it."""


class Similarities:
    """Judges what one question found.

    Thread: one.
    """

    def __init__(self, index: Index, vector: Vector | None, query: Query, near: Iterable[TemplateHit] = ()) -> None:
        """`near`: templates whose cosine is known."""
        self._index = index
        self._vector = vector
        self._words = words_of(query.text or "")
        self._has_phrases = bool(query.filters.phrases)
        self._cosines = {hit.template: hit.score for hit in near}
        self.cuts: Cuts | None = None if vector is None or index.nearness is None else index.nearness.cuts(vector)

    def read(self, templates: Iterable[RankedTemplate]) -> None:
        """Read the cosines of these templates at once. Raises SinkBusy."""
        unread = {one.template for one in templates} - self._cosines.keys()
        if self._vector is not None and unread:
            vectors = self._index.vectors.vectors(unread)
            self._cosines |= {template: float(vector @ self._vector) for template, vector in vectors.items()}

    def fit_of(self, template: RankedTemplate, text: str = "") -> Fit | None:
        """Return how well a template fits whose cosine was read; None if its vector is gone. `text`: if it comes without lines."""
        if self._vector is None:
            return Fit(template.score)
        if (cosine := self._cosines.get(template.template)) is None:
            return None
        texts = {text, *(part for line in template.lines for part in (line.template_text, line.text or ""))}
        is_literal = any(self._words.share_in(text) == 1 or self._words.identifiers_in(text) for text in texts)
        return Fit(cosine, self._strength(cosine, is_literal=is_literal), is_literal)

    def are_counted(self, fits: Sequence[Fit | None]) -> list[bool]:
        """Return which of what was found is counted: what has all words, and what is close and hardly farther than the nearest.

        Nearness is measured from what has nothing to do with the question, because models differ in where that is. Where it was not
        measured all is counted, and where the question has phrases: what was found has them.
        """
        if self.cuts is None or self._has_phrases:
            return [True] * len(fits)
        floor, best = self.cuts.floor, max((fit.score for fit in fits if fit is not None), default=0.0)
        least = max(self.cuts.near, floor + _COUNTED_SHARE * (best - floor))
        return [fit is not None and (fit.is_literal or fit.score >= least) for fit in fits]

    def _strength(self, cosine: float, *, is_literal: bool) -> Strength | None:
        if self.cuts is None:
            return None
        if cosine >= self.cuts.strong:
            return "strong"
        return "weak" if cosine >= self.cuts.near or is_literal or self._has_phrases else "none"


def is_nothing_close(fits: Collection[Fit | None]) -> bool:
    """Whether nothing that was found has to do with the question; False where that is not known, or nothing was found."""
    return bool(fits) and all(fit is not None and fit.strength == "none" for fit in fits)
