"""Keeps the models of the embedding service in memory, within a budget, and leases them to requests.

A request never waits here: `ask` calls back at once if the model is ready, else later on the pool's loader thread. The rules are in
`worker.embedding.pool.pool_states`; this module has the threads. One loader thread does all that takes time, a second one refuses those
who have waited too long, because the first may be in the middle of a load.
"""

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from worker.embedding.model.errors import ModelError, WrongVectors
from worker.embedding.pool.lease import Lease, PoolRefused
from worker.embedding.pool.model_facts import ModelFacts
from worker.embedding.pool.pool_states import FAILED_WAIT_S, PoolStates, PoolStep
from worker.runtime.fair_lock import FairLock
from worker.runtime.stage import Crash, Stage
from worker.settings.serve_tables import ServedModelTable

T = TypeVar("T")
R = TypeVar("R")

_LOAD_FAILS: Final = (ModelError, OSError, RuntimeError, ValueError, MemoryError)
"""What a broken model may raise: it must not take the others with it."""
_MB: Final = 1_000_000


class ModelSource(Protocol[T]):
    """Where the pool has its models from.

    Thread: one at a time: main in `ModelPool.start`, then the loader's.
    """

    def version(self, model: ServedModelTable) -> str:
        """Return what differs once the model's files have changed. Raises OSError."""

    def size_bytes(self, model: ServedModelTable) -> int:
        """Return the bytes that the model takes when it is loaded, as well as that is known. May prepare it. Raises ModelError."""

    def load(self, model: ServedModelTable, slot: FairLock) -> tuple[T, int]:
        """Load and check a model that computes only while it holds `slot`; returns it and the bytes that it takes.

        Raises ModelError, WrongVectors.
        """

    def close(self, loaded: T) -> None:
        """Give back the model's memory; nobody uses it any more."""


class _Waiter(NamedTuple, Generic[T]):
    """Whoever has asked for a model: exactly one of the two is called."""

    take: Callable[[Lease[T]], None]
    refuse: Callable[[PoolRefused], None]


