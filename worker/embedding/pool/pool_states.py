"""What each model of the pool is and what is done next, without threads, models or a clock of its own.

`worker.embedding.pool.model_pool` asks it under a lock and does on its loader thread what it says. Rules:

1. A model is absent, loading, ready, draining or failed. Only a ready one is leased; of a draining one the last leases end.
2. One step is in hand at a time: finding out a model's size, loading it, or closing it. So a model is never loaded twice at once, and what
   a load adds to the process's memory can be measured. Ready models are leased meanwhile.
3. Sizes of models that are loading, ready or draining together are within the budget. A load may turn out larger than was known: then
   others go as soon as they may.
4. A model is closed only while it is draining and has no lease. It goes for another one if it is not pinned and was loaded `MIN_STAY_S`
   ago, so that two models that take turns do not spend all their time loading; idle ones first (`worker.embedding.pool.victims`).
5. Models are loaded in the order in which they were first asked for; one that waits for room is not overtaken, or a large one would wait
   for ever. Half of `load_wait_s` later models that are leased all the time drain for it, too.
6. Who waits longer than `load_wait_s` is refused. A load that failed is not tried again for `FAILED_WAIT_S`.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, NamedTuple, TypeVar

from worker.embedding.pool.lease import PoolRefused
from worker.embedding.pool.model_facts import ModelFacts, ModelState
from worker.embedding.pool.victims import Evictable, choose_victims
from worker.settings.serve_tables import ServedModelTable

W = TypeVar("W")
"""Whoever waits for a model."""

MIN_STAY_S: Final = 5.0
FAILED_WAIT_S: Final = 30.0
_BUSY_RETRY_S: Final = 5.0
_MB: Final = 1_000_000


class PoolStep(NamedTuple):
    """What is done next; its outcome is reported before the next one is asked for."""

    kind: Literal["size", "load", "close"]
    """Reported by `sized`, `loaded` and `closed`; the first two by `failed` instead if they do."""
    name: str


@dataclass(slots=True)
class _Model(Generic[W]):
    table: ServedModelTable
    state: ModelState = "absent"
    size_bytes: int | None = None
    """Estimated, or measured once it was loaded; None: not known."""
    leases: int = 0
    ready_s: float = 0.0
    """When it was loaded."""
    used_s: float = 0.0
    """When a lease last began or ended."""
    retry_s: float = 0.0
    """When a failed one may be tried again."""
    error: str = ""
    waiting: deque[tuple[float, W]] = field(default_factory=deque)
    """Since when, and who; in order of arrival."""
    loads: int = 0
    failed_loads: int = 0
    evictions: int = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of the budget that it takes."""
        return (self.size_bytes or 0) if self.state in ("loading", "ready", "draining") else 0


