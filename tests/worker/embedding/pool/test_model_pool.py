"""The pool with real threads: who gets a model, who is refused, and what is closed when."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import pytest

from tests.worker.running import wait_until
from worker.embedding.model.errors import ModelError, WrongVectors
from worker.embedding.pool import pool_states
from worker.embedding.pool.lease import Lease, PoolRefused
from worker.embedding.pool.model_pool import ModelPool
from worker.embedding.pool.pool_states import FAILED_WAIT_S
from worker.runtime.fair_lock import FairLock
from worker.settings.serve_tables import ServedModelTable

T = TypeVar("T")
SIZE = 10
WAIT_S = 20.0


class Opened:
    """A loaded model of the fake source."""

    def __init__(self, name: str, slot: FairLock) -> None:
        self.name = name
        self.slot = slot
        self.is_open = True
        self.users = 0


class FakeSource:
    """Loads at once unless told otherwise; notes what was wrong about the calls.

    Thread: any.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.gate = threading.Event()
        """Loads wait for it."""
        self.gate.set()
        self.errors: dict[str, ModelError] = {}
        self.versions: dict[str, str] = {}
        self.loads: list[str] = []
        self.open: list[Opened] = []
        self.most_open = 0
        self.wrong: list[str] = []

    def version(self, model: ServedModelTable) -> str:
        return self.versions.get(model.name, "1")

    def size_bytes(self, model: ServedModelTable) -> int:
        return SIZE if model.name != "large" else 100 * SIZE

    def load(self, model: ServedModelTable, slot: FairLock) -> tuple[Opened, int]:
        self.loads.append(model.name)
        assert self.gate.wait(WAIT_S)
        if model.name in self.errors:
            raise self.errors[model.name]
        with self.lock:
            if any(one.name == model.name for one in self.open):
                self.wrong.append(f"{model.name} is loaded twice")
            opened = Opened(model.name, slot)
            self.open.append(opened)
            self.most_open = max(self.most_open, len(self.open))
        return opened, SIZE

    def close(self, loaded: Opened) -> None:
        with self.lock:
            if loaded.users:
                self.wrong.append(f"{loaded.name} is closed while it is used")
            loaded.is_open = False
            self.open.remove(loaded)


class Asker(Generic[T]):
    """Asks for one model and waits for the outcome."""

    def __init__(self, pool: ModelPool[T], name: str) -> None:
        self.lease: Lease[T] | None = None
        self.refused: PoolRefused | None = None
        self.thread = ""
        self._ended = threading.Event()
        pool.ask(name, self._take, self._refuse)

    def _take(self, lease: Lease[T]) -> None:
        assert not self._ended.is_set()
        self.thread = threading.current_thread().name
        self.lease = lease
        self._ended.set()

    def _refuse(self, refused: PoolRefused) -> None:
        assert not self._ended.is_set()
        self.refused = refused
        self._ended.set()

    @property
    def has_ended(self) -> bool:
        return self._ended.is_set()

    def leased(self) -> Lease[T]:
        assert self._ended.wait(WAIT_S)
        assert self.lease is not None, self.refused
        return self.lease

    def reason(self) -> str:
        assert self._ended.wait(WAIT_S)
        assert self.refused is not None
        return self.refused.reason


Open = Callable[..., ModelPool[Opened]]


@pytest.fixture
def source() -> FakeSource:
    return FakeSource()


@pytest.fixture
def open_pool(source: FakeSource) -> Iterator[Open]:
    """Start pools over the fake source; at the end nothing must have crashed or gone wrong."""
    pools: list[ModelPool[Opened]] = []
    crashes: list[Exception] = []

    def start(
        *models: str | ServedModelTable, room: int = 2, load_wait_s: float = WAIT_S, clock: Callable[[], float] = time.monotonic
    ) -> ModelPool[Opened]:
        tables = [table_of(model) if isinstance(model, str) else model for model in models]
        pool = ModelPool(
            tables,
            source,
            budget_bytes=room * SIZE,
            load_wait_s=load_wait_s,
            on_crash=lambda _name, error: crashes.append(error),
            clock=clock,
        )
        pool.start()
        pools.append(pool)
        return pool

    yield start
    source.gate.set()
    for pool in pools:
        pool.close(WAIT_S)
    assert crashes == []
    assert source.wrong == []
    assert source.open == []