class ModelPool(Generic[T]):
    """A leased model is never closed, and models that are loaded are together within the budget.

    Thread: any; it has two of its own.
    """

    def __init__(
        self,
        models: Sequence[ServedModelTable],
        source: ModelSource[T],
        *,
        budget_bytes: int,
        load_wait_s: float,
        on_crash: Crash,
        say: Callable[[str], None] = lambda _line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`say` takes a line whenever a model was loaded, was unloaded or cannot be loaded."""
        self.slot = FairLock()
        """Held by whichever model computes: engines that share the cores would each slow the other down by more than taking turns does."""
        self._tables = {table.name: table for table in models}
        self._source = source
        self._budget_bytes = budget_bytes
        self._say = say
        self._clock = clock
        self._changed = threading.Condition()
        self._states: PoolStates[_Waiter[T]] = PoolStates(models, budget_bytes=budget_bytes, load_wait_s=load_wait_s)
        self._loaded: dict[str, T] = {}
        self._wrong: dict[str, tuple[str, str]] = {}
        """Models whose vectors are wrong: the version of their files, and the error."""
        self._stages = [Stage("model-load", self._run_steps, on_crash), Stage("model-wait", self._run_deadlines, on_crash)]

    def start(self) -> None:
        """Load the pinned models, then begin to load what is asked for. Raises ModelError, after which nothing is loaded."""
        try:
            for pinned in [table for table in self._tables.values() if table.pin]:
                self._load_pinned(pinned)
        except ModelError:
            for loaded in self._loaded.values():
                self._source.close(loaded)
            raise
        for stage in self._stages:
            stage.start()

    def ask(self, name: str, take: Callable[[Lease[T]], None], refuse: Callable[[PoolRefused], None]) -> None:
        """Lease a model: calls `take` before it returns if the model is ready, else `take` or `refuse` later, on a thread of the pool.

        Never waits. Raises KeyError for a name that is not configured.
        """
        waiter = _Waiter(take, refuse)
        with self._changed:
            answer = self._states.ask(name, waiter, self._clock())
            if answer == "waiting":
                self._changed.notify_all()
        if answer == "leased":
            take(self._lease(name))
        elif isinstance(answer, PoolRefused):
            refuse(answer)

    def facts(self) -> dict[str, ModelFacts]:
        """Return what each model is now, in the order of the settings."""
        with self._changed:
            return self._states.facts()

    def close(self, within_s: float) -> None:
        """Refuse whoever waits and close the models as their leases end, those that are leased for longer than `within_s` not at all."""
        until_s = time.monotonic() + within_s
        with self._changed:
            refused = self._states.end()
            self._changed.notify_all()
        _refuse(refused)
        for stage in self._stages:
            if stage.is_alive():
                stage.join(max(until_s - time.monotonic(), 0.0))

    def _load_pinned(self, pinned: ServedModelTable) -> None:
        self._check_budget(self._states.held_bytes + self._source.size_bytes(pinned))
        self._loaded[pinned.name], size_bytes = self._source.load(pinned, self.slot)
        self._states.loaded(pinned.name, size_bytes, self._clock())
        self._check_budget(self._states.held_bytes)

    def _check_budget(self, pinned_bytes: int) -> None:
        if pinned_bytes > self._budget_bytes:
            raise ModelError(f"the pinned models take {_shown(pinned_bytes)}; serve.memory_bytes is {_shown(self._budget_bytes)}")

    def _release(self, name: str) -> None:
        with self._changed:
            self._states.release(name, self._clock())
            if not self._states.is_calm:
                self._changed.notify_all()

    def _lease(self, name: str) -> Lease[T]:
        return Lease(name, self._loaded[name], partial(self._release, name))

    def _run_steps(self) -> None:
        """The loader thread."""
        while (step := self._next_step()) is not None:
            if step.kind == "close":
                self._close(step.name)
                continue
            table = self._tables[step.name]
            try:
                if step.kind == "size":
                    self._size(table)
                else:
                    self._load(table)
            except _LOAD_FAILS as error:
                self._fail(table.name, str(error) or type(error).__name__)

    def _next_step(self) -> PoolStep | None:
        with self._changed:
            while True:
                now_s = self._clock()
                step = self._states.next_step(now_s)
                if step is not None or self._states.has_ended:
                    return step
                change_s = self._states.next_change_s(now_s)
                self._changed.wait(None if change_s is None else change_s - now_s)

    def _size(self, table: ServedModelTable) -> None:
        version, error = self._wrong.get(table.name, ("", ""))
        if error and self._source.version(table) == version:
            raise WrongVectors(error)
        size_bytes = self._source.size_bytes(table)
        _refuse(self._note(partial(self._states.sized, table.name, size_bytes)))

    def _load(self, table: ServedModelTable) -> None:
        started_s, version = self._clock(), self._source.version(table)
        try:
            self._loaded[table.name], size_bytes = self._source.load(table, self.slot)
        except WrongVectors as error:
            self._wrong[table.name] = version, str(error)
            raise
        self._wrong.pop(table.name, None)
        waiters = self._note(partial(self._states.loaded, table.name, size_bytes))
        self._say(f"model {table.name} is loaded: {_shown(size_bytes)}, {self._clock() - started_s:.1f} s")
        for waiter in waiters:
            waiter.take(self._lease(table.name))

    def _fail(self, name: str, error: str) -> None:
        refused = self._note(partial(self._states.failed, name, error))
        self._say(f"model {name} cannot be loaded: {error}; it is tried again in {FAILED_WAIT_S:g} s at the earliest, when it is asked for")
        _refuse(refused)

    def _close(self, name: str) -> None:
        self._source.close(self._loaded.pop(name))
        self._note(lambda _now_s: self._states.closed(name))
        self._say(f"model {name} is unloaded; it is loaded again when it is asked for")

    def _note(self, outcome: Callable[[float], R]) -> R:
        """Report the outcome of a step, and wake both threads."""
        with self._changed:
            noted = outcome(self._clock())
            self._changed.notify_all()
        return noted

    def _run_deadlines(self) -> None:
        """The thread that refuses those who have waited too long."""
        while True:
            with self._changed:
                now_s = self._clock()
                refused = self._states.expire(now_s)
                if not refused:
                    if self._states.has_ended:
                        return
                    deadline_s = self._states.next_deadline_s()
                    self._changed.wait(None if deadline_s is None else deadline_s - now_s)
            _refuse(refused)


def _refuse(refused: "list[tuple[_Waiter[T], PoolRefused]]") -> None:
    for waiter, why in refused:
        waiter.refuse(why)


def _shown(size_bytes: int) -> str:
    return f"{size_bytes / _MB:,.0f} MB"
