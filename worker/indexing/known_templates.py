"""Templates whose rows this process has seen acknowledged, at 28 bytes each.

Flights look up a list of templates at a time, under their own lock. A template that is missing here costs one cache lookup; one that is
found skips embedding and storing, so a false hit must be impossible: both halves of the id are compared.

Recent templates are in a dict. When it is full they are merged into sorted columns, which are searched by the first half of the id.
A dict of all templates would take 180 bytes each.
"""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.row import TemplateId

MOST_KNOWN: Final = 500_000
_RECENT = 4096
_RECENT_SHARE = 64
"""The dict holds at most `_RECENT` templates, or 1/`_RECENT_SHARE` of all if that is more. A merge copies every column once (0.2 s at
five million templates)."""
_NS = 1_000_000_000


def halves_of(templates: Sequence[TemplateId]) -> NDArray[np.uint64]:
    """Return ids of 32 hex digits as numbers: uint64[n, 2], first and second half."""
    return np.frombuffer(bytes.fromhex("".join(templates)), dtype=">u8").astype(np.uint64).reshape(-1, 2)


class _Recent(NamedTuple):
    tokens: int
    added_ns: int


class _Columns(NamedTuple):
    """Templates sorted by `high`; row i of every column belongs to template i."""

    high: NDArray[np.uint64]
    """The first half of the id."""
    low: NDArray[np.uint64]
    added_ns: NDArray[np.int64]
    """On the caller's clock; unique, so that the oldest n are defined."""
    tokens: NDArray[np.uint32]

    def template(self, row: int) -> TemplateId:
        """Return the id of one template."""
        return TemplateId(f"{int(self.high[row]):016x}{int(self.low[row]):016x}")

    def select(self, keep: NDArray[np.bool_]) -> "_Columns":
        return _Columns._make(column[keep] for column in self)

    def locate(self, halves: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return for each id of uint64[n, 2] its row, and whether it is there at all."""
        if not len(self.high):
            return np.zeros(len(halves), np.intp), np.zeros(len(halves), np.bool_)
        at = np.minimum(np.searchsorted(self.high, halves[:, 0]), len(self.high) - 1)
        return at, (self.high[at] == halves[:, 0]) & (self.low[at] == halves[:, 1])


def _empty() -> _Columns:
    return _Columns(np.empty(0, np.uint64), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.uint32))


class KnownTemplates:
    """At most `most` templates, each for at most `keep_s` seconds after it was last added; the oldest go first. `keep_s` may change.

    Thread: one at a time; flights hold their lock.
    """

    def __init__(self, *, most: int, keep_s: float = math.inf) -> None:
        self._most = most
        self.keep_s = keep_s
        self._recent: dict[TemplateId, _Recent] = {}
        self._columns = _empty()
        self._last_ns = 0
        self._next_sample = 0

    def add_template(self, template: TemplateId, tokens: int, now_s: float) -> None:
        """Add a template (32 hex digits), or renew it; `tokens` is the length of the model's input for it."""
        if len(self._recent) >= self._most_recent(len(self._columns.high)) and template not in self._recent:
            self._merge_recent(now_s)
        self._last_ns = max(int(now_s * _NS), self._last_ns + 1)
        self._recent[template] = _Recent(tokens, self._last_ns)

    def find_tokens(self, templates: Sequence[TemplateId], halves: NDArray[np.uint64], now_s: float) -> NDArray[np.int64]:
        """Return the tokens of each template, -1 if it is not known: int64[n]; `halves` is `halves_of(templates)`."""
        oldest_ns = self._oldest_ns(now_s)
        at, there = self._columns.locate(halves)
        found = np.full(len(templates), -1, np.int64)
        if there.any():
            there &= self._columns.added_ns[at] >= oldest_ns
            found[there] = self._columns.tokens[at[there]]
        if not self._recent:
            return found
        tokens: list[int] = found.tolist()
        for i, recent in enumerate(map(self._recent.get, templates)):
            if recent is not None:
                tokens[i] = recent.tokens if recent.added_ns >= oldest_ns else -1
        return np.array(tokens, np.int64)

    def sample(self, most: int, now_s: float) -> list[TemplateId]:
        """Return at most `most` known templates; calls in a row go round all of them."""
        oldest_ns = self._oldest_ns(now_s)
        recent = [template for template, one in self._recent.items() if one.added_ns >= oldest_ns]
        rows = np.flatnonzero(self._columns.added_ns >= oldest_ns)
        count = len(recent) + len(rows)
        places = [(self._next_sample + n) % count for n in range(min(most, count))]
        self._next_sample += len(places)
        return [recent[place] if place < len(recent) else self._columns.template(int(rows[place - len(recent)])) for place in places]

    def forget_all(self) -> None:
        """Know no template any more."""
        self._recent, self._columns = {}, _empty()

    def _most_recent(self, in_columns: int) -> int:
        return min(max(self._most // 8, 1), max(_RECENT, in_columns // _RECENT_SHARE))

    def _oldest_ns(self, now_s: float) -> float:
        return (now_s - self.keep_s) * _NS

    def _merge_recent(self, now_s: float) -> None:
        """Move the dict into the columns; drop what is older than `keep_s`, then the oldest beyond `most`."""
        halves = halves_of(list(self._recent))
        added = np.array([recent.added_ns for recent in self._recent.values()], np.int64)
        tokens = np.array([recent.tokens for recent in self._recent.values()], np.uint32)
        self._recent = {}
        order = np.argsort(halves[:, 0], kind="stable")
        fresh = _Columns(halves[order, 0], halves[order, 1], added[order], tokens[order])
        at, there = self._columns.locate(halves)
        keep = self._columns.added_ns >= self._oldest_ns(now_s)
        keep[at[there]] = False  # added again since
        old = self._columns.select(keep)
        before = np.searchsorted(old.high, fresh.high)
        columns: list[tuple[NDArray[Any], NDArray[Any]]] = list(zip(old, fresh, strict=True))
        merged = _Columns._make(np.insert(there, before, new) for there, new in columns)
        too_many = len(merged.high) - (self._most - self._most_recent(len(merged.high)))
        if too_many > 0:
            merged = merged.select(merged.added_ns > np.partition(merged.added_ns, too_many - 1)[too_many - 1])
        self._columns = merged
