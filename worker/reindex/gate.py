"""What a filled view must hold before it is asked: nothing is missing, its vectors are its model's, and it is not slower to search.

How much the neighbours of the two models overlap is only told: 0.3 to 0.4 is usual between good models, and no less when vectors of two
models are mixed up, so it tells nothing about right and wrong (`docs/models.md`).
"""

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.row import TemplateId, TemplateText
from sinks.sink import TemplateView
from worker.embedding.model.vectors import EmbeddingFailed
from worker.reindex.filling import EmbedsTemplates, first_missing

CONDITIONS: Final = ("complete", "vectors", "speed")
"""What can be waived, by name."""
LEAST_COSINE: Final = 0.998
_SAMPLE: Final = 500
_STRETCHES: Final = 20
_SEARCHES: Final = 40
_NEAREST: Final = 10
_MORE_TRIES: Final = 2
_SLOWER: Final = 2.0
_NOISE_S: Final = 0.01
"""So much longer is never slow: on a machine that does other things, one search in twenty is late by this."""
_LENGTH_ERROR: Final = 1e-3
_AT_ONCE: Final = 16


class GateFinding(NamedTuple):
    """One condition."""

    name: str
    is_met: bool
    found: str
    """A line for a person."""


def judge(
    old: TemplateView, new: TemplateView, model: EmbedsTemplates, clock: Callable[[], float]
) -> tuple[list[GateFinding], float | None]:
    """Return every condition, and the overlap of the ten nearest templates, 0 … 1; None without templates. Raises as the sink does."""
    sample = _sample(new)
    vectors = new.vectors([one for one, _ in sample])
    missing = first_missing(old, new)
    complete = GateFinding("complete", missing is None, "every template is there" if missing is None else f"template {missing} is missing")
    findings = [complete, _vectors(sample, vectors, model)]
    both = list(vectors)[:_SEARCHES]
    of_old = old.vectors(both)
    asked = [one for one in both if one in of_old]
    searched = partial(_searches, [of_old[one] for one in asked], [vectors[one] for one in asked], old, new, clock)
    speed, overlap = searched()
    for _ in range(_MORE_TRIES):  # other work on the machine is slow now and then, a slow view always is
        if not speed.is_met:
            speed, overlap = searched()
    return [*findings, speed], overlap


def _sample(view: TemplateView) -> list[tuple[TemplateId, TemplateText]]:
    """Return templates from all over the range of ids, which are hashes."""
    if view.capabilities.scans:
        every = view.all_above("", 250_000)
        step = max(len(every) // _SAMPLE, 1)
        return every[secrets.randbelow(step) :: step][:_SAMPLE]
    found: dict[TemplateId, TemplateText] = {}
    for stretch in range(_STRETCHES):
        start = f"{stretch * 256 // _STRETCHES:02x}{secrets.token_hex(15)}"
        found.update(view.all_above(start, _SAMPLE // _STRETCHES))
    return list(found.items()) or view.all_above("", _SAMPLE)


def _vectors(
    sample: Sequence[tuple[TemplateId, TemplateText]], stored: dict[TemplateId, NDArray[np.float32]], model: EmbedsTemplates
) -> GateFinding:
    """Embed a sample again."""
    worst, unusable = 1.0, 0
    for start in range(0, len(sample), _AT_ONCE):
        part = sample[start : start + _AT_ONCE]
        for (template, _), outcome in zip(part, model.embed([text for _, text in part]), strict=True):
            vector = stored.get(template)
            if vector is None or isinstance(outcome, EmbeddingFailed) or vector.shape != outcome.shape or not _is_unit(vector):
                unusable += 1
            else:
                worst = min(worst, float(vector @ outcome))
    told = f"{len(sample)} stored vectors were embedded again: worst cosine {worst:.5f}, at least {LEAST_COSINE}"
    told += f"; {unusable} are missing, or of another shape or length" if unusable else ""
    return GateFinding("vectors", worst >= LEAST_COSINE and not unusable, told)


def _searches(
    of_old: Sequence[NDArray[np.float32]],
    of_new: Sequence[NDArray[np.float32]],
    old: TemplateView,
    new: TemplateView,
    clock: Callable[[], float],
) -> tuple[GateFinding, float | None]:
    """Search both views for the same templates in turns."""
    if not of_old:
        return GateFinding("speed", True, "no template to search for"), None  # noqa: FBT003 - a named tuple's field
    old.nearest(of_old[0][None], _NEAREST)
    new.nearest(of_new[0][None], _NEAREST)
    took: tuple[list[float], list[float]] = ([], [])
    shared = 0.0
    for vectors in zip(of_old, of_new, strict=True):
        found = []
        for view, vector, seconds in zip((old, new), vectors, took, strict=True):
            started_s = clock()
            (hits,) = view.nearest(vector[None], _NEAREST)
            seconds.append(clock() - started_s)
            found.append({hit.template for hit in hits})
        shared += len(found[0] & found[1]) / max(len(found[0]), 1)
    before_s, after_s = (float(np.quantile(seconds, 0.95)) for seconds in took)
    told = f"p95 of {len(of_old)} searches: {after_s * 1e3:.1f} ms, before {before_s * 1e3:.1f} ms"
    return GateFinding("speed", after_s <= max(_SLOWER * before_s, before_s + _NOISE_S), told), shared / len(of_old)


def _is_unit(vector: NDArray[np.float32]) -> bool:
    return abs(float(np.linalg.norm(vector)) - 1) <= _LENGTH_ERROR
