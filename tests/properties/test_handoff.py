"""The handoff against a simple model, over any sequence of what its two stages do."""

from itertools import count
from typing import Literal

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from worker.embedding.handoff import BatchHandoff

End = Literal["open", "closed", "abandoned"]


class Model(RuleBasedStateMachine):
    """The expected state of a `BatchHandoff`: where each batch is, and what has become of it.

    Thread: the test's.
    """

    def __init__(self) -> None:
        super().__init__()
        self.wakes = 0
        self.expected_wakes = 0
        self.handoff: BatchHandoff[int, int] = BatchHandoff(self._wake)
        self.numbers = count()
        self.offered: list[int] = []
        self.ready: int | None = None
        self.in_work: int | None = None
        self.uncollected: list[int] = []
        self.collected: list[int] = []
        self.back: list[int] = []
        self.forgotten: list[int] = []
        self.end: End = "open"

    def _wake(self) -> None:
        self.wakes += 1

    def _out(self) -> bool:
        return self.ready is not None or self.in_work is not None

    @precondition(lambda self: self.handoff.has_room)
    @rule(again=st.booleans())
    def offer(self, *, again: bool) -> None:
        """Offer a new batch, or one that was withdrawn."""
        self.ready = self.back.pop() if again and self.back else next(self.numbers)
        if self.ready not in self.offered:
            self.offered.append(self.ready)
        self.handoff.offer_batch(self.ready)

    @precondition(lambda self: self.ready is not None)
    @rule()
    def offer_one_too_many(self) -> None:
        with pytest.raises(RuntimeError, match="already ready"):
            self.handoff.offer_batch(-1)

    @rule()
    def take_back(self) -> None:
        assert self.handoff.withdraw_batch() == self.ready
        if self.ready is not None:
            self.back.append(self.ready)
        self.ready = None

    @precondition(lambda self: self.in_work is None)
    @rule(wait=st.booleans())
    def begin(self, *, wait: bool) -> None:
        """The engine stage may wait only if a batch is ready or the handoff has ended: otherwise this test would hang."""
        may_wait = self.ready is not None or self.end != "open"
        assert self.handoff.begin_batch(wait=wait and may_wait) == self.ready
        self.expected_wakes += self.ready is not None
        self.in_work, self.ready = self.ready, None

    @precondition(lambda self: self.in_work is not None)
    @rule()
    def done(self) -> None:
        assert self.in_work is not None
        self.handoff.finish_batch(self.in_work)
        self.expected_wakes += 1
        self.uncollected.append(self.in_work)
        self.in_work = None

    @rule()
    def collect(self) -> None:
        assert self.handoff.take_results() == self.uncollected
        self.collected += self.uncollected
        self.uncollected = []

    @precondition(lambda self: self.end != "open" or self.uncollected or not self._out())
    @rule(or_room=st.booleans())
    def no_wait_for_a_result(self, *, or_room: bool) -> None:
        """Only if it returns at once: otherwise this test would hang."""
        self.handoff.wait_for_result(or_room=or_room)

    @precondition(lambda self: self.ready is None)
    @rule()
    def no_wait_for_room(self) -> None:
        self.handoff.wait_for_result(or_room=True)

    @rule()
    def close(self) -> None:
        self.handoff.close()
        self.end = "closed" if self.end == "open" else self.end

    @rule()
    def abandon(self) -> None:
        self.handoff.abandon()
        self.expected_wakes += 1
        if self.ready is not None:
            self.forgotten.append(self.ready)
        self.ready = None
        self.end = "abandoned"

    @invariant()
    def it_says_what_is_so(self) -> None:
        assert self.handoff.has_room == (self.ready is None and self.end == "open")
        assert self.handoff.has_results == bool(self.uncollected)
        assert self.handoff.is_idle == (not self._out() and not self.uncollected)
        assert self.wakes == self.expected_wakes

    @invariant()
    def every_batch_is_in_one_place(self) -> None:
        out = [batch for batch in (self.ready, self.in_work) if batch is not None]
        assert sorted(out + self.uncollected + self.collected + self.back + self.forgotten) == self.offered

    def teardown(self) -> None:
        """After the end, only what the engine still holds or finds ready is computed."""
        self.close()
        if self.in_work is not None:
            self.done()
        while self.ready is not None:
            self.begin(wait=True)
            self.done()
        assert self.handoff.begin_batch() is None
        self.collect()
        assert self.handoff.is_idle
        assert sorted(self.collected + self.back + self.forgotten) == self.offered


TestBatchHandoff = Model.TestCase
TestBatchHandoff.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
