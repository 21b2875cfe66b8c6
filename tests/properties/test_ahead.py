"""One batch ahead against a simple model: any sequence of what its two stages do."""

from itertools import count
from typing import Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from worker.embedding.handoff import BatchHandoff

End = Literal["open", "closed", "abandoned"]


class Model(RuleBasedStateMachine):
    """What `BatchHandoff` should be: three places where a batch can stand, and four where it can end.

    Thread: the test's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rung = 0
        self.expected_rings = 0
        self.ahead: BatchHandoff[int, int] = BatchHandoff(self._ring)
        self.numbers = count()
        self.offered: list[int] = []
        self.ready: int | None = None
        self.in_work: int | None = None
        self.uncollected: list[int] = []
        self.collected: list[int] = []
        self.back: list[int] = []
        self.forgotten: list[int] = []
        self.end: End = "open"

    def _ring(self) -> None:
        self.rung += 1

    def _out(self) -> bool:
        return self.ready is not None or self.in_work is not None

    @precondition(lambda self: self.ahead.wants)
    @rule(again=st.booleans())
    def offer(self, *, again: bool) -> None:
        """Offer a new batch, or one that was taken back."""
        self.ready = self.back.pop() if again and self.back else next(self.numbers)
        if self.ready not in self.offered:
            self.offered.append(self.ready)
        self.ahead.offer(self.ready)

    @precondition(lambda self: self.ready is not None)
    @rule()
    def offer_one_too_many(self) -> None:
        with pytest.raises(RuntimeError, match="stands ready already"):
            self.ahead.offer(-1)

    @rule()
    def take_back(self) -> None:
        assert self.ahead.take_back() == self.ready
        if self.ready is not None:
            self.back.append(self.ready)
        self.ready = None

    @precondition(lambda self: self.in_work is None)
    @rule(wait=st.booleans())
    def begin(self, *, wait: bool) -> None:
        """The engine stage may wait where there is something, or where nothing more comes."""
        may_wait = self.ready is not None or self.end != "open"
        assert self.ahead.next(wait=wait and may_wait) == self.ready
        self.expected_rings += self.ready is not None
        self.in_work, self.ready = self.ready, None

    @precondition(lambda self: self.in_work is not None)
    @rule()
    def done(self) -> None:
        assert self.in_work is not None
        self.ahead.done(self.in_work)
        self.expected_rings += 1
        self.uncollected.append(self.in_work)
        self.in_work = None

    @rule()
    def collect(self) -> None:
        assert self.ahead.results() == self.uncollected
        self.collected += self.uncollected
        self.uncollected = []

    @precondition(lambda self: self.end != "open" or self.uncollected or not self._out())
    @rule(until_wants=st.booleans())
    def no_wait_for_a_result(self, *, until_wants: bool) -> None:
        """Only where it returns at once: else this test would wait for ever."""
        self.ahead.wait(until_wants=until_wants)

    @precondition(lambda self: self.ready is None)
    @rule()
    def no_wait_for_room(self) -> None:
        self.ahead.wait(until_wants=True)

    @rule()
    def close(self) -> None:
        self.ahead.close()
        self.end = "closed" if self.end == "open" else self.end

    @rule()
    def abandon(self) -> None:
        self.ahead.abandon()
        self.expected_rings += 1
        if self.ready is not None:
            self.forgotten.append(self.ready)
        self.ready = None
        self.end = "abandoned"

    @invariant()
    def it_says_what_is_so(self) -> None:
        assert self.ahead.wants == (self.ready is None and self.end == "open")
        assert self.ahead.has_results == bool(self.uncollected)
        assert self.ahead.is_idle == (not self._out() and not self.uncollected)
        assert self.rung == self.expected_rings

    @invariant()
    def every_batch_is_in_one_place(self) -> None:
        out = [batch for batch in (self.ready, self.in_work) if batch is not None]
        assert sorted(out + self.uncollected + self.collected + self.back + self.forgotten) == self.offered

    def teardown(self) -> None:
        """After the end, what the engine still holds or finds is the last that comes."""
        self.close()
        if self.in_work is not None:
            self.done()
        while self.ready is not None:
            self.begin(wait=True)
            self.done()
        assert self.ahead.next() is None
        self.collect()
        assert self.ahead.is_idle
        assert sorted(self.collected + self.back + self.forgotten) == self.offered


TestOneAhead = Model.TestCase
TestOneAhead.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
