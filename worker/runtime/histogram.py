"""A histogram that the steps fill and a scrape reads.

Prometheus' client takes one value per call, but a step has a thousand lines at once. Nothing here knows that client or a clock.
"""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
LONG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0, 3_600.0, 21_600.0, 86_400.0)
"""For times that may reach a day, as while a worker catches up."""
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0, 2_048.0, 4_096.0)
TOKENS = (16.0, 64.0, 256.0, 512.0, 1_024.0, 2_048.0, 4_096.0, 8_192.0, 16_384.0, 32_768.0, 65_536.0)


class HistogramSnapshot(NamedTuple):
    """The content of a histogram at one moment."""

    buckets: list[tuple[float, int]]
    """Upper bounds, the last one infinite, each with the number of values up to it."""
    total: float
    """Sum of all values."""


class Histogram:
    """Counts only grow, and each value is in exactly one bucket.

    Thread: any.
    """

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        """`bounds`: upper bounds of the buckets, ascending; an unbounded bucket follows."""
        self._lock = threading.Lock()
        self._bounds = np.array(bounds, dtype=np.float64)
        self._counts = np.zeros(len(bounds) + 1, dtype=np.int64)
        self._total = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        bucket = int(self._bounds.searchsorted(value))
        with self._lock:
            self._counts[bucket] += 1
            self._total += value

    def add_many(self, values: npt.NDArray[np.float64]) -> None:
        """Count n values: float64[n]."""
        counts = np.bincount(self._bounds.searchsorted(values), minlength=len(self._counts))
        with self._lock:
            self._counts += counts
            self._total += float(values.sum())

    def seen(self) -> HistogramSnapshot:
        """Return the counts so far."""
        with self._lock:
            counts, total = self._counts.cumsum().tolist(), self._total
        return HistogramSnapshot(list(zip([*self._bounds.tolist(), float("inf")], counts, strict=True)), total)
