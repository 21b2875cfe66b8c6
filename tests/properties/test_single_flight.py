"""Equal texts are computed once, whoever asks for them in which class and when; against a simple model."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from worker.embedding.batcher import Batcher, Urgency
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.embedder import Embedder, Waiting
from worker.embedding.encoded_text import Embedded, EmbeddingLate, EncodedText
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.space import CacheKey
from worker.embedding.model.vectors import EmbeddingFailed, Outcome, TokenIds

BUDGET = 12
POISON = 3


class Engine:
    """Gives each text its first token as its vector, and none to a poisoned one. Thread: the test's."""

    limit_tokens = BUDGET

    def __init__(self) -> None:
        self.computed: Counter[int] = Counter()

    def embed(self, texts: Sequence[TokenIds]) -> list[Outcome]:
        numbers = [int(ids[0]) for ids in texts]
        assert len(set(numbers)) == len(numbers)
        self.computed.update(numbers)
        return [EmbeddingFailed("poison") if number == POISON else np.full(1, number, np.float32) for number in numbers]


class Model(RuleBasedStateMachine):
    """Eight texts, asked for again and again; each request has a number of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.engine = Engine()
        memory = MemoryCache(1 << 20)
        batcher: Batcher[Waiting] = Batcher(budget_tokens=BUDGET, bulk_floor_tokens=2, online_floor_tokens=2)
        self.embedder = Embedder(batcher=batcher, engine=cast("GuardedEngine", self.engine), cache=memory, memory=memory)
        self.requests = 0
        self.late: set[int] = set()
        self.answered: set[int] = set()

    @rule(texts=st.lists(st.integers(0, 7), min_size=1, max_size=5), urgency=st.sampled_from(["query", "online", "bulk"]))
    def submit(self, texts: list[int], urgency: Urgency) -> None:
        numbers = range(self.requests, self.requests + len(texts))
        self.requests += len(texts)
        asked = [self._text(text, number, urgency) for text, number in zip(texts, numbers, strict=True)]
        self.embedder.submit(asked, self._done(texts, numbers))

    @rule(data=st.data())
    def hang_up(self, data: st.DataObject) -> None:
        if self.requests:
            self.late.add(data.draw(st.integers(0, self.requests - 1)))

    @rule()
    def compute(self) -> None:
        self.embedder.compute_batch(wait=False)

    @rule()
    def deliver(self) -> None:
        self.embedder.deliver_batches(wait=False)

    def teardown(self) -> None:
        """Everyone is answered, and no text was computed twice; a text that fails leaves nothing in the cache, so it may be."""
        self.embedder.close()
        self.embedder.compute()
        self.embedder.deliver()
        assert self.answered == set(range(self.requests))
        assert {text for text, times in self.engine.computed.items() if times > 1} <= {POISON}

    def _text(self, text: int, number: int, urgency: Urgency) -> EncodedText:
        ids = np.full(1 + text, text, np.int32)
        return EncodedText(ids, CacheKey(f"{text}"), urgency=urgency, is_late=lambda _now_s: number in self.late)

    def _done(self, texts: Sequence[int], numbers: Sequence[int]) -> Callable[[Sequence[Embedded]], None]:
        def done(embedded: Sequence[Embedded]) -> None:
            for one in embedded:
                text, number = texts[one.place], numbers[one.place]
                assert number not in self.answered
                self.answered.add(number)
                if isinstance(one.outcome, EmbeddingLate):
                    assert number in self.late, "one who still waits gets the vector, though others have gone"
                elif isinstance(one.outcome, EmbeddingFailed):
                    assert text == POISON
                else:
                    assert one.outcome[0] == text

        return done


TestSingleFlight = Model.TestCase
TestSingleFlight.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)


def test_an_urgent_text_takes_along_those_who_wait_for_the_same_in_a_less_urgent_class() -> None:
    engine, memory = Engine(), MemoryCache(1 << 20)
    batcher: Batcher[Waiting] = Batcher(budget_tokens=BUDGET, bulk_floor_tokens=2, online_floor_tokens=2)
    embedder = Embedder(batcher=batcher, engine=cast("GuardedEngine", engine), cache=memory, memory=memory)
    answered: list[str] = []
    last = CacheKey("last")
    lines = [EncodedText(np.full(5, number, np.int32), CacheKey(f"{number}")) for number in range(100, 120)]
    embedder.submit([*lines, EncodedText(np.full(5, 9, np.int32), last)], lambda some: answered.extend(f"line {one.place}" for one in some))
    embedder.submit([EncodedText(np.full(5, 9, np.int32), last, urgency="query")], lambda _some: answered.append("query"))
    embedder.compute_batch(wait=False)
    embedder.deliver_batches(wait=False)
    assert engine.computed[9] == 1
    assert {"query", "line 20"} <= set(answered)
    assert len(answered) == 2
