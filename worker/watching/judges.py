"""What each condition asks of this process's own looks: a worker knows the partitions and counters of its own process.

The table of `worker.watching.conditions` names a judge for each.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from worker.watching.looks import Labels, Looks, Points, bucket_counts, by, changes, grown, quantile, resets, slope
from worker.watching.outlook import STILL_S

Judge = Callable[[Looks], Mapping[Labels, float]]
"""Returns the labels and the value of each series for which a condition holds."""

_PARTITION: Final = ("topic", "partition")
_MINUTE_S: Final = 60.0
_RECENT_S: Final = 10 * _MINUTE_S
_BEHIND_S: Final = 300.0
LEAST_COSINE: Final = 0.998
"""Every engine and number format that was measured stays above."""


def growing_lag(looks: Looks) -> Mapping[Labels, float]:
    """More than 300 s behind, further behind than in the last ten minutes, and not about to be caught up within 300 s."""
    windows = looks.within("vectail_consumer_lag_seconds", _RECENT_S)
    growing = _where(windows, lambda points: points[-1][1] > _BEHIND_S and slope(points) > 0)
    drain_s = looks.now("vectail_consumer_drain_seconds")
    return {labels: seconds for labels, seconds in growing.items() if drain_s.get(labels, math.inf) > _BEHIND_S}


def stalled(looks: Looks) -> Mapping[Labels, float]:
    """There is lag, and the committed offset has not changed for two minutes."""
    moving = _where(looks.within("vectail_consumer_committed_offset", STILL_S), lambda points: changes(points) > 0)
    return {
        labels: records for labels, records in looks.now("vectail_consumer_lag_records").items() if records > 0 and labels not in moving
    }


def rewound(looks: Looks) -> Mapping[Labels, float]:
    """The committed offset went back in the last ten minutes."""
    return {
        labels: float(count)
        for labels, points in looks.within("vectail_consumer_committed_offset", _RECENT_S).items()
        if (count := resets(points))
    }


def passed_by_retention(looks: Looks) -> Mapping[Labels, float]:
    """The partition begins after the committed offset."""
    committed = looks.now("vectail_consumer_committed_offset")
    first = looks.now("vectail_consumer_first_offset")
    return {labels: offset for labels, offset in first.items() if labels in committed and offset > committed[labels]}


def paused(looks: Looks) -> Mapping[Labels, float]:
    """Partitions were paused at every look of the last five minutes."""
    windows = looks.within("vectail_paused_partitions", 5 * _MINUTE_S)
    least = {labels: min(value for _, value in points) for labels, points in windows.items()}
    return _above_0(by(["group"], least))


def counted_lately(metric: str, names: tuple[str, ...], **where: str) -> Judge:
    """Return a judge of a counter that grew in the last ten minutes."""

    def judge(looks: Looks) -> Mapping[Labels, float]:
        return _above_0(by(names, looks.increase(metric, _RECENT_S, **where)))

    return judge


def many_dead_letters(looks: Looks) -> Mapping[Labels, float]:
    """More than one settled record of a topic in a hundred became a dead letter in the last five minutes."""
    windows = looks.within("vectail_records_total", 5 * _MINUTE_S)
    settled = {labels: grown(points) for labels, points in windows.items() if dict(labels)["outcome"] not in ("revoked", "abandoned")}
    of_topic = by(["topic"], settled)
    rejected = by(["topic"], {labels: count for labels, count in settled.items() if dict(labels)["outcome"] == "dead_letter"})
    shares = {topic: count / of_topic[topic] for topic, count in rejected.items() if of_topic[topic] > 0}
    return {topic: share for topic, share in shares.items() if share > 0.01}  # noqa: PLR2004 - as the texts say


def slow_queries(looks: Looks) -> Mapping[Labels, float]:
    """One query in a hundred of the last five minutes took longer than a second."""
    windows = looks.within("vectail_query_seconds_bucket", 5 * _MINUTE_S, stage="total")
    p99_s = quantile(0.99, bucket_counts({labels: grown(points) for labels, points in windows.items()}))
    return {(): p99_s} if p99_s is not None and p99_s > 1 else {}


def much_waits_for_vectors(looks: Looks) -> Mapping[Labels, float]:
    """In the mean of the last five minutes more than half of what may wait for a model has waited."""
    limit_s = min(looks.now("vectail_serve_max_wait_seconds").values(), default=math.inf)
    windows = looks.within("vectail_serve_backlog_seconds", 5 * _MINUTE_S)
    means_s = {labels: sum(seconds for _, seconds in points) / len(points) for labels, points in windows.items()}
    return {labels: mean_s for labels, mean_s in means_s.items() if mean_s > limit_s / 2}


def wrong_vectors(looks: Looks) -> Mapping[Labels, float]:
    """A stored vector of the last sample is not the model's."""
    return {labels: worst for labels, worst in looks.now("vectail_vectors_worst_cosine").items() if worst < LEAST_COSINE}


def dependency_down(names: Iterable[str]) -> Judge:
    """Return a judge of these dependencies: one of them does not answer."""
    wanted = frozenset(names)

    def judge(looks: Looks) -> Mapping[Labels, float]:
        up = looks.now("vectail_dependency_up")
        return {labels: value for labels, value in up.items() if value == 0 and dict(labels)["dependency"] in wanted}

    return judge


def not_ready(looks: Looks) -> Mapping[Labels, float]:
    """`/readyz` says no."""
    return {labels: value for labels, value in looks.now("vectail_ready").items() if value == 0}


def _where(windows: Mapping[Labels, Points], holds: Callable[[Points], bool]) -> dict[Labels, float]:
    return {labels: points[-1][1] for labels, points in windows.items() if holds(points)}


def _above_0(values: Mapping[Labels, float]) -> dict[Labels, float]:
    return {labels: value for labels, value in values.items() if value > 0}
