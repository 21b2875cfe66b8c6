"""The states of the pool against a naive model, in any order of questions, loads, failures, releases and time; and which models go."""

import itertools
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from worker.embedding.pool.lease import PoolRefused
from worker.embedding.pool.pool_states import FAILED_WAIT_S, MIN_STAY_S, PoolStates, PoolStep
from worker.embedding.pool.victims import Evictable, choose_victims
from worker.settings.serve_tables import ServedModelTable

NAMES = "abcde"
BUDGET = 100
LOAD_WAIT_S = 30.0
IDLE_S = 20.0
names = st.sampled_from(NAMES)
seconds = st.sampled_from((0.1, 1.0, MIN_STAY_S, LOAD_WAIT_S / 2, FAILED_WAIT_S, LOAD_WAIT_S + 1))


def table_of(name: str, *, pin: bool = False, idle_s: float | None = None) -> ServedModelTable:
    return ServedModelTable(name=name, folder=Path("/models") / name, pin=pin, idle_s=idle_s)


@dataclass
class NaiveModel:
    """What the test knows of a model: only from what it asked for and was told."""

    size: int = 0
    is_loading: bool = False
    is_loaded: bool = False
    ready_s: float = 0.0
    used_s: float = 0.0
    leases: int = 0
    failed_s: float | None = None
    waiting: dict[int, float] = field(default_factory=dict)
    """Since when, by number."""