def table_of(name: str, *, pin: bool = False, idle_s: float | None = None) -> ServedModelTable:
    return ServedModelTable(name=name, folder=Path("/models") / name, pin=pin, idle_s=idle_s)


def test_many_threads_get_what_they_ask_for_within_the_budget(open_pool: Open, source: FakeSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_states, "MIN_STAY_S", 0.0)
    names, asks, slots = "abcdef", 200, set()
    pool = open_pool(*names, room=3)

    def work(seed: int) -> None:
        draw = random.Random(seed)
        for _ in range(asks):
            lease = Asker(pool, draw.choice(names)).leased()
            with source.lock:
                lease.model.users += 1
                slots.add(lease.model.slot)
                if not lease.model.is_open:
                    source.wrong.append(f"{lease.name} was leased after it was closed")
            with source.lock:
                lease.model.users -= 1
            lease.release()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert not any(thread.is_alive() for thread in threads)
    facts = pool.facts()
    assert sum(one.loads for one in facts.values()) == len(source.loads) > len(names), "models went and came back"
    assert sum(one.evictions for one in facts.values()) >= len(source.loads) - 3
    assert (source.most_open, {one.leases for one in facts.values()}, slots) == (3, {0}, {pool.slot})


def test_nobody_waits_in_ask_and_ready_models_go_on_while_one_is_loading(open_pool: Open, source: FakeSource) -> None:
    pool = open_pool("a", "b")
    Asker(pool, "a").leased().release()
    source.gate.clear()
    slow = [Asker(pool, "b") for _ in range(3)]
    wait_until(lambda: source.loads == ["a", "b"], "the load begins")
    ready = Asker(pool, "a")
    assert (ready.has_ended, [one.has_ended for one in slow]) == (True, [False] * 3)
    assert ready.thread == threading.current_thread().name
    assert pool.facts()["b"].state == "loading"
    source.gate.set()
    leases = [one.leased() for one in slow]
    assert ({one.thread for one in slow}, len({one.model for one in leases})) == ({"model-load"}, 1)
    assert source.loads == ["a", "b"], "all three waited for one load"
    for lease in (*leases, ready.leased()):
        lease.release()


def test_whoever_waits_too_long_is_refused_even_in_the_middle_of_a_load(open_pool: Open, source: FakeSource) -> None:
    pool = open_pool("a", load_wait_s=0.05)
    source.gate.clear()
    assert Asker(pool, "a").reason() == "a is still being loaded"
    source.gate.set()
    wait_until(lambda: pool.facts()["a"].state == "ready", "the load goes on for others")


def test_a_lease_given_back_twice_counts_once_and_makes_room_only_then(
    open_pool: Open, source: FakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_states, "MIN_STAY_S", 0.0)
    pool = open_pool("a", "b", room=1)
    first, second = Asker(pool, "a").leased(), Asker(pool, "a").leased()
    waiting = Asker(pool, "b")
    first.release()
    first.release()
    assert pool.facts()["a"].leases == 1
    assert not waiting.has_ended
    second.release()
    lease = waiting.leased()
    assert [one.name for one in source.open] == ["b"]
    lease.release()


