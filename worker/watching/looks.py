"""What this process knew of itself in the last minutes: looks at its own samples, and functions over them.

`worker.watching.judges` asks. The functions are those of PromQL with one difference: a look is exact and none is missing, so nothing
is extrapolated to the ends of a window. Pure: time is passed in.
"""

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from worker.runtime.histogram import HistogramSnapshot
from worker.watching.metrics import METRICS, Sample

APART_S: Final = 15.0
"""Between two looks that are kept; the last one is as new as the last call."""
KEPT_S: Final = 615.0
"""The longest window of a condition, and one look more."""
LABELS: Final[Mapping[str, tuple[str, ...]]] = {
    **{metric.name: metric.labels for metric in METRICS},
    **{f"{metric.name}_bucket": (*metric.labels, "le") for metric in METRICS if metric.type == "histogram"},
}

Labels = tuple[tuple[str, str], ...]
"""Names and values, in the order of the metric's labels."""


class Look(NamedTuple):
    """All values at one moment."""

    at_s: float
    """On the monotonic clock."""
    values: Mapping[str, Mapping[tuple[str, ...], float]]
    """By metric, then by the values of its labels."""


Points = Sequence[tuple[float, float]]
"""Seconds and values, oldest first; never empty."""


def look_of(samples: Iterable[Sample], at_s: float, metrics: frozenset[str]) -> Look:
    """Return the values of these metrics; a histogram's are in its name with `_bucket`."""
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for metric, value, labels in samples:
        if isinstance(value, HistogramSnapshot):
            if (name := f"{metric.name}_bucket") in metrics:
                values.setdefault(name, {}).update({(*labels, _bound(bound)): float(count) for bound, count in value.buckets})
        elif metric.name in metrics:
            values.setdefault(metric.name, {})[labels] = value
    return Look(at_s, values)


class Looks:
    """Looks of the last `KEPT_S`, oldest first.

    Thread: one at a time.
    """

    def __init__(self, started_s: float) -> None:
        """`started_s` is when the process began: its counters were 0 then."""
        self._started_s = started_s
        self._looks: deque[Look] = deque()

    def add(self, look: Look) -> None:
        """Take a look, the newest; it replaces the last one if that was only taken in between."""
        looks = self._looks
        if len(looks) > 1 and looks[-1].at_s - looks[-2].at_s < APART_S:
            looks.pop()
        looks.append(look)
        while look.at_s - looks[0].at_s > KEPT_S:
            looks.popleft()

    @property
    def now_s(self) -> float:
        """When the last look was taken."""
        return self._looks[-1].at_s

    def now(self, metric: str, **where: str) -> dict[Labels, float]:
        """Return the current value of each series; `where` are values of labels that it must have."""
        return {labels: points[-1][1] for labels, points in self.within(metric, 0.0, **where).items()}

    def within(self, metric: str, window_s: float, **where: str) -> dict[Labels, Points]:
        """Return the points of each series that is there now, not older than `window_s`."""
        if not self._looks:
            return {}
        first_s = self.now_s - window_s
        looks = [(look.at_s, look.values.get(metric, {})) for look in self._looks if look.at_s >= first_s]
        found: dict[Labels, Points] = {}
        for key in looks[-1][1]:
            labels = tuple(zip(LABELS[metric], key, strict=True))
            if not where or where.items() <= dict(labels).items():
                found[labels] = [(at_s, values[key]) for at_s, values in looks if key in values]
        return found

    def increase(self, metric: str, window_s: float, **where: str) -> dict[Labels, float]:
        """Return by how much each counter grew; of a process that is younger than the window, its whole value."""
        is_young = self.now_s - self._started_s < window_s
        return {labels: points[-1][1] if is_young else grown(points) for labels, points in self.within(metric, window_s, **where).items()}


def by(names: Sequence[str], values: Mapping[Labels, float], pick: Callable[[Iterable[float]], float] = sum) -> dict[Labels, float]:
    """Return the values of each group of series that have the same labels of these names: their sum, or what `pick` makes of them."""
    groups: dict[Labels, list[float]] = {}
    for labels, value in values.items():
        groups.setdefault(tuple(pair for pair in labels if pair[0] in names), []).append(value)
    return {labels: pick(group) for labels, group in groups.items()}


def grown(points: Points) -> float:
    """Return by how much a counter grew; one that went back began at 0 again."""
    steps = itertools.pairwise(points)
    return sum(after - before if after >= before else after for (_, before), (_, after) in steps)


def changes(points: Points) -> int:
    """Return how often the value changed."""
    return sum(before != after for (_, before), (_, after) in itertools.pairwise(points))


def resets(points: Points) -> int:
    """Return how often the value went down."""
    return sum(after < before for (_, before), (_, after) in itertools.pairwise(points))


def slope(points: Points) -> float:
    """Return the change per second by least squares; 0 for one point."""
    if len(points) < 2:  # noqa: PLR2004 - a line has two points
        return 0.0
    at_s, values = np.array(points).T
    away_s = at_s - at_s.mean()
    return float((away_s * (values - values.mean())).sum() / (away_s**2).sum())


def quantile(share: float, buckets: Iterable[tuple[float, float]]) -> float | None:
    """Return the value below which this share of what was counted lies, as `histogram_quantile` does; None if nothing was.

    `buckets` are upper bounds, the last one infinite, each with the number of values up to it.
    """
    ordered = sorted(buckets)
    if not ordered or ordered[-1][1] <= 0:
        return None
    rank = share * ordered[-1][1]
    lower, below = 0.0, 0.0
    for bound, count in ordered:
        if count >= rank and count > 0:
            if math.isinf(bound):
                return lower
            return lower + (bound - lower) * (rank - below) / (count - below) if count > below else bound
        lower, below = bound, count
    return lower


def bucket_counts(counts: Mapping[Labels, float]) -> list[tuple[float, float]]:
    """Return the bounds and counts of the series of one histogram."""
    return [(float(dict(labels)["le"]), count) for labels, count in counts.items()]


def _bound(bound: float) -> str:
    return "+Inf" if math.isinf(bound) else f"{bound:g}"