class PoolMachine(RuleBasedStateMachine):
    """One step is in hand at most, and everything else may happen meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.numbers = itertools.count()
        self.in_hand: PoolStep | None = None
        self.naive = {name: NaiveModel() for name in NAMES}

    @initialize(pinned=st.booleans(), sizes=st.lists(st.integers(10, 70), min_size=len(NAMES), max_size=len(NAMES)))
    def begin(self, pinned: bool, sizes: list[int]) -> None:  # noqa: FBT001 - hypothesis passes it by name
        self.sizes = dict(zip(NAMES, sizes, strict=True))
        self.pinned = "a" if pinned else ""
        tables = [table_of(name, pin=name == self.pinned, idle_s=IDLE_S if name == "b" else None) for name in NAMES]
        self.states: PoolStates[int] = PoolStates(tables, budget_bytes=BUDGET, load_wait_s=LOAD_WAIT_S)
        if pinned:
            assert self.states.loaded("a", self.sizes["a"], self.now_s) == []
            self.note_loaded("a", self.sizes["a"])

    def note_loaded(self, name: str, size: int) -> None:
        naive = self.naive[name]
        naive.is_loading, naive.is_loaded, naive.size, naive.failed_s = False, True, size, None
        naive.ready_s = naive.used_s = self.now_s
        naive.leases += len(naive.waiting)
        naive.waiting.clear()

    def note_refused(self, refused: list[tuple[int, PoolRefused]]) -> None:
        for number, why in refused:
            assert why.retry_s > 0
            del self.naive[why.name].waiting[number]

    @rule(name=names)
    def ask(self, name: str) -> None:
        naive, number = self.naive[name], next(self.numbers)
        answer = self.states.ask(name, number, self.now_s)
        if answer == "leased":
            assert naive.is_loaded, "only what is loaded is leased"
            assert self.in_hand != PoolStep("close", name), "it is being closed"
            naive.leases += 1
            naive.used_s = self.now_s
        elif answer == "waiting":
            naive.waiting[number] = self.now_s
        else:
            assert naive.failed_s is not None
            assert self.now_s < naive.failed_s + FAILED_WAIT_S

    @precondition(lambda self: any(naive.leases for naive in self.naive.values()))
    @rule(which=st.integers(0, len(NAMES) - 1))
    def release(self, which: int) -> None:
        leased = [name for name, naive in self.naive.items() if naive.leases]
        name = leased[which % len(leased)]
        self.states.release(name, self.now_s)
        self.naive[name].leases -= 1
        self.naive[name].used_s = self.now_s

    @rule(passed_s=seconds)
    def time_passes(self, passed_s: float) -> None:
        self.now_s += passed_s

    @rule()
    def expire(self) -> None:
        self.note_refused(self.states.expire(self.now_s))
        for naive in self.naive.values():
            assert all(self.now_s < since_s + LOAD_WAIT_S for since_s in naive.waiting.values())

    @precondition(lambda self: self.in_hand is None)
    @rule()
    def take_step(self) -> None:
        step = self.in_hand = self.states.next_step(self.now_s)
        if step is None:
            return
        naive = self.naive[step.name]
        if step.kind == "close":
            assert naive.is_loaded
            assert naive.leases == 0, "a leased model is never closed"
            assert step.name != self.pinned, "a pinned model stays"
            assert self.now_s >= naive.ready_s + MIN_STAY_S
        else:
            assert naive.waiting, "somebody wants it"
            assert not naive.is_loaded
            assert not naive.is_loading
            assert naive.failed_s is None or self.now_s >= naive.failed_s + FAILED_WAIT_S, "it is not tried again at once"
            naive.is_loading = True
        if step.kind == "load":
            others = sum(other.size for other in self.naive.values() if other.is_loaded)
            assert others + self.sizes[step.name] <= BUDGET, "no load goes beyond the budget"

    @precondition(lambda self: self.in_hand is not None)
    @rule(fails=st.sampled_from((False, False, False, True)), growth=st.sampled_from((0, 0, 15)))
    def end_step(self, fails: bool, growth: int) -> None:  # noqa: FBT001 - hypothesis passes it by name
        assert self.in_hand is not None
        kind, name = self.in_hand
        naive, self.in_hand = self.naive[name], None
        naive.is_loading = False
        if kind == "close":
            self.states.closed(name)
            naive.is_loaded = False
        elif fails:
            self.note_refused(self.states.failed(name, "broken", self.now_s))
            naive.failed_s = self.now_s
        elif kind == "size":
            refused = self.states.sized(name, self.sizes[name], self.now_s)
            room = BUDGET - (self.naive["a"].size if self.pinned else 0)
            assert bool(refused) == (self.sizes[name] > room and bool(naive.waiting))
            naive.failed_s = self.now_s if self.sizes[name] > room else None
            self.note_refused(refused)
        else:
            waited = self.states.loaded(name, self.sizes[name] + growth, self.now_s)
            self.sizes[name] += growth
            assert waited == list(naive.waiting), "in order of arrival"
            self.note_loaded(name, self.sizes[name])

    @invariant()
    def the_facts_are_those_of_the_naive_model(self) -> None:
        if not hasattr(self, "states"):
            return
        for name, facts in self.states.facts().items():
            naive = self.naive[name]
            assert (facts.leases, facts.waiting) == (naive.leases, len(naive.waiting))
            assert (facts.state in ("ready", "draining")) == naive.is_loaded
            if naive.is_loaded:
                assert facts.size_bytes == naive.size

    def teardown(self) -> None:
        """Once every lease has ended, whoever waits for a model that has room gets it, or was refused in time."""
        if not hasattr(self, "states"):
            return
        for _ in range(300):
            while any(naive.leases for naive in self.naive.values()):
                self.release(0)
            if self.in_hand is None:
                self.take_step()
            if self.in_hand is not None:
                self.end_step(fails=False, growth=0)
            elif (change_s := self.states.next_change_s(self.now_s)) is not None:
                self.now_s = change_s
            else:
                break
        assert not any(naive.waiting for naive in self.naive.values())
        assert self.states.held_bytes <= BUDGET
        assert self.states.facts()["b"].state in ("absent", "failed") or self.pinned == "b", "it was idle for too long"


TestModelPool = PoolMachine.TestCase
TestModelPool.settings = settings(max_examples=150, stateful_step_count=40)


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), max_size=6),
    st.integers(1, 120),
)
def test_victims_suffice_and_none_goes_in_vain(models: list[tuple[int, int]], needed: int) -> None:
    evictable = {str(place): Evictable(str(place), size, float(used_s)) for place, (size, used_s) in enumerate(models)}
    victims = [evictable[name] for name in choose_victims(list(evictable.values()), needed)]
    freed = sum(one.size_bytes for one in victims)
    alone = [one for one in evictable.values() if one.size_bytes >= needed]
    if sum(one.size_bytes for one in evictable.values()) < needed:
        assert victims == []
    elif alone:
        assert victims == [min(alone, key=lambda one: (one.used_s, one.name))]
    else:
        assert freed >= needed
        assert len(set(victims)) == len(victims)
        assert all(freed - one.size_bytes < needed for one in victims)
