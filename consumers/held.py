"""Records that were fetched and not admitted, because the ledger has no room for them. `consumers.poller` is the only caller."""

from collections import deque
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from consumers.assignment import Receipt
from consumers.ledger import Ledger
from consumers.record import Partition, Records


class HeldRecords:
    """Batches in the order in which they were fetched; the ledger takes them from the front. A record is measured only once.

    Thread: the poller's.
    """

    def __init__(self) -> None:
        self._batches: deque[tuple[Records, NDArray[np.int64]]] = deque()
        """With the size of each record."""
        self.size = 0
        """How many records."""

    @property
    def first_bytes(self) -> int:
        """The size of the next record; only if there is one."""
        return int(self._batches[0][1][0])

    @property
    def partitions(self) -> set[Partition]:
        """Where the records are from."""
        return {records.source for records, _ in self._batches}

    def add(self, fetched: Iterable[Records]) -> None:
        """Put batches behind the others."""
        for records in fetched:
            self._batches.append((records, records.sizes_bytes()))
            self.size += records.size

    def admit(self, ledger: Ledger) -> list[Receipt]:
        """Let the ledger take as many as it has room for; return a receipt for each batch, or part of one."""
        admitted: list[Receipt] = []
        while self._batches:
            records, sizes_bytes = self._batches[0]
            receipt = ledger.admit(records, sizes_bytes)
            if receipt is None:
                break
            admitted.append(receipt)
            taken = receipt.records.size
            self.size -= taken
            if taken < records.size:
                self._batches[0] = records.between(taken, records.size), sizes_bytes[taken:]
                break
            self._batches.popleft()
        return admitted

    def drop(self, gone: Collection[Partition]) -> None:
        """Forget the records of these partitions (WaitingPlace)."""
        self._batches = deque(batch for batch in self._batches if batch[0].source not in gone)
        self.size = sum(records.size for records, _ in self._batches)

    def clear(self) -> None:
        """Forget all records."""
        self._batches.clear()
        self.size = 0
