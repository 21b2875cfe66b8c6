"""What a worker says about its own conditions: it looks at its samples every few seconds and asks each judge.

Conditions that one process cannot judge (`Condition.judge` is None) are left to Prometheus.
"""

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from worker.watching.conditions import CONDITIONS, Condition
from worker.watching.looks import Labels, Look, Looks, look_of
from worker.watching.metrics import CONDITION, Sample

LOOK_EVERY_S: Final = 5.0
WATCHED: Final = frozenset(
    {
        "vectail_cache_requests_total",
        "vectail_canary_total",
        "vectail_commits_total",
        "vectail_consumer_committed_offset",
        "vectail_consumer_drain_seconds",
        "vectail_consumer_first_offset",
        "vectail_consumer_lag_records",
        "vectail_consumer_lag_seconds",
        "vectail_dependency_up",
        "vectail_engine_busy_seconds_total",
        "vectail_engine_restarts_total",
        "vectail_expired_records_total",
        "vectail_model_loads_total",
        "vectail_paused_partitions",
        "vectail_query_seconds_bucket",
        "vectail_ready",
        "vectail_rebalances_total",
        "vectail_records_total",
        "vectail_searchable_seconds_bucket",
        "vectail_serve_backlog_seconds",
        "vectail_serve_max_wait_seconds",
        "vectail_sink_lines_total",
        "vectail_vectors_worst_cosine",
    }
)
"""What the judges ask for, and what the rates of `/api/status` come from; nothing else is kept."""
_MOST_TOLD: Final = 3
_PLACE: Final = re.compile(r"\{\{ \$labels\.(about|instance) \}\}")


class Firing(NamedTuple):
    """One series for which a condition has held for long enough."""

    about: str
    """What it is about, such as `logs/0`; empty: the worker."""
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
                        Firing(about_of(labels), since_s[labels]) for labels in found if look.at_s - since_s[labels] >= condition.for_s
                    ]
                    states.append(ConditionState(condition, sorted(firing, key=lambda one: one.since_s)))
            self._states = states

    def samples(self) -> Iterator[Sample]:
        """Return the values of the metric: 1 for what a condition that holds at the last look is about, for however long it does."""
        with self._lock:
            held = [(one, about_of(labels)) for one, since_s in zip(CONDITIONS, self._since_s, strict=True) for labels in since_s]
        for condition in dict.fromkeys((one.name, one.severity) for one in CONDITIONS if one.judge is not None):
            about = [what for one, what in held if (one.name, one.severity) == condition]
            yield from (Sample(CONDITION, 1, (*condition, what)) for what in about)
            if not about:
                yield Sample(CONDITION, 0, (*condition, ""))

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
    """Return a text of a condition with its labels in place, as Prometheus does; `worker` stands for `instance`."""
    return _PLACE.sub(lambda found: worker if found[1] == "instance" else firing.about, text)


def about_of(labels: Labels) -> str:
    """Return the labels of a series as one: `logs/0`."""
    return "/".join(value for _, value in labels)
