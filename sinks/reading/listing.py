"""Lists the blocks that pass a filter newest first, a page at a time, from a sink that orders them or from one that does not.

A sink that orders gives its latest blocks at once. Any other is asked for windows of time that end where the last page began: a window
with too many blocks is halved, one with few makes the next one longer. Windows ask for blocks that *overlap* them, so that one which was
merged in the meantime is seen again rather than missed. Inner blocks are listed too: the caller leaves them out once it has seen all.
"""

from collections.abc import Sequence

import numpy as np

from sinks.block import BlockId
from sinks.heads import NO_HEADS, Heads, concat_heads
from sinks.reading.snapshot import Snapshot
from sinks.sink import BlockFilter, FoundBlocks

PAGE_BLOCKS = 128
_GROWTH = 4
_TRIES_BY_TIME = 3
"""After this many windows with few blocks, everything older is listed at once."""
_FIRST_WIDTH_MS = 600_000
_END_MS = 1 << 62


class Pace:
    """Where the newest page of the last listing began, and how long it was: where the next listing begins to look. A guess, no more.

    Thread: any; a torn pair costs a query or two.
    """

    def __init__(self, page_blocks: int = PAGE_BLOCKS) -> None:
        self.page_blocks = page_blocks
        self.since_ms: int | None = None
        self.width_ms = _FIRST_WIDTH_MS


class NewestFirst:
    """All blocks so far, and until when one that is not among them may have wanted lines.

    Thread: one.
    """

    def __init__(self, snapshot: Snapshot, only: BlockFilter, pace: Pace) -> None:
        self._snapshot = snapshot
        self._only = only
        self._pace = pace
        self._pages: list[Heads] = []
        self._listed: set[BlockId] = set()
        self._limit = pace.page_blocks
        self._narrow = 0
        self._is_first = True
        self._has_learnt = False
        self.unseen_ms: int | None = only.until_ms - 1 if only.until_ms is not None else _END_MS
        """No block that is not listed holds a wanted line later than this; None: all are listed."""
        if only.since_ms is not None and self.unseen_ms < only.since_ms:
            self.unseen_ms = None

    def heads(self) -> Heads:
        """Return all blocks that were listed so far, each once."""
        if len(self._pages) > 1:
            self._pages = [concat_heads(self._pages)]
        return self._pages[0] if self._pages else NO_HEADS

    def narrow(self, only: BlockFilter) -> None:
        """Look for fewer blocks from here on; those that pass must be among those that passed before."""
        self._only = only
        self._narrow = _TRIES_BY_TIME

    def next_page(self) -> None:
        """List some more blocks, the newest of those that are not listed yet."""
        if self.unseen_ms is None:
            return
        if self._snapshot.orders_blocks:
            self._next_ordered(self.unseen_ms)
        else:
            self._next_by_time(self.unseen_ms)
        self._is_first = False

    def _next_ordered(self, unseen_ms: int) -> None:
        found = self._find(None, unseen_ms, self._limit)
        self._limit *= _GROWTH
        self._add(found)
        self.unseen_ms = None if found.is_all else min(unseen_ms, int(found.heads.last_ms.min()))

    def _next_by_time(self, unseen_ms: int) -> None:
        since = self._first_guess(unseen_ms)
        # Long blocks that are listed already come again.
        limit: int | None = self._limit + int(np.count_nonzero(self.heads().first_ms <= unseen_ms))
        crowded = empty = None
        stride_ms = self._pace.width_ms
        while True:
            found = self._find(since, unseen_ms, limit)
            if not found.is_all:
                crowded = int(found.heads.first_ms.min()) if since is None else since
                limit = limit if limit is None or empty is None else 2 * limit
            elif crowded is None or limit is None or not self._listed.issuperset(found.heads.ids):
                break
            else:
                empty = since
            if empty is None:
                # A sink that does not order may well have shown the oldest blocks.
                since = min(max(int(found.heads.last_ms.max()), crowded) + stride_ms, unseen_ms)
                stride_ms *= _GROWTH
            else:
                since = (crowded + empty) // 2
            if since <= crowded:
                since, limit = crowded, None
        self._add(found)
        self._learn(since, unseen_ms)
        is_end = since is None or (self._only.since_ms is not None and since <= self._only.since_ms)
        self.unseen_ms = None if is_end or since is None else since - 1

    def _first_guess(self, unseen_ms: int) -> int | None:
        oldest = self._only.since_ms
        if self._narrow >= _TRIES_BY_TIME or (self._is_first and self._pace.since_ms is None):
            return oldest
        guess = unseen_ms + 1 - self._pace.width_ms * int(_GROWTH**self._narrow)
        if self._is_first and self._pace.since_ms is not None:
            guess = self._pace.since_ms
        guess = min(guess, unseen_ms)
        return guess if oldest is None else max(guess, oldest)

    def _learn(self, since: int | None, unseen_ms: int) -> None:
        found = self._pages[-1]
        if found.size < max(self._pace.page_blocks // _GROWTH, 1):
            self._narrow += 1
            return
        self._narrow = 0
        if since is not None:
            self._pace.width_ms = max(min(int(found.last_ms.max()), unseen_ms) + 1 - since, 1)
            if not self._has_learnt:
                self._pace.since_ms = since
                self._has_learnt = True

    def _find(self, since_ms: int | None, unseen_ms: int, limit: int | None) -> FoundBlocks:
        since_ms = self._only.since_ms if since_ms is None else since_ms
        until_ms = None if unseen_ms == _END_MS else unseen_ms + 1
        return self._snapshot.find(self._only._replace(since_ms=since_ms, until_ms=until_ms), limit)

    def _add(self, found: FoundBlocks) -> None:
        new = [at for at, one in enumerate(found.heads.ids) if one not in self._listed]
        self._listed.update(found.heads.ids)
        self._pages.append(found.heads if len(new) == found.heads.size else found.heads.select(np.array(new, np.int64)))


def join_distinct(pages: Sequence[Heads]) -> Heads:
    """Return the blocks of several listings as one, each where it comes first."""
    kept: list[Heads] = []
    known = set[BlockId]()
    for page in pages:
        kept.append(page.select(np.array([at for at, one in enumerate(page.ids) if one not in known], np.int64)))
        known.update(page.ids)
    return concat_heads(kept)
