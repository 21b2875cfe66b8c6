"""Groups of lines with how many they are, and the times of the first and of the last: summed up as columns, never line by line."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import grouped
from sinks.reading.group_names import GroupBy

_MOST_ROWS = 200_000
"""So many wait to be summed up, and as many as there are groups."""
_MOST_SORTED_ROWS = 10_000
"""More are grouped by Arrow's hash table before they are sorted: a million rows in 15 ms instead of 190 (of a few the call costs more)."""


class Groups(NamedTuple):
    """g groups, or parts of groups.

    Thread: any.
    """

    keys: list[NDArray[np.int64]]
    """A column for each part of the key, each int64[g]; none where everything is one group."""
    lines: NDArray[np.int64]
    first_ms: NDArray[np.int64]
    last_ms: NDArray[np.int64]


class Tally:
    """Adds up parts of groups, and gives numbers to texts so that they can be parts of keys.

    Thread: one.
    """

    def __init__(self) -> None:
        self._parts: list[Groups] = []
        self._rows = 0
        self._most_rows = _MOST_ROWS
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """Return the number of a text."""
        return self._codes.setdefault(text, len(self._codes))

    @property
    def size(self) -> int:
        """How many texts have a number."""
        return len(self._codes)

    def has(self, text: str) -> bool:
        """Whether a text has a number already."""
        return text in self._codes

    def texts(self) -> list[str]:
        """Return all texts by number."""
        return list(self._codes)

    def add(self, groups: Groups) -> None:
        """Add parts of groups; the same key may come any number of times."""
        if not len(groups.lines):
            return
        self._parts.append(groups)
        self._rows += len(groups.lines)
        if self._rows > self._most_rows:
            self._parts = [_sum(self._parts)]
            self._rows = len(self._parts[0].lines)
            self._most_rows = _MOST_ROWS + 2 * self._rows

    def groups(self) -> Groups | None:
        """Return every group once, those without lines left out; None if nothing was added."""
        if not self._parts:
            return None
        total = _sum(self._parts)
        return select(total, np.flatnonzero(total.lines))


def select(groups: Groups, rows: NDArray[np.int64]) -> Groups:
    """Return some groups, in this order."""
    return Groups([key[rows] for key in groups.keys], groups.lines[rows], groups.first_ms[rows], groups.last_ms[rows])


def top(groups: Groups, by: tuple[GroupBy, ...], most: int | None) -> Groups:
    """Return the groups in the order of an answer: by time where there is one, then the most lines first, then by key.

    Of what they are grouped by beside time, at most `most` values (or pairs of values) stay: those with the most lines in all.
    """
    times = [key for key, name in zip(groups.keys, by, strict=True) if name == "time"]
    others = [key for key, name in zip(groups.keys, by, strict=True) if name != "time"]
    order = np.lexsort((*others[::-1], -groups.lines, *times))
    if most is not None and others and not times:
        order = order[: max(most, 0)]
    elif most is not None and others:
        total = _sum([Groups(others, groups.lines, groups.first_ms, groups.last_ms)])
        best = np.lexsort((*total.keys[::-1], -total.lines))[: max(most, 0)]
        kept = set(zip(*(key[best].tolist() for key in total.keys), strict=True))
        rows = list(zip(*(key[order].tolist() for key in others), strict=True))
        order = order[np.fromiter((row in kept for row in rows), np.bool_, len(rows))]
    return select(groups, order)


def _sum(parts: list[Groups]) -> Groups:
    keys = [np.concatenate(columns) for columns in zip(*(part.keys for part in parts), strict=True)]
    lines, first_ms, last_ms = (np.concatenate(columns) for columns in zip(*(part[1:] for part in parts), strict=True))
    if keys and len(lines) > _MOST_SORTED_ROWS:
        *keys, lines, first_ms, last_ms = grouped(keys, lines, first_ms, last_ms)
    if keys:
        order = np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
        lines, first_ms, last_ms = lines[order], first_ms[order], last_ms[order]
        is_new = np.ones(len(lines), np.bool_)
        is_new[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        starts = np.flatnonzero(is_new)
    else:
        starts = np.zeros(1, np.int64)
    return Groups(
        [key[starts] for key in keys],
        np.add.reduceat(lines, starts),
        np.minimum.reduceat(first_ms, starts),
        np.maximum.reduceat(last_ms, starts),
    )
