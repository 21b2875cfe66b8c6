"""Where texts go that two engines of one model could compute."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from tests.fakes.engine import FakeEngine
from worker.embedding.batcher import Batcher, Urgency
from worker.embedding.cache.memory import MemoryCache
from worker.embedding.device_router import DeviceRouter
from worker.embedding.embedder import Embedder, Waiting
from worker.embedding.encoded_text import Embedded, EncodedText
from worker.embedding.guarded_engine import GuardedEngine
from worker.embedding.model.space import CacheKey
from worker.embedding.model.vectors import TokenIds, Vectors


class TimedEngine(FakeEngine):
    """Takes a second for so many tokens, on a clock that only it moves."""

    def __init__(self, now_s: list[float], tokens_per_s: float) -> None:
        super().__init__(dim=4, batch_tokens=64)
        self._now_s = now_s
        self._tokens_per_s = tokens_per_s
        self.limit_tokens = self.batch_tokens
        self.texts: list[int] = []
        """The first token of each text."""

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        self._now_s[0] += sum(map(len, batch)) / self._tokens_per_s
        self.texts += [int(ids[0]) for ids in batch]
        return super().embed(batch)


class World:
    """A fast engine and a slow one, both measured."""

    def __init__(self) -> None:
        self.now_s = [0.0]
        self.engines = [TimedEngine(self.now_s, pace) for pace in (1_000.0, 100.0)]
        self.embedders = [self._embedder(engine) for engine in self.engines]
        self.router = DeviceRouter(self.embedders)
        self.places: list[int] = []

    def ask(self, first: int, *, tokens: int = 8, texts: int = 1, urgency: Urgency = "query") -> None:
        encoded = [EncodedText(np.full(tokens, first + i, np.int32), key_of(first + i), "", urgency) for i in range(texts)]
        self.router.submit(encoded, self.take)

    def take(self, embedded: Sequence[Embedded]) -> None:
        self.places += [one.place for one in embedded]

    def run(self) -> None:
        for embedder in self.embedders:
            while embedder.compute_batch(wait=False):
                embedder.deliver_batches(wait=False)

    def measure(self) -> None:
        """Let both engines compute something."""
        for i, embedder in enumerate(self.embedders):
            embedder.submit([EncodedText(np.full(8, 1_000 + i, np.int32), None)], lambda _embedded: None)
        self.run()

    @property
    def computed(self) -> list[list[int]]:
        """What each engine has computed, without what measured it."""
        return [[text for text in engine.texts if text < 1_000] for engine in self.engines]

    def _embedder(self, engine: TimedEngine) -> Embedder:
        memory = MemoryCache(1 << 20)
        batcher: Batcher[Waiting] = Batcher(budget_tokens=64, bulk_floor_tokens=8, online_floor_tokens=8, topic_of=topic_of)
        return Embedder(batcher=batcher, engine=cast("GuardedEngine", engine), cache=memory, memory=memory, clock=lambda: self.now_s[0])


def topic_of(waiting: Waiting) -> str:
    return waiting.text.topic


def key_of(text: int) -> CacheKey:
    return CacheKey(f"{text:032x}")


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("urgency", ["query", "online"])
def test_texts_go_where_what_waits_and_their_own_time_is_least(world: World, urgency: Urgency) -> None:
    world.measure()
    world.ask(1, texts=12, urgency=urgency)  # 96 tokens: 0.096 s or 0.96 s
    world.ask(20, urgency=urgency)  # 0.104 s there, 0.08 s here
    world.ask(30, urgency=urgency)  # 0.112 s there, 0.16 s here
    world.run()
    assert world.computed == [[*range(1, 13), 30], [20]]


def test_the_batch_in_an_engine_counts_and_one_that_is_late_is_thought_to_be_away(world: World) -> None:
    world.measure()
    fast = world.embedders[0]
    fast._begun = 64, world.now_s[0]  # noqa: SLF001 - a batch in the engine
    assert fast.ready_s("query", "", 8) == pytest.approx(0.072)
    world.now_s[0] += 0.06
    assert fast.ready_s("query", "", 8) == pytest.approx(0.012)
    world.now_s[0] += 5.0
    world.ask(1)
    world.run()
    assert world.computed == [[], [1]]


def test_an_engine_that_was_not_measured_is_tried(world: World) -> None:
    world.ask(1)
    world.run()
    world.ask(2)
    world.run()
    assert world.computed == [[1], [2]]


def test_a_text_that_waits_in_one_engine_is_not_computed_by_the_other(world: World) -> None:
    world.measure()
    world.ask(1, texts=10)
    world.ask(9, texts=3)  # two of them wait already, and the third takes 0.088 s there, 0.08 s here
    world.run()
    assert world.computed == [list(range(1, 11)), [11]]
    assert sorted(world.places) == sorted([*range(10), 0, 1, 2])


def test_an_empty_list_is_no_question(world: World) -> None:
    world.router.submit([], world.take)
    assert world.places == []


def test_a_wait_is_that_of_the_freer_engine(world: World) -> None:
    world.measure()
    for embedder, texts in zip(world.embedders, (5, 1), strict=True):
        encoded = [EncodedText(np.full(8, i, np.int32), None, "me", "online") for i in range(texts)]
        embedder.submit(encoded, world.take)
    assert world.router.wait_s("me", 8) == pytest.approx(0.04)
    assert world.router.backlog_s() == pytest.approx(0.04)
