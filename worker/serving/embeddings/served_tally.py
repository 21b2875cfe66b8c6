"""What the embedding service has done, by model: for metrics and the page."""

import threading
from collections import Counter
from typing import Final

from worker.embedding.batcher import Urgency
from worker.embedding.cache.vector_levels import VectorSource
from worker.runtime.histogram import Histogram

UNKNOWN_MODEL: Final = ""
"""The label of requests that were refused."""


class ServedTally:
    """Counters that only grow.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[int] = Counter()
        """By status; those that were refused are counted under no model, for many name none that there is."""
        self.tokens: Counter[VectorSource] = Counter()
        """By where the vector came from; texts that share one computation count as the engine's each."""
        self.seconds: dict[Urgency, Histogram] = {"online": Histogram(), "bulk": Histogram()}
        """From a request's arrival to its answer, by class."""

    @property
    def answers(self) -> int:
        """Requests that have got their vectors."""
        return self.requests[200]

    def count(self, source: VectorSource, tokens: int) -> None:
        """Count a text."""
        with self._lock:
            self.tokens[source] += tokens

    def answered(self, urgency: Urgency, seconds: float) -> None:
        """Count a request that has its vectors."""
        with self._lock:
            self.requests[200] += 1
            self.seconds[urgency].add(seconds)

    def refused(self, status: int) -> None:
        """Count a request that has none."""
        with self._lock:
            self.requests[status] += 1
