"""Two questions about a worker: does it live, and is it ready. Pure: it reads what others note, and waits for nobody.

Alive is about this process alone: whether a restart would help. It never depends on Kafka, the index or Redis: a supervisor that restarts
workers because Milvus is away makes an outage worse. Ready is about what the worker stands on, by name.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from worker.observability.probe import Probe

_MOST_GAP_SHARE: Final = 1 / 3
"""Of the time after which Kafka takes the partitions away from a consumer that does not poll."""
_LEAST_GAP_S: Final = 10.0
DEGRADING: Final = ("redis",)
"""What the worker goes on without, only slower."""


Phase = Literal["starting", "running", "stopping"]
"""A worker runs once the index was opened and polling has begun."""


class PollingLoop(Protocol):
    """A poller, as far as it is looked at."""

    last_poll_s: float


class RunningStage(Protocol):
    """A stage, as far as it is looked at."""

    name: str

    def is_alive(self) -> bool:
        """Return whether its thread runs."""


class Verdict(NamedTuple):
    """What a page says."""

    status: str
    """`alive` or `dead`; `ready`, `degraded` or `not_ready`."""
    checks: Mapping[str, str]
    """What was looked at, each `ok` or what is wrong, in one line."""

    @property
    def is_good(self) -> bool:
        """Whether whoever asks may count on this worker."""
        return self.status in ("alive", "ready", "degraded")


class Health:
    """What it says is of now.

    Thread: any.
    """

    def __init__(
        self,
        *,
        pollers: Mapping[str, PollingLoop],
        stages: Sequence[RunningStage],
        probes: Sequence[Probe],
        phase: Callable[[], Phase],
        engine_is_up: Callable[[], bool],
        has_joined: Callable[[], bool],
        max_poll_interval_s: float,
        clock: Callable[[], float],
    ) -> None:
        """`has_joined`: both groups have given us our partitions, or none."""
        self._pollers = pollers
        self._stages = stages
        self._probes = probes
        self._phase = phase
        self._engine_is_up = engine_is_up
        self._has_joined = has_joined
        self._most_gap_s = max(max_poll_interval_s * _MOST_GAP_SHARE, _LEAST_GAP_S)
        self._clock = clock

    def alive(self) -> Verdict:
        """Say whether the poll loops and the stages run; while it starts or stops there is nothing to complain about."""
        phase = self._phase()
        if phase != "running":
            return Verdict("alive", {"worker": phase})
        now_s = self._clock()
        checks = {}
        for name, poller in self._pollers.items():
            gap_s = now_s - poller.last_poll_s
            checks[f"poller-{name}"] = "ok" if gap_s <= self._most_gap_s else f"has not polled for {gap_s:.0f} s"
        for stage in self._stages:
            checks.setdefault(stage.name, "ok" if stage.is_alive() else "has ended")
        return Verdict("alive" if set(checks.values()) == {"ok"} else "dead", checks)

    def ready(self) -> Verdict:
        """Say whether lines are indexed and queries answered now, and if not, for what it waits."""
        checks = {probe.name: probe.complaint() or "ok" for probe in self._probes}
        phase = self._phase()
        if phase == "starting":
            checks["index"] = checks["index"] if checks["index"] != "ok" else "not open yet"
        checks["engine"] = "ok" if self._engine_is_up() else "being made anew"
        checks["assignment"] = "ok" if self._has_joined() else "waiting for the groups to assign partitions"
        if phase == "stopping":
            checks["worker"] = phase
        bad = {name for name, said in checks.items() if said != "ok"}
        return Verdict("not_ready" if bad - set(DEGRADING) else "degraded" if bad else "ready", checks)
