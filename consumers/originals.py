"""The original records of one assignment for as long as they are not finished: dead letters are made of them.

`consumers.ledger` is the only caller and holds its lock around every call. Records are kept by the batch in which they arrived. Once less
than half of a batch's bytes or records are open, only the open ones are kept, so at most twice the open bytes are reachable from here.
"""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from consumers.record import Record, Records


@dataclass(slots=True)
class _Batch:
    """Records that arrived together, and which of them are open; both are in the order of `arrival`."""

    records: Records
    arrival: NDArray[np.int64]
    """int64[n]: ascending."""
    is_open: NDArray[np.bool_]
    came_s: float
    last: int
    """Arrival number of its last record when it arrived."""
    kept_bytes: int
    open_bytes: int
    open_records: int

    def release(self, arrival: NDArray[np.int64], raw_bytes: int) -> None:
        """Let go of records that are finished."""
        self.open_records -= arrival.size
        self.open_bytes -= raw_bytes
        if not self.open_records:
            return
        self.is_open[np.searchsorted(self.arrival, arrival)] = False
        if 2 * self.open_bytes < self.kept_bytes or 2 * self.open_records < self.arrival.size:
            self.records, self.arrival = self.records.where(self.is_open), self.arrival[self.is_open]
            self.is_open = np.ones(self.open_records, np.bool_)
            self.kept_bytes = self.open_bytes


class Originals:
    """Every open record of an assignment, by its arrival number, until `forget_all`.

    Thread: any, under its Ledger's lock.
    """

    __slots__ = ("_batches", "_first")

    def __init__(self) -> None:
        self._batches: list[_Batch] = []
        self._first: list[int] = []
        """Arrival number of the first record of each batch when it arrived."""

    def keep(self, records: Records, first: int, *, size_bytes: int, came_s: float) -> None:
        """Keep records that have just arrived, the first under this arrival number."""
        arrival = np.arange(first, first + records.size)
        is_open = np.ones(records.size, np.bool_)
        self._batches.append(_Batch(records, arrival, is_open, came_s, first + records.size - 1, size_bytes, size_bytes, records.size))
        self._first.append(first)

    def record(self, arrival: int) -> Record:
        """Return an open record."""
        batch = self._batches[self._place(arrival)]
        return batch.records.record(int(np.searchsorted(batch.arrival, arrival)))

    def came_s(self, arrival: int) -> float:
        """Return when an open record arrived."""
        return self._batches[self._place(arrival)].came_s

    def release(self, arrival: NDArray[np.int64], raw_bytes: NDArray[np.int64]) -> None:
        """Let go of records that are finished, ascending, with the bytes of each."""
        begin = 0
        while self._batches and begin < arrival.size:
            place = self._place(int(arrival[begin]))
            batch = self._batches[place]
            end = arrival.size if arrival[-1] <= batch.last else int(np.searchsorted(arrival, batch.last, side="right"))
            batch.release(arrival[begin:end], int(raw_bytes[begin:end].sum()))
            if not batch.open_records:
                del self._batches[place], self._first[place]
            begin = end

    def forget_all(self) -> None:
        """Let go of all records: the assignment has ended."""
        self._batches.clear()
        self._first.clear()

    def _place(self, arrival: int) -> int:
        return bisect_right(self._first, arrival) - 1
