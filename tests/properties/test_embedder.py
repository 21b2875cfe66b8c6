"""The embedder against a simple model, over any sequence of what its threads and those that submit do."""

from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from worker.embedding.batcher import Batcher, Urgency
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.embedder import Embedder, Waiting
from worker.embedding.encoded_text import Embedded, EmbeddingLate, EncodedText
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.space import CacheKey
from worker.embedding.model.vectors import EmbeddingFailed, Outcome, TokenIds

POISON = 7
BUDGET = 40


class Engine:
    """Gives each text its first token as its vector, and none to a poisoned one. Thread: the test's."""

    limit_tokens = BUDGET

    def __init__(self) -> None:
        self.computed: list[int] = []

    def embed(self, texts: Sequence[TokenIds]) -> list[Outcome]:
        assert texts
        assert sum(map(len, texts)) <= BUDGET
        self.computed += [int(ids[0]) for ids in texts]
        return [EmbeddingFailed("poison") if ids[0] % 10 == POISON else np.full(1, ids[0], np.float32) for ids in texts]


class Model(RuleBasedStateMachine):
    """Which texts wait, are computed and are delivered; each has a number of its own, its first token."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.engine = Engine()
        self.cache = MemoryCache(1 << 20)
        batcher: Batcher[Waiting] = Batcher(budget_tokens=BUDGET, bulk_floor_tokens=5)
        self.embedder = Embedder(
            batcher=batcher, engine=cast("GuardedEngine", self.engine), cache=self.cache, memory=self.cache, clock=lambda: self.now_s
        )
        self.late: set[int] = set()
        self.queries: list[int] = []
        self.logs: list[int] = []
        self.computed: list[int] = []
        """Computed, or found to be too late, and not delivered."""
        self.delivered: list[int] = []
        self.calls: list[int] = []
        """How many texts each call of a `done` had."""
        self.end = "open"

    @rule(tokens=st.lists(st.integers(1, 20), max_size=6), is_urgent=st.booleans())
    def submit(self, tokens: list[int], *, is_urgent: bool) -> None:
        first = len(self.queries) + len(self.logs) + len(self.computed) + len(self.delivered)
        numbers = list(range(first, first + len(tokens)))
        texts = [self._text(number, size, is_urgent=is_urgent) for number, size in zip(numbers, tokens, strict=True)]
        if self.end == "closed" and texts:
            with pytest.raises(RuntimeError, match="closed"):
                self.embedder.submit(texts, self._done(numbers))
            return
        self.embedder.submit(texts, self._done(numbers))
        if self.end == "open":
            (self.queries if is_urgent else self.logs).extend(numbers)

    @rule(data=st.data())
    def grow_late(self, data: st.DataObject) -> None:
        if self.queries:
            self.late.add(data.draw(st.sampled_from(self.queries)))

    @rule()
    def compute(self) -> None:
        """A batch has the first queries and the first logs."""
        before, waiting = len(self.engine.computed), len(self.embedder)
        self.now_s += 1.0
        assert self.embedder.compute_batch(wait=self.end != "open") == bool(self.queries or self.logs)
        taken = waiting - len(self.embedder)
        computed = self.engine.computed[before:]
        logs = [number for number in computed if number in self.logs]
        queries = self.queries[: taken - len(logs)]
        assert computed == [number for number in queries if number not in self.late] + self.logs[: len(logs)]
        del self.queries[: len(queries)], self.logs[: len(logs)]
        self.computed += [*queries, *logs]

    @rule()
    def deliver(self) -> None:
        """Everything that is computed is delivered, one call for the texts of one `submit` in one batch."""
        there_are = bool(self.computed)
        assert self.embedder.deliver_batches(wait=self.end != "open" and not self.queries and not self.logs) == there_are
        assert self.computed == []
        assert 0 not in self.calls

    @precondition(lambda self: self.end == "open")
    @rule()
    def close(self) -> None:
        self.embedder.close()
        self.end = "closed"

    @rule()
    def abandon(self) -> None:
        self.embedder.abandon()
        self.end = "abandoned"
        for some in (self.queries, self.logs, self.computed):
            self.delivered += some
            some.clear()

    @invariant()
    def it_says_how_many_wait(self) -> None:
        assert len(self.embedder) == len(self.queries) + len(self.logs)

    def teardown(self) -> None:
        """After the end both threads return, and no text is left."""
        if self.end == "open":
            self.close()
        while self.queries or self.logs:
            self.compute()
        self.embedder.compute()
        self.embedder.deliver()
        assert self.computed == []
        assert len(set(self.delivered)) == len(self.delivered)

    def _text(self, number: int, tokens: int, *, is_urgent: bool) -> EncodedText:
        key = CacheKey(f"{number}") if number % 2 else None
        urgency: Urgency = "query" if is_urgent else "bulk"
        return EncodedText(np.full(tokens, number, np.int32), key, urgency=urgency, is_late=lambda _now_s: number in self.late)

    def _done(self, numbers: Sequence[int]) -> Callable[[Sequence[Embedded]], None]:
        def done(embedded: Sequence[Embedded]) -> None:
            assert self.end != "abandoned"
            self.calls.append(len(embedded))
            for place, outcome, started_s, ended_s in embedded:
                number = numbers[place]
                assert started_s == ended_s <= self.now_s
                self.computed.remove(number)
                self.delivered.append(number)
                if isinstance(outcome, EmbeddingLate):
                    assert number in self.late
                    assert number not in self.engine.computed
                elif isinstance(outcome, EmbeddingFailed):
                    assert number % 10 == POISON
                else:
                    assert outcome[0] == number
                kept = self.cache.get_many([CacheKey(f"{number}")])
                assert bool(kept) == (number % 2 == 1 and not isinstance(outcome, EmbeddingLate | EmbeddingFailed))

        return done


TestEmbedder = Model.TestCase
TestEmbedder.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
