"""An engine without a model: a text's vector is a hash of its token ids. It fails, dies or hangs on request.

For tests that need an engine but no meaningful vectors. `tests/contracts/test_engine.py` runs one suite on it and on the real engines.
The switches are plain attributes, set between calls or from another thread.
"""

import hashlib
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worker.embedding.engine.engine import EngineDied, OutOfMemory, TextTooLong
from worker.embedding.model.vectors import TokenIds, Vectors


class FakeEngine:
    """A vector depends only on the token ids of its own text.

    Thread: one for `embed`, as for every engine; the switches any.
    """

    name = "fake"
    on_cpu = True

    def __init__(self, dim: int = 384, max_tokens: int = 256, batch_tokens: int = 512) -> None:
        self.dim = dim
        self.max_tokens = max_tokens
        self.batch_tokens = batch_tokens
        self.closed = False
        self.calls: list[list[int]] = []
        """Tokens of each text, for every call that was not refused."""
        self.raises_on: set[int] = set()
        """A batch with a text that contains one of these ids raises RuntimeError."""
        self.nan_on: set[int] = set()
        """A text that contains one of these ids gets a vector that is not finite."""
        self.vectors_missing = 0
        """How many vectors too few it returns."""
        self.wrong = False
        """Return the vectors of another model: the golden texts fail."""
        self.memory_tokens: int | None = None
        """A batch of more tokens raises OutOfMemory."""
        self.dies_on: set[int] = set()
        """A batch with a text that contains one of these ids kills the engine."""
        self.dead = False
        """Every call raises EngineDied."""
        self.gate: threading.Event | None = None
        """If set, `embed` sets `entered` and then waits for this event."""
        self.entered = threading.Event()

    def embed(self, batch: Sequence[TokenIds]) -> Vectors:
        lengths = [len(ids) for ids in batch]
        if self.closed:
            raise RuntimeError("the engine is closed")
        if max(lengths, default=0) > self.max_tokens:
            raise TextTooLong(f"a text has {max(lengths)} tokens; the model takes {self.max_tokens}")
        if 0 in lengths:
            raise ValueError(f"text {lengths.index(0)} of {len(lengths)} has no tokens")
        if sum(lengths) > self.batch_tokens:
            raise ValueError(f"a batch has {sum(lengths)} tokens; the engine takes {self.batch_tokens}")
        gate = self.gate
        self.calls.append(lengths)
        self.entered.set()
        if gate is not None:
            gate.wait()
        self.dead = self.dead or any(_holds(ids, self.dies_on) for ids in batch)
        if self.dead:
            raise EngineDied("the engine is told to be dead")
        if self.memory_tokens is not None and sum(lengths) > self.memory_tokens:
            raise OutOfMemory(f"no memory for {sum(lengths)} tokens")
        if any(_holds(ids, self.raises_on) for ids in batch):
            raise RuntimeError("asked to fail on this text")
        vectors = np.array([self._vector(ids) for ids in batch], dtype=np.float32).reshape(len(batch), self.dim)
        return vectors[: len(batch) - self.vectors_missing]

    def close(self) -> None:
        self.closed = True

    def _vector(self, ids: TokenIds) -> NDArray[np.float32]:
        if _holds(ids, self.nan_on):
            return np.full(self.dim, np.nan, dtype=np.float32)
        key = b"wrong" if self.wrong else b"right"
        seed = hashlib.blake2b(np.asarray(ids, dtype=np.int32).tobytes(), key=key).digest()
        vector = np.random.default_rng(list(seed)).standard_normal(self.dim).astype(np.float32)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def _holds(ids: TokenIds, marked: set[int]) -> bool:
    return not marked.isdisjoint(np.asarray(ids).tolist())
