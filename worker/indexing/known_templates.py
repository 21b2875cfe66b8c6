"""Templates whose rows this process has seen acknowledged: 28 bytes each, however many there are.

Flights ask for a list of templates at a time and hold their own lock meanwhile. A template that is not found costs one look into the
cache; one that is found goes past everything, so nothing is found here that was not added.

What was added last stands in a dict; when that is full it is folded into sorted columns, which are searched by the first half of the
digest and compared in both. A dict of all of them would take 180 bytes each.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worker.embedding.model.space import words_of

_RECENT = 4096
_RECENT_SHARE = 64
"""Templates in the dict at most: so many, or this part of all. Folding moves every column once (0.2 s at five million)."""
_NS = 1_000_000_000


class _Recent(NamedTuple):
    tokens: int
    added_ns: int


class _Columns(NamedTuple):
    """Templates in the order of `high`; row i of every column is template i's."""

    high: NDArray[np.uint64]
    """The first half of the digest."""
    low: NDArray[np.uint64]
    added_ns: NDArray[np.int64]
    """On the clock of the caller; no two alike, so that the oldest are known."""
    tokens: NDArray[np.uint32]

    def only(self, keep: NDArray[np.bool_]) -> "_Columns":
        return _Columns._make(column[keep] for column in self)

    def places(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return where each digest of uint64[n, 2] stands, and whether it does."""
        if not len(self.high):
            return np.zeros(len(words), np.intp), np.zeros(len(words), np.bool_)
        at = np.minimum(np.searchsorted(self.high, words[:, 0]), len(self.high) - 1)
        return at, (self.high[at] == words[:, 0]) & (self.low[at] == words[:, 1])


def _empty() -> _Columns:
    return _Columns(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.uint32))


class KnownTemplates:
    """At most `most` templates, each for at most `keep_s` seconds (which may change) after it was added last; the oldest go first.

    Thread: one at a time; flights hold their lock.
    """

    def __init__(self, *, most: int, keep_s: float = math.inf) -> None:
        self._most = most
        self.keep_s = keep_s
        self._recent: dict[str, _Recent] = {}
        self._columns = _empty()
        self._last_ns = 0

    def add(self, template: str, tokens: int, now_s: float) -> None:
        """Know a template from now on; `tokens` is what its text costs. A template is 32 hex digits."""
        if len(self._recent) >= self._most_recent(len(self._columns.high)) and template not in self._recent:
            self._fold(now_s)
        self._last_ns = max(int(now_s * _NS), self._last_ns + 1)
        self._recent[template] = _Recent(tokens, self._last_ns)

    def find(self, templates: Sequence[str], words: NDArray[np.uint64], now_s: float) -> list[int]:
        """Return the tokens of each template, -1 for one that is not known; `words` is `words_of(templates)`."""
        oldest_ns = self._oldest_ns(now_s)
        at, there = self._columns.places(words)
        found = np.full(len(templates), -1, np.int64)
        if there.any():
            there &= self._columns.added_ns[at] >= oldest_ns
            found[there] = self._columns.tokens[at[there]]
        tokens: list[int] = found.tolist()
        for i, template in enumerate(templates):
            recent = self._recent.get(template)
            if recent is not None:
                tokens[i] = recent.tokens if recent.added_ns >= oldest_ns else -1
        return tokens

    def _most_recent(self, in_columns: int) -> int:
        return min(max(self._most // 8, 1), max(_RECENT, in_columns // _RECENT_SHARE))

    def _oldest_ns(self, now_s: float) -> float:
        return (now_s - self.keep_s) * _NS

    def _fold(self, now_s: float) -> None:
        """Move what is recent into the columns; what is too old leaves, and then the oldest that are too many."""
        words = words_of(list(self._recent))
        added = np.array([recent.added_ns for recent in self._recent.values()], np.int64)
        tokens = np.array([recent.tokens for recent in self._recent.values()], np.uint32)
        self._recent = {}
        order = np.argsort(words[:, 0], kind="stable")
        fresh = _Columns(words[order, 0], words[order, 1], added[order], tokens[order])
        at, there = self._columns.places(words)
        keep = self._columns.added_ns >= self._oldest_ns(now_s)
        keep[at[there]] = False  # added anew
        old = self._columns.only(keep)
        before = np.searchsorted(old.high, fresh.high)
        columns: list[tuple[NDArray[Any], NDArray[Any]]] = list(zip(old, fresh, strict=True))
        merged = _Columns._make(np.insert(there, before, new) for there, new in columns)
        too_many = len(merged.high) - (self._most - self._most_recent(len(merged.high)))
        if too_many > 0:
            merged = merged.only(merged.added_ns > np.partition(merged.added_ns, too_many - 1)[too_many - 1])
        self._columns = merged