class PoolStates(Generic[W]):
    """See the rules above. Times are seconds of one monotonic clock.

    Thread: one at a time, under its owner's lock.
    """

    def __init__(self, models: Sequence[ServedModelTable], *, budget_bytes: int, load_wait_s: float) -> None:
        self._models: dict[str, _Model[W]] = {table.name: _Model(table) for table in models}
        self._budget_bytes = budget_bytes
        self._load_wait_s = load_wait_s
        self._is_ending = False

    def ask(self, name: str, waiter: W, now_s: float) -> Literal["leased", "waiting"] | PoolRefused:
        """Lease a ready model, or let `waiter` wait until a step or `expire` returns it. Raises KeyError for an unknown name."""
        model = self._models[name]
        if self._is_ending:
            return PoolRefused(name, "the worker is stopping", _BUSY_RETRY_S)
        if model.state == "ready":
            self._lease(model, now_s)
            return "leased"
        if model.state == "failed" and now_s < model.retry_s:
            return PoolRefused(name, model.error, model.retry_s - now_s)
        model.waiting.append((now_s, waiter))
        return "waiting"

    def release(self, name: str, now_s: float) -> None:
        """End a lease."""
        model = self._models[name]
        model.leases -= 1
        model.used_s = now_s

    def next_step(self, now_s: float) -> PoolStep | None:
        """Return what is done next; None: nothing until something else is called, or until `next_change_s`."""
        first = self._first_wanted()
        if first is not None and first.size_bytes is None:
            first.state = "loading"
            return PoolStep("size", first.table.name)
        self._drain(first, now_s)
        for name, model in self._models.items():
            if model.state == "draining" and not model.leases:
                return PoolStep("close", name)
        if first is not None and self.held_bytes + (first.size_bytes or 0) <= self._budget_bytes:
            first.state = "loading"
            return PoolStep("load", first.table.name)
        return None

    def sized(self, name: str, size_bytes: int, now_s: float) -> list[tuple[W, PoolRefused]]:
        """Note how large a model is expected to be; returns who waited for one that can never find room."""
        model = self._models[name]
        room_bytes = self._budget_bytes - sum(one.size_bytes or 0 for one in self._models.values() if one.table.pin and one is not model)
        if size_bytes > room_bytes:
            needs = f"{name} needs {size_bytes / _MB:,.0f} MB of memory"
            return self.failed(name, f"{needs}; serve.memory_bytes leaves {room_bytes / _MB:,.0f} MB beside pinned models", now_s)
        model.state = "absent"
        model.size_bytes = size_bytes
        return []

    def loaded(self, name: str, size_bytes: int, now_s: float) -> list[W]:
        """Note that a model is ready, and its size; returns who waited for it: each has a lease now."""
        model = self._models[name]
        model.state = "draining" if self._is_ending else "ready"
        model.size_bytes = size_bytes
        model.error = ""
        model.loads += 1
        model.ready_s = model.used_s = now_s
        waited = [waiter for _since_s, waiter in model.waiting]
        model.waiting.clear()
        for _ in waited:
            self._lease(model, now_s)
        return waited

    def failed(self, name: str, error: str, now_s: float) -> list[tuple[W, PoolRefused]]:
        """Note why a model could not be loaded; returns who waited for it."""
        model = self._models[name]
        model.state = "failed"
        model.size_bytes = None
        model.error = error
        model.failed_loads += 1
        model.retry_s = now_s + FAILED_WAIT_S
        return self._refuse_all(model, PoolRefused(name, error, FAILED_WAIT_S))

    def closed(self, name: str) -> None:
        """Note that a draining model is gone."""
        self._models[name].state = "absent"

    def expire(self, now_s: float) -> list[tuple[W, PoolRefused]]:
        """Return who has waited too long and waits no more."""
        refused = []
        for name, model in self._models.items():
            while model.waiting and model.waiting[0][0] + self._load_wait_s <= now_s:
                reason = (
                    f"{name} is still being loaded" if model.state == "loading" else f"there is no room for {name}: other models are in use"
                )
                refused.append((model.waiting.popleft()[1], PoolRefused(name, reason, _BUSY_RETRY_S)))
        return refused

    def end(self) -> list[tuple[W, PoolRefused]]:
        """Let all models drain, and refuse whoever waits or comes later."""
        self._is_ending = True
        refused = []
        for name, model in self._models.items():
            if model.state == "ready":
                model.state = "draining"
            refused += self._refuse_all(model, PoolRefused(name, "the worker is stopping", _BUSY_RETRY_S))
        return refused

    def next_deadline_s(self) -> float | None:
        """Return when `expire` has somebody to return."""
        firsts = [model.waiting[0][0] + self._load_wait_s for model in self._models.values() if model.waiting]
        return min(firsts, default=None)

    def next_change_s(self, now_s: float) -> float | None:
        """Return when time alone may change what `next_step` returns: sums as there, since differences are rounded otherwise."""
        moments = []
        for model in self._models.values():
            if model.waiting:
                moments.append(model.waiting[0][0] + self._load_wait_s / 2)
            if model.state == "ready":
                moments.append(model.ready_s + MIN_STAY_S)
                if (idle_s := model.table.idle_s) is not None and not model.table.pin:
                    moments.append((now_s if model.leases else model.used_s) + idle_s)
        return min((moment for moment in moments if moment > now_s), default=None)

    @property
    def held_bytes(self) -> int:
        """Bytes of all models that are loading, ready or draining."""
        return sum(model.held_bytes for model in self._models.values())

    @property
    def is_calm(self) -> bool:
        """Whether the end of a lease changes nothing but when its model may go."""
        draining = any(model.waiting or model.state == "draining" for model in self._models.values())
        return not draining and self.held_bytes <= self._budget_bytes

    @property
    def has_ended(self) -> bool:
        """Whether, after `end`, no model is left."""
        return self._is_ending and all(model.state in ("absent", "failed") for model in self._models.values())

    def facts(self) -> dict[str, ModelFacts]:
        """Return what each model is."""
        return {
            name: ModelFacts(
                state=model.state,
                size_bytes=model.held_bytes,
                leases=model.leases,
                waiting=len(model.waiting),
                loads=model.loads,
                failed_loads=model.failed_loads,
                evictions=model.evictions,
                error=model.error,
            )
            for name, model in self._models.items()
        }

    def _first_wanted(self) -> _Model[W] | None:
        """Return the model that is loaded next: the one that has been waited for the longest."""
        wanted = (model for model in self._models.values() if model.waiting and model.state in ("absent", "failed"))
        return min(wanted, key=lambda model: model.waiting[0][0], default=None)

    def _drain(self, first: _Model[W] | None, now_s: float) -> None:
        """Let models drain that are idle for too long, or in the way of the model that is loaded next."""
        for model in self._ready():
            if not model.leases and model.table.idle_s is not None and now_s >= model.used_s + model.table.idle_s:
                model.state = "draining"
        staying_bytes = sum(model.held_bytes for model in self._models.values() if model.state != "draining")
        needed_bytes = staying_bytes - self._budget_bytes + (0 if first is None else first.size_bytes or 0)
        if needed_bytes <= 0:
            return
        may_go = [model for model in self._ready() if now_s >= model.ready_s + MIN_STAY_S]
        victims = _victims((model for model in may_go if not model.leases), needed_bytes)
        if not victims and first is not None and now_s >= first.waiting[0][0] + self._load_wait_s / 2:
            victims = _victims(may_go, needed_bytes)
        for name in victims:
            self._models[name].state = "draining"
            self._models[name].evictions += 1

    def _ready(self) -> list[_Model[W]]:
        """Return the ready models that are not pinned."""
        return [model for model in self._models.values() if model.state == "ready" and not model.table.pin]

    @staticmethod
    def _lease(model: _Model[W], now_s: float) -> None:
        model.leases += 1
        model.used_s = now_s

    @staticmethod
    def _refuse_all(model: _Model[W], refused: PoolRefused) -> list[tuple[W, PoolRefused]]:
        waited = [(waiter, refused) for _since_s, waiter in model.waiting]
        model.waiting.clear()
        return waited


def _victims(models: "Iterable[_Model[W]]", needed_bytes: int) -> list[str]:
    return choose_victims([Evictable(model.table.name, model.held_bytes, model.used_s) for model in models], needed_bytes)
