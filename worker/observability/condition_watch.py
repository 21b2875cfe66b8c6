"""What a worker says about its own conditions: it looks at its samples every few seconds and asks each judge.

Conditions that one process cannot judge (`Condition.judge` is None) are left to Prometheus.
"""

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from worker.observability.conditions import CONDITIONS, Condition
from worker.observability.looks import Labels, Look, Looks, look_of
from worker.observability.metrics import Sample

LOOK_EVERY_S: Final = 5.0
WATCHED: Final = frozenset(
    {
        "vectail_cache_requests_total",
        "vectail_canary_total",
        "vectail_commits_total",
        "vectail_consumer_committed_offset",
        "vectail_consumer_first_offset",
        "vectail_consumer_lag_records",
        "vectail_consumer_lag_seconds",
        "vectail_dependency_up",
        "vectail_engine_busy_seconds_total",
        "vectail_engine_restarts_total",
        "vectail_expired_records_total",
        "vectail_paused_partitions",
        "vectail_query_seconds_bucket",
        "vectail_ready",
        "vectail_rebalances_total",
        "vectail_records_total",
        "vectail_searchable_seconds_bucket",
        "vectail_sink_lines_total",
    }
)
"""What the judges ask for, and what the rates of `/api/status` come from; nothing else is kept."""
_MOST_TOLD: Final = 3
_PLACE: Final = re.compile(r"\{\{ \$(?:labels\.(\w+)|value(?: \| (\w+))?) \}\}")


class Firing(NamedTuple):
    """One series for which a condition has held for long enough."""

    labels: Mapping[str, str]
    value: float
    since_s: float
    """Since when it holds, on the monotonic clock."""


class ConditionState(NamedTuple):
    """What is known of one condition."""

    condition: Condition
    firing: Sequence[Firing]
    """Empty: it is fine. Those that hold longest come first."""


class ConditionWatch:
    """A condition fires for a series once it has held at every look for as long as the rule says.

    Thread: `look` and `body` one; the rest from any.
    """

    def __init__(self, *, clock: Callable[[], float], every_s: float = LOOK_EVERY_S) -> None:
        self._clock = clock
        self._every_s = every_s
        self._stopped = threading.Event()
        self._read: Callable[[], Iterable[Sample]] | None = None
        self._lock = threading.Lock()
        self._looks = Looks(clock())
        self._since_s: list[dict[Labels, float]] = [{} for _ in CONDITIONS]
        self._states: Sequence[ConditionState] = [ConditionState(one, ()) for one in CONDITIONS if one.judge is not None]

    def watch(self, read_samples: Callable[[], Iterable[Sample]]) -> None:
        """Say what to look at; without it nothing is judged."""
        self._read = read_samples

    def body(self, after_each: Callable[[], None] = lambda: None) -> None:
        """Look until `stop`; `after_each` look something else may be done."""
        while not self._stopped.wait(self._every_s):
            if self._read is not None:
                with suppress(RuntimeError):  # a dictionary that grew while it was read: the next look sees it
                    self.look(look_of(self._read(), self._clock(), WATCHED))
            after_each()

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()

    def look(self, look: Look) -> None:
        """Judge all conditions by this look and those before it."""
        with self._lock:
            self._looks.add(look)
            states = []
            for number, condition in enumerate(CONDITIONS):
                if condition.judge is not None:
                    found = condition.judge(self._looks)
                    self._since_s[number] = since_s = {labels: self._since_s[number].get(labels, look.at_s) for labels in found}
                    firing = [
                        Firing(dict(labels), value, since_s[labels])
                        for labels, value in found.items()
                        if look.at_s - since_s[labels] >= condition.for_s
                    ]
                    states.append(ConditionState(condition, sorted(firing, key=lambda one: one.since_s)))
            self._states = states

    def states(self) -> Sequence[ConditionState]:
        """Return every condition that the worker judges, in the order of the table."""
        return self._states

    def rate(self, metric: str, now: float, at_s: float, *, window_s: float) -> float | None:
        """Return the growth of a counter per second, from its value of about `window_s` ago to `now`; None before the first look."""
        with self._lock:
            points = next(iter(self._looks.within(metric, window_s).values()), ())
        if not points or at_s <= points[0][0]:
            return None
        return max(now - points[0][1], 0.0) / (at_s - points[0][0])

    def first_buckets(self, metric: str, *, window_s: float) -> Mapping[Labels, float]:
        """Return the counts of a histogram without further labels as they were about `window_s` ago; empty before the first look."""
        with self._lock:
            return {labels: points[0][1] for labels, points in self._looks.within(f"{metric}_bucket", window_s).items()}


def summary_of(state: ConditionState, worker: str) -> str:
    """Return in one line what holds, or that nothing does."""
    if not state.firing:
        return state.condition.fine
    told = dict.fromkeys(text_for(state.condition.summary, one, worker) for one in state.firing)
    more = len(told) - _MOST_TOLD
    return "; ".join([*list(told)[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])])


def text_for(text: str, firing: Firing, worker: str) -> str:
    """Return a text of a condition with its labels and value in place, as Prometheus does; `worker` stands for `instance`."""

    def put(found: re.Match[str]) -> str:
        if found[1]:
            return worker if found[1] == "instance" else firing.labels.get(found[1], "")
        return _FORMATS[found[2] or ""](firing.value)

    return _PLACE.sub(put, text)


def _plain(value: float) -> str:
    return f"{value:.16g}"


def _duration(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 - a minute, and below it an hour and a day
        return f"{seconds:.4g}s"
    minutes, left_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h {minutes}m {left_s}s"
    return f"{hours}h {minutes}m {left_s}s" if hours else f"{minutes}m {left_s}s"


def _share(value: float) -> str:
    return f"{value * 100:.4g}%"


def _rounded(value: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


_FORMATS: Final[Mapping[str, Callable[[float], str]]] = {
    "": _plain,
    "humanizeDuration": _duration,
    "humanizePercentage": _share,
    "humanize": _rounded,
}
