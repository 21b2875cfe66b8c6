"""How much may be open at once: the counts of a Ledger under its cap, and the lock that all of its parts share.

`consumers.ledger` and `consumers.assignment` are the only callers.
"""

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


class Cap:
    """Records and bytes that are open, and at most as many of them; one record larger than that may be open alone.

    Thread: any; whatever changes a count holds the lock, and so does `fitting`.
    """

    def __init__(self, *, cap_records: int, cap_bytes: int) -> None:
        self.cap_records = cap_records
        self.cap_bytes = cap_bytes
        self.lock = threading.Lock()
        self._changed = threading.Condition(self.lock)
        self.open_records = 0
        self.open_bytes = 0
        self.decoded_bytes = 0

    def fitting(self, sizes_bytes: NDArray[np.int64]) -> int:
        """Return how many of the first of n ≥ 1 records of these sizes there is room for."""
        sums_bytes = np.cumsum(sizes_bytes[: max(self.cap_records - self.open_records, 0)])
        fitting = int(np.searchsorted(sums_bytes, self.cap_bytes - self.open_bytes, side="right"))
        return fitting or int(self._is_empty())

    def release(self, records: int, open_bytes: int, decoded_bytes: int) -> None:
        """Count down; the lock is held."""
        self.open_records -= records
        self.open_bytes -= open_bytes
        self.decoded_bytes -= decoded_bytes
        self._changed.notify_all()

    def has_room(self) -> bool:
        """Whether the counts are below the low-water mark, half of the cap."""
        return self.open_records <= self.cap_records // 2 and self.open_bytes <= self.cap_bytes // 2

    def has_decoded_room(self) -> bool:
        """Whether the decoded bytes downstream are under the cap."""
        return self.decoded_bytes < self.cap_bytes

    def wait_for_room(self, size_bytes: int, timeout_s: float) -> bool:
        """Wait until a record of this size fits and an eighth of the cap is free; False when the time is up first."""
        most_records, most_bytes = self.cap_records * 7 // 8, self.cap_bytes - max(size_bytes, self.cap_bytes // 8)
        return self.wait_for(lambda: self._is_empty() or (self.open_records <= most_records and self.open_bytes <= most_bytes), timeout_s)

    def wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until something is released that makes the condition true; False when the time is up first."""
        with self._changed:
            return self._changed.wait_for(condition, timeout_s)

    def notify(self) -> None:
        """Let those who wait look again; the lock is held."""
        self._changed.notify_all()

    def _is_empty(self) -> bool:
        return not self.open_records and not self.open_bytes
