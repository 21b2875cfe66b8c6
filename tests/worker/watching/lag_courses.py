"""Courses of a partition, simulated in steps of a tenth of a second, or recorded: what each look saw, and what came of it."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from worker.watching.lag_history import LagPoint
from worker.watching.outlook import KEEPS_UP_S

_STEP_S: Final = 0.1
_UNSTEADY: Final = 0.3
"""By how much rates differ from step to step, up or down."""


class Span(NamedTuple):
    """Rates in records a second, until a time."""

    until_s: float
    feed: float
    speed: float


class SeenLook(NamedTuple):
    """One look, and what is true of it."""

    point: LagPoint
    age_s: float
    left_s: float | None
    """Until no record waits for longer than `KEEPS_UP_S`; None: not within the course."""


class LagCourse(NamedTuple):
    """What a partition went through."""

    looks: Sequence[SeenLook]
    changes: Sequence[float]
    """When rates changed, in seconds."""
    step_s: float
    """A look, and the longer one of the steps in which records are produced and committed: nothing can be known more exactly."""


def simulated(
    *spans: Span, backlog: float = 0.0, look_s: float = 5.0, commit_s: float = 1.0, batch_s: float = 0.0, seed: int = 1
) -> LagCourse:
    """Return a course with rates that waver; commits and batches come in steps."""
    chance = random.Random(seed)
    produced: list[tuple[float, float]] = [(-600.0, 0.0), (-0.001, backlog)]
    seen: list[tuple[float, int, int]] = []
    looks: list[tuple[float, int, int]] = []
    end, read, committed, waiting = backlog, 0.0, 0.0, 0.0
    next_look_s, next_commit_s, next_batch_s, at_s = 0.0, commit_s, 0.0, 0.0
    while at_s < spans[-1].until_s:
        span = next(one for one in spans if at_s < one.until_s)
        waiting += span.feed * (1 + _UNSTEADY * chance.uniform(-1, 1)) * _STEP_S
        if at_s >= next_batch_s:
            end, waiting, next_batch_s = end + waiting, 0.0, at_s + batch_s
        produced.append((at_s, end))
        read = min(end, read + span.speed * (1 + _UNSTEADY * chance.uniform(-1, 1)) * _STEP_S)
        if at_s >= next_commit_s:
            committed, next_commit_s = read, at_s + commit_s
        seen.append((at_s, int(committed), int(end)))
        if at_s >= next_look_s:
            looks.append(seen[-1])
            next_look_s = at_s + look_s * (1 + 0.1 * chance.uniform(-1, 1))
        at_s += _STEP_S
    return LagCourse(_looks(looks, seen, produced), [one.until_s for one in spans[:-1]], look_s + max(commit_s, batch_s))


def recorded(looks: Sequence[tuple[float, int | None, int]], changes: Sequence[float]) -> LagCourse:
    """Return a course that was recorded: seconds, committed and end at each look."""
    return LagCourse(_looks(looks, looks, [(at_s, end) for at_s, _, end in looks]), changes, 6.0)


def _looks(
    looks: Sequence[tuple[float, int | None, int]], seen: Sequence[tuple[float, int | None, int]], produced: Sequence[tuple[float, float]]
) -> list[SeenLook]:
    made_s, ends = np.array(produced).T
    at_s = np.array([one[0] for one in seen])
    ages = [0.0 if (committed or 0) >= end else at - float(np.interp((committed or 0) + 1, ends, made_s)) for at, committed, end in seen]
    ready_s = at_s[np.array(ages) < KEEPS_UP_S]
    found = []
    for at, committed, end in looks:
        later = ready_s[np.searchsorted(ready_s, at) :]
        point = LagPoint(at, round(1000 * at), committed, end, end - (committed or 0))
        found.append(SeenLook(point, ages[int(np.searchsorted(at_s, at))], float(later[0] - at) if len(later) else None))
    return found
