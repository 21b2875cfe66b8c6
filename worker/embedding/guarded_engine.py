"""Decides whether a failed batch is the fault of one text or of the engine.

The compute step passes token ids; each text gets a vector or the reason why it has none.

1. A text is rejected only if it fails *alone* and the golden texts pass on the same engine right after it.
2. A batch that does not fit into memory is halved, and later batches are smaller. Lack of memory never rejects a text.
3. An engine in another process that is away is waited for, as long as it takes: nothing is rejected, nothing is lost.
4. An engine is broken if it died, returned the wrong number of vectors or failed the golden texts. A new engine replaces it and
   computes the batch again. After `REBUILDS` new engines in a row the service stops and commits nothing more.
"""

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from worker.embedding.engine.engine import Engine, EngineAway, EngineDied, OutOfMemory, TextTooLong
from worker.embedding.model.errors import ModelError
from worker.embedding.model.golden import Golden
from worker.embedding.model.vectors import EmbeddingFailed, Outcome, TokenIds, Vectors
from worker.runtime.stage import Abandoned

T = TypeVar("T")

AWAY_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses before an engine that is away is asked again; the last one repeats."""
REBUILDS = 3
"""New engines in a row, without a good batch in between."""


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


class EngineFailed(Exception):
    """The engine is broken. The service stops, commits nothing more and exits 1."""


class GuardedEngine:
    """Every vector that it returns has length 1 and the engine's dimension.

    Thread: one, the engine's; the public attributes may be read from any.
    """

    def __init__(
        self,
        engine: Engine,
        golden: Golden,
        *,
        new_engine: Callable[[], Engine],
        say: Callable[[str], None],
        clock: Callable[[], float],
        pause: Callable[[float], bool] = _sleep,
    ) -> None:
        """`new_engine` loads another engine like this one; it may raise ModelError.

        `pause` waits for some seconds; it returns True, at once, when the service gives up what is in hand.
        """
        self._engine = engine
        self._golden = golden
        self._new_engine = new_engine
        self._say = say
        self._clock = clock
        self._pause = pause
        self._rebuilds = 0
        self._refusals = 0
        """Calls in a row for which the engine was away."""
        self.limit_tokens = engine.batch_tokens
        """Most tokens that a batch should have: the engine's budget, or less after it ran out of memory."""
        self.restarts = 0
        """Attempts to replace a broken engine."""
        self.is_up = True
        """False while a new engine is loading, after none could be loaded, and while one in another process is away."""
        self.busy_since_s: float | None = None
        """When the current call to the engine, or the loading of a new one, began; None while idle."""

    def embed(self, texts: Sequence[TokenIds]) -> list[Outcome]:
        """Embed one batch; returns one outcome per text, in order. Raises EngineFailed, and Abandoned while the engine is away."""
        while True:
            try:
                outcomes = self._attempt(texts)
            except EngineAway as away:
                self._wait(away)
            except EngineFailed as failed:
                self._rebuild(failed)
            else:
                self._rebuilds = 0
                self._note_answer()
                return outcomes

    def check_engine(self) -> None:
        """Embed the golden texts, in smaller batches if they do not fit into memory. Raises EngineFailed unless every vector is right."""
        try:
            worst = self._timed(lambda: worst_cosine(self._engine, self._golden, limit_tokens=self.limit_tokens))
        except OutOfMemory as error:
            if not self._has_smaller(self.limit_tokens // 2, str(error)):
                raise EngineFailed(f"the golden texts do not fit into memory: {error}") from error
            self.check_engine()
            return
        except EngineAway:
            raise
        except (RuntimeError, ValueError) as error:
            raise EngineFailed(f"the engine fails on the golden texts: {error}") from error
        if worst < WORST_ALLOWED_COSINE:
            raise EngineFailed(f"the engine's vectors of the golden texts are wrong (cosine {worst:.4f}, at least {WORST_ALLOWED_COSINE})")

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _attempt(self, texts: Sequence[TokenIds]) -> list[Outcome]:
        try:
            vectors = self._timed(lambda: self._engine.embed(texts))
        except EngineAway:
            raise
        except EngineDied as error:
            raise EngineFailed(str(error)) from error
        except OutOfMemory as error:
            too_small, reason = True, str(error)
        except (RuntimeError, ValueError) as error:
            too_small, reason = False, _reason(error)
        else:
            return self._checked(texts, vectors)
        # Outside the except clauses: there the exception would keep alive what the engine held when it failed.
        return self._retry_smaller(texts, reason) if too_small else self._isolate(texts, reason)

    def _checked(self, texts: Sequence[TokenIds], vectors: Vectors) -> list[Outcome]:
        if vectors.shape != (len(texts), self._engine.dim):
            raise EngineFailed(f"the engine gave {vectors.shape} numbers for {len(texts)} texts of {self._engine.dim} dimensions")
        if _have_length_1(vectors):
            return list(vectors)
        return self._isolate(texts, "the engine gives no finite vector for this text")

    def _isolate(self, texts: Sequence[TokenIds], reason: str) -> list[Outcome]:
        if len(texts) > 1:
            return self._attempt_halves(texts)
        self.check_engine()
        return [EmbeddingFailed(reason)]

    def _retry_smaller(self, texts: Sequence[TokenIds], reason: str) -> list[Outcome]:
        if len(texts) == 1:
            raise EngineFailed(f"one text alone does not fit into memory: {reason}")
        self._has_smaller(sum(map(len, texts)) // 2, reason)
        return self._attempt_halves(texts)

    def _has_smaller(self, tokens: int, reason: str) -> bool:
        """Make later batches smaller, but never smaller than one text may be; return whether they are."""
        limit = max(tokens, self._engine.max_tokens)
        if limit >= self.limit_tokens:
            return False
        self.limit_tokens = limit
        self._say(f"the engine's memory is too small for a batch ({reason}); batches have at most {limit} tokens from now on")
        return True

    def _attempt_halves(self, texts: Sequence[TokenIds]) -> list[Outcome]:
        middle = len(texts) // 2
        return self._attempt(texts[:middle]) + self._attempt(texts[middle:])

    def _wait(self, away: EngineAway) -> None:
        """Wait before an engine that is away is asked again. Raises Abandoned if the service gives up meanwhile."""
        if self.is_up:
            self.is_up = False
            self._say(f"the engine is away ({away}); its texts are held, and it is asked again until it answers")
        seconds = max(away.retry_s, AWAY_S[min(self._refusals, len(AWAY_S) - 1)])
        self._refusals += 1
        if self._pause(seconds):
            raise Abandoned

    def _note_answer(self) -> None:
        if self._refusals:
            self._refusals = 0
            self.is_up = True
            self._say("the engine answers again")

    def _rebuild(self, failed: EngineFailed) -> None:
        """Replace the engine. Raises EngineFailed after `REBUILDS` new engines in a row."""
        last: Exception = failed
        self.is_up = False
        while self._rebuilds < REBUILDS:
            self._rebuilds += 1
            self.restarts += 1
            self._say(f"{last}; loading another engine ({self._rebuilds} of {REBUILDS})")
            self._timed(self._engine.close)
            try:
                self._engine = self._timed(self._new_engine)
                self.check_engine()
            except (ModelError, EngineFailed, EngineAway) as error:
                last = error
            else:
                self.is_up = True
                return
        raise EngineFailed(f"{failed}; {REBUILDS} new engines did not help") from last

    def _timed(self, call: Callable[[], T]) -> T:
        self.busy_since_s = self._clock()
        try:
            return call()
        finally:
            self.busy_since_s = None


def _reason(error: Exception) -> str:
    return "longer than the model's limit" if isinstance(error, TextTooLong) else f"the engine fails on this text: {error}"


WORST_ALLOWED_COSINE = 0.998
"""A lower cosine means another model or a broken engine. float16, bfloat16 and llama.cpp's gelu all stay above 0.999 (design: identity)."""
_UNIT_TOLERANCE = 0.001
"""Largest distance from length 1; engines scale in float32, which is exact to 1e-6."""


def worst_cosine(engine: Engine, golden: Golden, *, limit_tokens: int | None = None) -> float:
    """Embed the golden texts that the engine can take; return the lowest cosine to the right vectors, -1 … 1.

    A batch has at most `limit_tokens` tokens (default: the engine's budget). Vectors of the wrong shape or of another length than 1
    count as -1. Raises what the engine raises.
    """
    chosen = [index for index, ids in enumerate(golden.ids) if len(ids) <= engine.max_tokens]
    worst = 1.0 if chosen else -1.0
    for batch in _batches(golden, chosen, min(limit_tokens or engine.batch_tokens, engine.batch_tokens)):
        right = golden.vectors[batch]
        vectors = engine.embed([golden.ids[index] for index in batch])
        if vectors.shape != right.shape or not _have_length_1(vectors):
            return -1.0
        worst = min(worst, float((vectors * right).sum(axis=1).min()))
    return worst


def _have_length_1(vectors: Vectors) -> bool:
    """Whether every row has length 1; a row of zeros or one that is not finite has not."""
    return bool((np.abs(np.linalg.norm(vectors, axis=1) - 1) <= _UNIT_TOLERANCE).all())


def _batches(golden: Golden, chosen: list[int], batch_tokens: int) -> list[list[int]]:
    """Cut the chosen texts, in order, into batches of at most `batch_tokens` tokens."""
    batches: list[list[int]] = []
    room = 0
    for index in chosen:
        tokens = len(golden.ids[index])
        if not batches or tokens > room:
            batches.append([])
            room = batch_tokens
        batches[-1].append(index)
        room -= tokens
    return batches
