"""What the store stage has done so far: counters and spreads for the metrics."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from worker.runtime.histogram import LONG_SECONDS, Histogram

WriteKind = Literal["templates", "blocks", "merged", "deleted"]
"""What a call to the sink writes: templates, blocks, merged blocks; or that it deletes inner ones."""
WRITE_KINDS: tuple[WriteKind, ...] = get_args(WriteKind)


@dataclass(slots=True)
class StoreTally:
    """Counters that only grow; several store threads add to them, anyone reads them.

    Thread: any.
    """

    lines: int = 0
    """Lines and chunks of long lines, acknowledged."""
    templates: int = 0
    blocks: int = 0
    block_bytes: int = 0
    """What those blocks took."""
    merged: int = 0
    """Merged blocks that were written."""
    sources: int = 0
    """Blocks that merged ones stand for."""
    deleted: int = 0
    seconds: float = 0.0
    """Inside the sink."""
    upkeep_seconds: float = 0.0
    """Spent merging, deleting, and looking at the blocks of earlier runs."""
    writes: dict[WriteKind, Histogram] = field(default_factory=lambda: {kind: Histogram() for kind in WRITE_KINDS})
    """Seconds of each write that was taken."""
    errors: Counter[str] = field(default_factory=Counter)
    """Writes that were not: `busy` or `rejected`."""
    searchable: Histogram = field(default_factory=lambda: Histogram(LONG_SECONDS))
    """Seconds from a line's Kafka timestamp until it was acknowledged."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, lines: int = 0, templates: int = 0, blocks: int = 0, block_bytes: int = 0) -> None:
        """Count what was acknowledged."""
        with self._lock:
            self.lines += lines
            self.templates += templates
            self.blocks += blocks
            self.block_bytes += block_bytes

    def add_upkeep(self, *, merged: int = 0, sources: int = 0, deleted: int = 0, seconds: float = 0.0) -> None:
        """Count what was merged and deleted."""
        with self._lock:
            self.merged += merged
            self.sources += sources
            self.deleted += deleted
            self.upkeep_seconds += seconds

    def wrote(self, kind: WriteKind, seconds: float) -> None:
        """Note the time of a write that was taken."""
        with self._lock:
            self.seconds += seconds
        self.writes[kind].add(seconds)

    def failed(self, kind: str) -> None:
        """Count a write that was not taken."""
        with self._lock:
            self.errors[kind] += 1

    def note_ages(self, times_ms: NDArray[np.int64], now_ms: float) -> None:
        """Note how old lines are; a line without a time counts as none, and a clock behind the producer's gives no age below 0."""
        known_ms = times_ms[times_ms > 0].astype(np.float64)
        self.searchable.add_many(np.maximum(now_ms - known_ms, 0.0) / 1000)
