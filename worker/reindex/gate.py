"""What a filled view must hold before it is asked: nothing is missing, its vectors are its model's, and it is not slower to search.

How much the neighbours of the two models overlap is only told: 0.3 to 0.4 is usual between good models, and no less when vectors of two
models are mixed up, so it tells nothing about right and wrong (`docs/models.md`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.sink import TemplateView
from worker.inspecting.busy_retry import BusyRetry
from worker.inspecting.vector_audit import VectorAuditor, VectorReport
from worker.reindex.filling import EmbedsTemplates, missing_templates

CONDITIONS: Final = ("complete", "vectors", "speed")
"""What can be waived, by name."""
LEAST_COSINE: Final = 0.998
_SAMPLE: Final = 500
_SEARCHES: Final = 40
_NEAREST: Final = 10
_MORE_TRIES: Final = 2
_SLOWER: Final = 2.0
_NOISE_S: Final = 0.01
"""So much longer is never slow: on a machine that does other things, one search in twenty is late by this."""
_LENGTH_ERROR: Final = 1e-3


class GateFinding(NamedTuple):
    """One condition."""

    name: str
    is_met: bool
    found: str
    """A line for a person."""


Judgement = tuple[list[GateFinding], float | None]
"""Every condition, and the overlap of the ten nearest templates, 0 … 1; None without templates."""


def judge(
    old: TemplateView, new: TemplateView, model: EmbedsTemplates, busy_retry: BusyRetry, fill: Callable[[], bool]
) -> Judgement | None:
    """Judge a filled view; `fill` gives it what came since, and returns False if nobody wants it any more: then so does this, with None.

    Raises as the sink does.
    """
    missing = set(missing_templates(old, new))
    if missing:  # where lines come in, some always are: they came after the view was filled
        if not fill():
            return None
        missing = old.stored(missing) - new.stored(missing)
    found = f"template {min(missing)} is missing" if missing else "every template is there"
    complete = GateFinding("complete", not missing, found)
    first = [one for one, _ in old.all_above("", _SEARCHES)]  # ids are hashes, so any are as good
    of_old, of_new = old.vectors(first), new.vectors(first)
    report = VectorAuditor(view=new, busy_retry=busy_retry, embedder=model).compare_sample(_SAMPLE)
    vectors = _vectors(report, list(of_new.values()))
    both = [one for one in of_old if one in of_new]
    searched = partial(_searches, [of_old[one] for one in both], [of_new[one] for one in both], old, new, busy_retry.clock)
    speed, overlap = searched()
    for _ in range(_MORE_TRIES):  # other work on the machine is slow now and then, a slow view always is
        if not speed.is_met:
            speed, overlap = searched()
    return [complete, vectors, speed], overlap


def _vectors(report: VectorReport, some: Sequence[NDArray[np.float32]]) -> GateFinding:
    """Judge what was embedded again, and the length of some."""
    worst = 1.0 if report.worst_cosine is None else report.worst_cosine
    told = f"{report.templates} stored vectors were embedded again: worst cosine {worst:.5f}, at least {LEAST_COSINE}"
    uneven = sum(abs(float(np.linalg.norm(vector)) - 1) > _LENGTH_ERROR for vector in some)
    told += f"; {uneven} of {len(some)} are not of length 1" if uneven else ""
    return GateFinding("vectors", worst >= LEAST_COSINE and not uneven, told)


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
