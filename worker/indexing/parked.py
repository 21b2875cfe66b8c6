"""Lines that wait for their templates to be stored, in memory of their own; `worker.indexing.flights` parks and releases them."""

from collections.abc import Sequence

import numpy as np

from worker.indexing.line_batch import LineBatch


class Parked:
    """Lines of one assignment; each is released once. Those that are left hold at most twice their memory.

    A template is named by its *place*: which of the values of the batch's `template` column it was when the lines were parked.

    Thread: one at a time; flights hold their lock.
    """

    __slots__ = ("_codes", "_ends", "_is_left", "_left", "_order", "batch", "topic")

    def __init__(self, batch: LineBatch) -> None:
        """`batch` shares no memory with others."""
        self.topic = batch.topic
        self._codes = np.arange(len(batch.lines.template.values))
        """By place: the template's code in the batch as it is now."""
        self._keep(batch)

    def first_rows(self) -> list[int]:
        """Return the first row of each template, by place; only before anything was released."""
        first_rows: list[int] = self._order[self._ends[:-1]].tolist()
        return first_rows

    def count(self, place: int) -> int:
        """Return how many lines of a template wait."""
        code = self._codes[place]
        return int(self._ends[code + 1] - self._ends[code])

    def release(self, places: Sequence[int]) -> LineBatch:
        """Return the lines of these templates, in the order in which they were parked."""
        codes = self._codes[np.array(places)]
        stretches = zip(self._ends[codes].tolist(), self._ends[codes + 1].tolist(), strict=True)
        rows = np.sort(np.concatenate([self._order[start:end] for start, end in stretches]))
        batch = self.batch
        if len(rows) == batch.size:
            return batch
        self._is_left[rows] = False
        self._left -= len(rows)
        if 2 * self._left < batch.size:
            left = np.flatnonzero(self._is_left)
            used = np.zeros(len(batch.lines.template.values), np.bool_)
            used[batch.lines.template.codes[left]] = True
            self._codes = (np.cumsum(used) - 1)[self._codes]  # as `take` numbers those values that are left
            self._keep(batch.take(left))
        return batch.take(rows)

    def _keep(self, batch: LineBatch) -> None:
        codes = batch.lines.template.codes
        self.batch = batch
        """Lines that are left, and at most as many that were released."""
        self._left = batch.size
        self._is_left = np.ones(batch.size, np.bool_)
        self._order = np.argsort(codes, kind="stable")
        """The rows, template by template."""
        self._ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(codes, minlength=len(batch.lines.template.values)))])
        """Where the rows of each template begin in `_order`, and where the last end."""
