"""Since when what stands in a queue has been there, noted once a list and not once an entry."""

from collections import deque


class Ages:
    """Entries leave in the order in which they came.

    Thread: one at a time; its owner's lock.
    """

    def __init__(self) -> None:
        self._came: deque[tuple[int, float]] = deque()
        """How many are left of each list, and since when."""

    def came(self, entries: int, now_s: float) -> None:
        """A list has come."""
        if entries:
            self._came.append((entries, now_s))

    def gone(self, entries: int) -> float:
        """Let so many go, at least one; return since when the first of them was there."""
        first_s = self._came[0][1]
        while entries:
            left, since_s = self._came.popleft()
            if left > entries:
                self._came.appendleft((left - entries, since_s))
            entries -= min(left, entries)
        return first_s

    def clear(self) -> None:
        """Nothing is there any more."""
        self._came.clear()
