"""How often each template came, counted on a backend that cannot count by group: a scan of lines, newest first, by time windows.

Pure functions, called by the sink's `count_templates`. One query returns at most `MOST_ROWS` rows, in no order, and says nothing
of how many there are: a window that comes back full is thrown away and a narrower one is read in its place, at its newer end. So
windows must fit how dense the lines are, and each one tells how wide the next may be. At first, and after an empty window, all of
the rest is tried at once: it may be few lines; if it is not, the scan goes on from the newest of them, however long the silence was.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.milvus.searching import MOST_ROWS, Window
from sinks.sink import TemplateCount, TemplateCounts

TALLY_COLUMNS = ("template", "time")
_OLDEST_MS, _END_MS = -(1 << 63), 1 << 63
_FILL = 0.75
"""Share of the most rows that the next window should hold, if lines stay as dense as they were."""
_GROWTH = 4


class Found(NamedTuple):
    """Rows of one query, as two columns.

    Thread: any.
    """

    digests: list[str]
    times: NDArray[np.int64]


ReadFound = Callable[[Window, int], Found]
"""Return at most so many lines of the window, any of them: fewer than asked for means that those are all."""


class Tally:
    """Counts so far, one entry a template.

    Thread: one at a time.
    """

    def __init__(self) -> None:
        self._counts: dict[str, TemplateCount] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted."""
        return not self._counts

    def add(self, found: Found) -> None:
        """Count the rows of one query."""
        places: dict[str, int] = {}
        codes = np.fromiter((places.setdefault(digest, len(places)) for digest in found.digests), np.int64, len(found.digests))
        first = np.full(len(places), _END_MS - 1, np.int64)
        last = np.full(len(places), _OLDEST_MS, np.int64)
        np.minimum.at(first, codes, found.times)
        np.maximum.at(last, codes, found.times)
        lines = np.bincount(codes, minlength=len(places))
        for new in map(TemplateCount, places, lines.tolist(), first.tolist(), last.tolist()):
            old = self._counts.get(new.digest, new._replace(lines=0))
            self._counts[new.digest] = TemplateCount(
                new.digest, old.lines + new.lines, min(old.first_ms, new.first_ms), max(old.last_ms, new.last_ms)
            )

    def counts(self, *, complete: bool) -> TemplateCounts:
        """Return what was counted, the most frequent first."""
        return TemplateCounts(sorted(self._counts.values(), key=lambda one: (-one.lines, one.digest)), complete)


def count_newest(
    read: ReadFound, newest_ms: Callable[[Window], int | None], within: Window, *, most_rows: int, deadline_passed: Callable[[], bool]
) -> TemplateCounts:
    """Count the newest `most_rows` lines of a window by template; of lines of one millisecond, any.

    `newest_ms` returns the time of a window's newest line, or None when its own reads ran out of time; asked only of windows that
    hold more than one query returns. When time is up before anything is counted, the last page that was thrown away is: any lines.
    """
    tally, complete, left = Tally(), True, max(most_rows, 0)
    thrown_away: Found | None = None
    since = _OLDEST_MS if within.since_ms is None else within.since_ms
    end = _END_MS if within.until_ms is None else within.until_ms
    width, all_the_rest = end - since, True
    while since < end:
        if deadline_passed():
            return _cut_short(tally, thrown_away)
        start = max(since, end - width)
        found = read(_window(start, end), _limit(left))
        rows = len(found.digests)
        if rows >= _limit(left):
            if left == 0:
                return tally.counts(complete=False)
            thrown_away = Found(found.digests[:left], found.times[:left])
            if all_the_rest:
                newest = newest_ms(_window(since, end))
                if newest is None:
                    return _cut_short(tally, thrown_away)
                end, all_the_rest = min(newest + 1, end), False
                width = _next_width(int(found.times.max()) - int(found.times.min()) + 1, rows, left)
                continue
            if end - start > 1:
                width = end - max((start + end) // 2, min(int(np.sort(found.times)[rows // 2]), end - 1))
                continue
            complete, found = False, thrown_away
        tally.add(found)
        left -= len(found.digests)
        all_the_rest = rows == 0
        width = end - since if all_the_rest else min(_next_width(end - start, rows, left), _GROWTH * width)
        end = start
    return tally.counts(complete=complete)


def _cut_short(tally: Tally, thrown_away: Found | None) -> TemplateCounts:
    if tally.is_empty and thrown_away is not None:
        tally.add(thrown_away)
    return tally.counts(complete=False)


def _limit(left: int) -> int:
    """How many rows to ask for when `left` are still wanted: one more, to see whether there are more."""
    return min(left + 1, MOST_ROWS)


def _next_width(width: int, rows: int, left: int) -> int:
    return max(int(width * _FILL * _limit(left) / rows), 1)


def _window(start: int, end: int) -> Window:
    return Window(None if start <= _OLDEST_MS else start, None if end >= _END_MS else end)
