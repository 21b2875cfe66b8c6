"""Compares stored vectors with those that the model gives for the same texts.

Needs the index and the model, and nothing of Kafka. A vector of another model, of a forged cache entry or of a damaged row is found by
nothing else: its lines are all there, and only search is wrong.

1. A sample is spread evenly over the range of the ids, which are hashes; where it begins is random, so that several runs see more.
2. A stored vector is the model's if their cosine is at least `LEAST_COSINE`. Number formats and engines stay above 0.998.
3. A template that disappears meanwhile, because it expired, is no problem.
"""

import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sinks.row import TemplateId, TemplateRow, TemplateText
from sinks.sink import TemplateView
from worker.embedding.model.vectors import EmbeddingFailed, Outcome
from worker.inspecting.busy_retry import BusyRetry

LEAST_COSINE = 0.99
"""Less is not the model's vector: rule 2."""
_ID_BITS = 128
_STRETCHES = 20
_AT_ONCE = 512
"""Bounds the vectors that are held."""


class EmbedsTexts(Protocol):
    """A model: `worker.inspecting.template_embedder` for tools, the worker's own while it runs."""

    def embed(self, texts: Sequence[TemplateText]) -> Iterable[Outcome]:
        """Return one outcome per text, in order."""


class WrongVector(NamedTuple):
    """A template whose stored vector is not the model's."""

    template: TemplateId
    text: TemplateText
    cosine: float | None
    """Of the stored vector with the model's; None: one of the two cannot be had."""
    detail: str
    repaired: bool


class VectorReport(NamedTuple):
    """What was compared."""

    templates: int
    wrong: list[WrongVector]
    worst_cosine: float | None = None
    """The smallest of all, 0 for a stored vector that cannot be used; None: none was compared."""

    @property
    def left(self) -> int:
        """How many are still wrong."""
        return sum(not one.repaired for one in self.wrong)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorAuditor:
    """What it reports as repaired is acknowledged.

    Thread: one.
    """

    view: TemplateView
    busy_retry: BusyRetry
    embedder: EmbedsTexts
    """Of the model whose vectors the view has."""
    random_bits: Callable[[int], int] = secrets.randbits

    def compare_sample(self, number: int, *, repair: bool = False) -> VectorReport:
        """Compare at most `number` templates; with `repair` write the model's vector where it is another one.

        Raises the sink's exceptions and EngineFailed.
        """
        sample = list(self._sample(number).items())
        parts = [self._compare(dict(sample[start : start + _AT_ONCE]), repair=repair) for start in range(0, len(sample), _AT_ONCE)]
        worst = min((part.worst_cosine for part in parts if part.worst_cosine is not None), default=None)
        return VectorReport(sum(part.templates for part in parts), [one for part in parts for one in part.wrong], worst)

    def _sample(self, number: int) -> dict[TemplateId, TemplateText]:
        """Return texts by id: all of them if there are no more than `number`."""
        first = self._above("", number + 1)
        if len(first) <= number:
            return dict(first)
        stretches = min(number, _STRETCHES)
        width = (1 << _ID_BITS) // stretches
        shift = self.random_bits(_ID_BITS) % width
        sample: dict[TemplateId, TemplateText] = {}
        for stretch in range(stretches):
            wanted = number * (stretch + 1) // stretches - number * stretch // stretches
            sample.update(self._above(f"{stretch * width + shift:032x}", wanted))
        return sample

    def _above(self, after: str, limit: int) -> list[tuple[TemplateId, TemplateText]]:
        return self.busy_retry.call(partial(self.view.all_above, after, limit))

    def _compare(self, texts: Mapping[TemplateId, TemplateText], *, repair: bool) -> VectorReport:
        stored = self.busy_retry.call(partial(self.view.vectors, texts.keys()))
        there = stored.keys() | self.busy_retry.call(partial(self.view.stored, texts.keys() - stored.keys()))
        outcomes = dict(zip(texts, self.embedder.embed(list(texts.values())), strict=True))
        wrong = [
            found
            for template, text in texts.items()
            if template in there and (found := _wrong(template, text, stored.get(template), outcomes[template])) is not None
        ]
        cosines = [
            _cosine(vector, outcome) if (vector := stored.get(template)) is not None else 0.0
            for template in there
            if not isinstance(outcome := outcomes[template], EmbeddingFailed)
        ]
        return VectorReport(len(there), self._repair(wrong, outcomes) if repair else wrong, min(cosines, default=None))

    def _repair(self, wrong: Sequence[WrongVector], outcomes: Mapping[TemplateId, Outcome]) -> list[WrongVector]:
        rows = [
            TemplateRow(one.template, vector, one.text)
            for one in wrong
            if not isinstance(vector := outcomes[one.template], EmbeddingFailed)
        ]
        if rows:
            self.busy_retry.call(partial(self.view.upsert, rows))
        written = {row.template for row in rows}
        return [one._replace(repaired=one.template in written) for one in wrong]


def _wrong(template: TemplateId, text: TemplateText, stored: NDArray[np.float32] | None, outcome: Outcome) -> WrongVector | None:
    if isinstance(outcome, EmbeddingFailed):
        return WrongVector(template, text, None, f"the model has no vector for its text: {outcome.reason}", repaired=False)
    if stored is None:
        return WrongVector(template, text, None, "its stored vector cannot be used", repaired=False)
    cosine = _cosine(stored, outcome)
    if cosine >= LEAST_COSINE:
        return None
    return WrongVector(template, text, cosine, f"its stored vector is not the model's (cosine {cosine:.4f})", repaired=False)


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """Return the cosine of two vectors; 0 if one of them is zero."""
    length = math.sqrt(float(np.dot(one, one)) * float(np.dot(other, other)))
    return float(np.dot(one, other)) / length if length else 0.0
