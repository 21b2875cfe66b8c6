"""What the embedding service has done, by model: for metrics and the page."""

import threading
from collections import Counter

from worker.embedding.batcher import Urgency
from worker.embedding.cache.vector_levels import VectorSource
from worker.runtime.histogram import Histogram


class ServedTally:
    """Counters that only grow.

    Thread: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: Counter[int] = Counter()
        """By status."""
        self.tokens: Counter[VectorSource] = Counter()
        """By where the vector came from; texts that share one computation count as the engine's each."""
        self.seconds: dict[Urgency, Histogram] = {"online": Histogram(), "bulk": Histogram()}
        """From a request's arrival to its answer, by class."""

    def count(self, source: VectorSource, tokens: int) -> None:
        """Count a text."""
        with self._lock:
            self.tokens[source] += tokens

    def answered(self, status: int, urgency: Urgency, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self.requests[status] += 1
            if urgency in self.seconds:
                self.seconds[urgency].add(seconds)