def test_a_model_in_use_all_the_time_makes_room_after_half_of_the_patience(
    open_pool: Open, source: FakeSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_states, "MIN_STAY_S", 0.0)
    now_s = [0.0]
    pool = open_pool("a", "b", "c", room=1, load_wait_s=100.0, clock=lambda: now_s[0])
    lease = Asker(pool, "a").leased()
    waiting = [Asker(pool, "b")]
    Asker(pool, "a").leased().release()
    now_s[0] = 50.0
    waiting += [Asker(pool, "c")]  # lets the loader look at the clock
    wait_until(lambda: pool.facts()["a"].state == "draining", "draining")
    now_s[0] = 51.0
    waiting += [Asker(pool, "a")]
    assert not any(one.has_ended for one in waiting[:2])
    assert lease.model.is_open
    lease.release()
    for one in waiting:
        one.leased().release()
    assert source.loads == ["a", "b", "c", "a"]


def test_a_load_that_failed_is_tried_again_when_its_time_has_come(open_pool: Open, source: FakeSource) -> None:
    now_s = [0.0]
    pool = open_pool("a", clock=lambda: now_s[0])
    source.errors["a"] = ModelError("no such file")
    assert Asker(pool, "a").reason() == "no such file"
    now_s[0] = FAILED_WAIT_S - 1
    refused = Asker(pool, "a")
    assert (refused.reason(), refused.refused and refused.refused.retry_s, source.loads) == ("no such file", 1.0, ["a"])
    del source.errors["a"]
    now_s[0] = FAILED_WAIT_S
    Asker(pool, "a").leased().release()
    assert (pool.facts()["a"].error, pool.facts()["a"].failed_loads) == ("", 1)


def test_a_model_with_wrong_vectors_is_loaded_again_only_once_its_files_have_changed(open_pool: Open, source: FakeSource) -> None:
    now_s = [0.0]
    pool = open_pool("a", clock=lambda: now_s[0])
    source.errors["a"] = WrongVectors("gives wrong vectors")
    for _ in range(3):
        assert Asker(pool, "a").reason() == "gives wrong vectors"
        now_s[0] += FAILED_WAIT_S
    assert source.loads == ["a"]
    source.versions["a"] = "2"
    del source.errors["a"]
    Asker(pool, "a").leased().release()


def test_what_cannot_find_room_is_refused_and_nothing_goes_for_it(open_pool: Open, source: FakeSource) -> None:
    pool = open_pool(table_of("p", pin=True), "a", "large", room=3)
    Asker(pool, "a").leased().release()
    assert "serve.memory_bytes leaves 0 MB beside pinned models" in Asker(pool, "large").reason()
    assert [one.name for one in source.open] == ["p", "a"]


def test_pinned_models_beyond_the_budget_are_refused_at_the_start(open_pool: Open, source: FakeSource) -> None:
    with pytest.raises(ModelError, match="the pinned models take"):
        open_pool(table_of("a", pin=True), table_of("b", pin=True), table_of("c", pin=True))
    assert source.loads == ["a", "b"]
    assert source.open == []


def test_a_model_that_nobody_asks_for_goes(open_pool: Open, source: FakeSource) -> None:
    pool = open_pool(table_of("a", idle_s=0.05), "b")
    for name in "ab":
        Asker(pool, name).leased().release()
    wait_until(lambda: [one.name for one in source.open] == ["b"], "the idle model goes")
    Asker(pool, "a").leased().release()
    assert pool.facts()["a"].evictions == 0


def test_at_the_end_whoever_waits_is_refused_and_a_leased_model_stays_open(source: FakeSource) -> None:
    crashes: list[Exception] = []
    pool = ModelPool(
        [table_of("a"), table_of("b")], source, budget_bytes=2 * SIZE, load_wait_s=WAIT_S, on_crash=lambda _, error: crashes.append(error)
    )
    pool.start()
    lease = Asker(pool, "a").leased()
    source.gate.clear()
    waiting = Asker(pool, "b")
    wait_until(lambda: source.loads == ["a", "b"], "the load begins")
    pool.close(0.0)
    assert [waiting.reason(), Asker(pool, "a").reason()] == ["the worker is stopping"] * 2
    assert lease.model.is_open
    source.gate.set()
    lease.release()
    pool.close(WAIT_S)
    assert source.open == []
    assert crashes == []
