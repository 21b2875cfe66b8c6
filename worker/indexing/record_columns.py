"""Records as columns: what joining entries over records is given besides what was decoded."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RecordColumns(NamedTuple):
    """n records of one partition or of several, those of each as neighbours in the order of their offsets.

    Thread: any.
    """

    offset: NDArray[np.int64]
    time_ms: NDArray[np.int64]
    key: Sequence[bytes | None] | None
    value: Sequence[bytes | None]
    ends: Sequence[int]
    """The row after the last record of each partition, ascending; the last one is n."""

    def are_linked(self, row: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of m lines of one partition may continue the one before: its next offset, its key. bool[m].

        `row` is the first record of each line and `last` its last one, both int64[m] and ascending.
        """
        linked = np.zeros(len(row), np.bool_)
        before, own = last[:-1], row[1:]
        linked[1:] = (own - before == 1) & (self.offset[own] - self.offset[before] == 1)
        if self.key is not None:
            key = self.key
            pairs = zip(own.tolist(), before.tolist(), strict=True)
            linked[1:] &= np.fromiter((key[one] == key[other] for one, other in pairs), np.bool_, len(own))
        return linked
