"""Whether a worker is alive and whether it is ready. Pure: it reads what others record and never waits.

Alive is about this process only: would a restart help? It never depends on Kafka, the index or Redis, because a supervisor that restarts
workers while Milvus is down makes the outage worse. Ready is about the dependencies, each by name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from worker.watching.probe import Probe

_MOST_GAP_SHARE: Final = 1 / 3
"""Of `kafka.max_poll_interval_s`, after which Kafka takes the partitions from a consumer that does not poll."""
_LEAST_GAP_S: Final = 10.0
ENGINE_DOWN: Final = "a new engine is being loaded"
DEGRADING: Final = ("redis", "registry")
"""Dependencies without which the worker goes on: slower, or but for records whose schemas it does not know yet."""

Phase = Literal["starting", "running", "stopping"]
"""A worker is running once the index is open and polling has begun."""


class PollingLoop(Protocol):
    """A poller, as far as health reads it."""

    last_poll_s: float

    def has_joined(self, now_s: float) -> bool:
        """Return whether its group has assigned partitions, possibly none."""


class RunningStage(Protocol):
    """A stage, as far as health reads it."""

    name: str

    def is_alive(self) -> bool:
        """Return whether its thread runs."""


class HealthVerdict(NamedTuple):
    """The content of a page."""

    status: str
    """`alive` or `dead`; `ready`, `degraded` or `not_ready`."""
    checks: Mapping[str, str]
    """Each check by name: `ok`, or what is wrong in one line."""

    @property
    def is_good(self) -> bool:
        """Whether the page answers 200."""
        return self.status in ("alive", "ready", "degraded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Every verdict is computed when it is asked for.

    Thread: any.
    """

    pollers: Mapping[str, PollingLoop]
    stages: Sequence[RunningStage]
    probes: Sequence[Probe]
    phase: Callable[[], Phase]
    """What the worker does now."""
    engine_is_up: Callable[[], bool]
    max_poll_interval_s: float
    clock: Callable[[], float]

    def alive(self) -> HealthVerdict:
        """Return whether the poll loops and the stages run; always alive while the worker starts or stops."""
        phase = self.phase()
        if phase != "running":
            return HealthVerdict("alive", {"worker": phase})
        now_s = self.clock()
        most_gap_s = max(self.max_poll_interval_s * _MOST_GAP_SHARE, _LEAST_GAP_S)
        checks = {}
        for name, poller in self.pollers.items():
            gap_s = now_s - poller.last_poll_s
            checks[f"poller-{name}"] = "ok" if gap_s <= most_gap_s else f"has not polled for {gap_s:.0f} s"
        for stage in self.stages:
            checks.setdefault(stage.name, "ok" if stage.is_alive() else "has ended")
        return HealthVerdict("alive" if set(checks.values()) == {"ok"} else "dead", checks)

    def ready(self) -> HealthVerdict:
        """Return whether lines are indexed and queries answered now, and if not, what is missing."""
        checks = {probe.name: probe.error_line() or "ok" for probe in self.probes}
        phase = self.phase()
        if phase == "starting":
            checks["index"] = checks["index"] if checks["index"] != "ok" else "not open yet"
        checks["engine"] = "ok" if self.engine_is_up() else ENGINE_DOWN
        have_joined = all(poller.has_joined(self.clock()) for poller in self.pollers.values())
        checks["assignment"] = "ok" if have_joined else "waiting for the groups to assign partitions"
        if phase == "stopping":
            checks["worker"] = phase
        bad = {name for name, result in checks.items() if result != "ok"}
        return HealthVerdict("not_ready" if bad - set(DEGRADING) else "degraded" if bad else "ready", checks)
