"""Measures the engine's speed on this machine: it embeds the user's own texts for a moment, in batches as the embed step forms them.

`vectail estimate` calls it with the templates of its sample. Pure apart from the engine: the clock is a parameter.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from worker.embedding.batcher import Batcher
from worker.embedding.engine.engine import Engine
from worker.embedding.model.vectors import TokenIds


class EngineMeasurement(NamedTuple):
    """What the engine did."""

    tokens: int
    seconds: float
    failed_batches: int

    @property
    def tokens_per_s(self) -> float | None:
        """None if it computed nothing."""
        return self.tokens / self.seconds if self.tokens and self.seconds > 0 else None


class _Text(NamedTuple):
    """An entry of the batcher."""

    ids: TokenIds


def measure_engine(engine: Engine, texts: Sequence[TokenIds], *, clock: Callable[[], float], least_s: float) -> EngineMeasurement:
    """Embed the texts, repeatedly if they are few, until the engine has worked for `least_s` seconds.

    The first batch is not counted: engines allocate memory then. A batch that fails is not counted and not repeated.
    """
    tokens = failed = 0
    seconds = 0.0
    batches = deque(_batches(engine, texts))
    is_warm = False
    while batches and seconds < least_s:
        batch = batches.popleft()
        started_s = clock()
        try:
            engine.embed(batch)
        except (RuntimeError, ValueError):
            failed += 1
            continue
        elapsed_s = clock() - started_s
        batches.append(batch)
        if is_warm:
            tokens += sum(map(len, batch))
            seconds += elapsed_s
        is_warm = True
    return EngineMeasurement(tokens, seconds, failed)


def _batches(engine: Engine, texts: Sequence[TokenIds]) -> Iterator[list[TokenIds]]:
    """Form batches as the embed step does."""
    budget = engine.batch_tokens
    batcher: Batcher[_Text] = Batcher(budget_tokens=budget, bulk_floor_tokens=budget)
    batcher.add((_Text(ids) for ids in texts if len(ids) <= budget), "bulk")
    while len(batcher):
        yield [text.ids for text in batcher.next_batch().others]
