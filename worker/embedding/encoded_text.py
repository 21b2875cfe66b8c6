"""What goes into the embedder and what comes back: texts as token ids, and what became of each."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from worker.embedding.batcher import Urgency
from worker.embedding.model.space import CacheKey
from worker.embedding.model.vectors import Outcome, TokenIds


class EncodedText(NamedTuple):
    """A text to be embedded."""

    ids: TokenIds
    key: CacheKey | None
    """The cache key under which its vector is kept; None: it is not."""
    topic: str = ""
    """Whose share of the engine it takes, unless it is a query: a topic's or a requester's."""
    urgency: Urgency = "bulk"
    is_template: bool = False
    """Whether it is a template of the index."""
    is_late: Callable[[float], bool] = lambda _now_s: False
    """Whether its vector is of no use any more; asked on the engine's thread when its batch begins, with the time then."""


class EmbeddingLate(NamedTuple):
    """The text was not computed because it was too late."""


class Embedded(NamedTuple):
    """What became of one text."""

    place: int
    """Its place in the list that was submitted."""
    outcome: Outcome | EmbeddingLate
    started_s: float
    """When its batch began; on the clock of `time.monotonic`."""
    ended_s: float


Done = Callable[[Sequence[Embedded]], None]
"""Takes what became of some of the texts of one `submit`: those of one batch. Called on the embed thread; may wait."""


class Submit(Protocol):
    """Queues texts for the engine."""

    def __call__(self, texts: Sequence[EncodedText], done: Done) -> None:
        """Each text is in exactly one call of `done`, unless the service stops hard; never blocks."""


class TextQueue(Protocol):
    """What texts of clients wait in: an embedder, or several."""

    def submit(self, texts: Sequence[EncodedText], done: Done) -> None:
        """See `Submit`."""

    def wait_s(self, requester: str, tokens: int) -> float:
        """Return the seconds of work before so many further online tokens of a requester."""

    def backlog_s(self) -> float:
        """Return the seconds of work that wait, of queries and of clients."""
