"""A request of the embedding API on its way to its vectors, from the event loop to the engine and back."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sinks.row import Vector
from worker.embedding.batcher import Urgency
from worker.embedding.model.vectors import TokenIds, Vectors
from worker.serving.embeddings.embedding_bodies import Truncate
from worker.serving.embeddings.embedding_errors import EmbeddingRefused, too_late, too_many_tokens
from worker.serving.embeddings.embedding_request import MOST_TOKENS

SLICE_TEXTS: Final = 128
"""Texts of a request that are tokenised at a time: a request with one text waits for 2 ms, not for 2,048 texts of another."""


@dataclass(frozen=True, slots=True)
class EmbeddedInputs:
    """The answer to a request: float32[n, dim], row i of input i."""

    vectors: Vectors
    tokens: int
    """Of all inputs, special tokens included."""
    truncated: tuple[int, ...]
    """Places of the inputs that were cut, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTerms:
    """How the inputs of a request are embedded."""

    prefix: str = ""
    """Put before each text."""
    requester: str = ""
    """Whose share of the engine it takes."""
    urgency: Urgency = "online"
    truncate: Truncate = "no"
    deadline_s: float = float("inf")
    """On the monotonic clock."""
    param: str = "input"
    """What the request calls its inputs."""


class EmbeddingWork:
    """Exactly one of `resolve`'s two outcomes is called once, unless the client hangs up first.

    Thread: any.
    """

    def __init__(
        self,
        inputs: Sequence[str] | Sequence[TokenIds],
        dim: int,
        terms: WorkTerms,
        resolve: Callable[[EmbeddedInputs | EmbeddingRefused], None],
    ) -> None:
        """`inputs`: texts, or token ids that the model's own tokenizer may have written; `dim`: components of a vector."""
        self.inputs = inputs
        self.terms = terms
        self._resolve = resolve
        self._lock = threading.Lock()
        self._vectors = np.empty((len(inputs), dim), dtype=np.float32)
        self._missing = len(inputs)
        self._tokens = 0
        self._truncated: list[int] = []
        self._is_over = False

    def slices(self) -> list["WorkSlice"]:
        """Return the request in parts of at most `SLICE_TEXTS` inputs."""
        firsts = range(0, len(self.inputs), SLICE_TEXTS)
        return [WorkSlice(self, first, min(first + SLICE_TEXTS, len(self.inputs))) for first in firsts]

    def is_late(self, now_s: float) -> bool:
        """Whether nobody waits for its vectors any more."""
        return self._is_over or now_s >= self.terms.deadline_s

    def hang_up(self) -> None:
        """Drop what is left of it: the client has gone."""
        with self._lock:
            self._is_over = True

    def count(self, tokens: int, truncated: Sequence[int]) -> None:
        """Add the tokens of some inputs, and the places of those that were cut. Refuses the request if it has too many tokens."""
        with self._lock:
            self._tokens += tokens
            self._truncated += truncated
            so_far = self._tokens
        if so_far > MOST_TOKENS:
            self.refuse(too_many_tokens(param=self.terms.param, tokens=so_far, most_tokens=MOST_TOKENS))

    def put(self, place: int, vector: Vector) -> None:
        """Take the vector of an input; the last one answers the request."""
        with self._lock:
            self._vectors[place] = vector
            self._missing -= 1
            if self._missing or self._is_over:
                return
            self._is_over = True
        self._resolve(EmbeddedInputs(self._vectors, self._tokens, tuple(sorted(self._truncated))))

    def refuse(self, why: EmbeddingRefused) -> None:
        """Answer the request with the reason; what is left of it is not computed."""
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._resolve(why)

    def refuse_late(self) -> None:
        """Answer it, if nothing has yet: its deadline has passed."""
        self.refuse(too_late())


@dataclass(frozen=True, slots=True)
class WorkSlice:
    """Some consecutive inputs of a request."""

    work: EmbeddingWork
    first: int
    end: int

    def __len__(self) -> int:
        """Return how many inputs they are."""
        return self.end - self.first

    @property
    def inputs(self) -> Sequence[str] | Sequence[TokenIds]:
        """The inputs."""
        return self.work.inputs[self.first : self.end]
