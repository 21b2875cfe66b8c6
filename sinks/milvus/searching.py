"""Filters built from typed fields, and "the newest lines of a template" on a backend that cannot order.

Pure functions, called by the sink's `newest_lines`. No text of a user's ever stands in an expression but as a quoted literal.

How the newest are found: one bounded query, and if it comes back full, time windows. `dense` is a start time from which on there
are more lines than one query returns, `sparse` one from which on there are not; a gallop finds `sparse`, halving brings them
together until a window holds at least `limit` lines and is complete. Lines of one and the same millisecond cannot be
parted by time: the last query takes up to `MOST_ROWS` of those.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sinks.row import LineRow
from sinks.sink import LineFilter

PAGE_ROWS = 256
MOST_ROWS = 16_384
"""Milvus returns no more rows to one query."""
_STEPS = 64
"""Enough to halve any window of 64-bit milliseconds down to one; a gallop takes some of them."""
_FIRST_STRIDE_MS = 1_000

PLACE_COLUMNS = ("id", "time", "topic", "partition", "offset", "sub", "chunk")
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class Hit(NamedTuple):
    """One row found by vector.

    Thread: any.
    """

    key: str
    score: float
    row: Mapping[str, Any]


class Place(NamedTuple):
    """Where a line stands among the others of its template; the larger, the newer.

    Thread: any.
    """

    time: int
    topic: str
    partition: int
    offset: int
    sub: int
    chunk: int
    id: str


class Window(NamedTuple):
    """Milliseconds from `since_ms` on, before `until_ms`; None is open.

    Thread: any.
    """

    since_ms: int | None
    until_ms: int | None


ReadPlaces = Callable[[Window, int], list[Place]]
"""Return at most so many lines of the window, any of them: fewer than asked for means that those are all."""


def place(row: Mapping[str, Any]) -> Place:
    """Turn a query's row with `PLACE_COLUMNS` into a place."""
    return Place(row["time"], row["topic"], row["partition"], row["offset"], row["sub"], row["chunk"], row["id"])


def place_of(line: LineRow) -> Place:
    """Return where a line stands."""
    return Place(line.time, line.topic, line.partition, line.offset, line.sub, line.chunk, line.id)


def literal(text: str) -> str:
    """Quote a text for a Milvus expression; what comes back has exactly one meaning, whatever `text` holds."""
    return f'"{text.translate(_ESCAPES)}"'


def any_of(column: str, values: Iterable[str]) -> str | None:
    """Return the expression "column is one of values", or None when none of them can be stored, so that nothing matches."""
    wanted = [literal(value) for value in dict.fromkeys(values) if _is_unicode(value)]
    return f"{column} in [{', '.join(wanted)}]" if wanted else None


def any_of_each(column: str, values: Iterable[str], at_once: int) -> Iterator[str]:
    """Yield expressions as `any_of` makes them, each of so many values at most."""
    wanted = list(values)
    for start in range(0, len(wanted), at_once):
        expression = any_of(column, wanted[start : start + at_once])
        if expression is not None:
            yield expression


def line_expression(templates: Collection[str] | None, only: LineFilter) -> str | None:
    """Return the expression for lines (of some templates) under a filter, its times left out; None when nothing can match."""
    filters = (("template", templates), ("service", only.services or None), ("level", only.levels or None), ("topic", only.topics or None))
    parts = [any_of(column, values) for column, values in filters if values is not None]
    if None in parts:
        return None
    return " and ".join(part for part in parts if part)


def in_window(expression: str, window: Window) -> str:
    """Add a time window to an expression, which may be empty."""
    since = "" if window.since_ms is None else f"time >= {window.since_ms}"
    until = "" if window.until_ms is None else f"time < {window.until_ms}"
    return " and ".join(part for part in (expression, since, until) if part)


def newest(read: ReadPlaces, limit: int, within: Window, latest_ms: int) -> list[Place]:
    """Return the newest `limit` places of a window, newest first; `latest_ms` is a guess of the newest time, any number will do."""
    page = min(max(PAGE_ROWS, 2 * limit), MOST_ROWS)
    found = read(within, page)
    if len(found) < page:
        return _top(found, limit)
    dense, newest_seen = found_from(found), max(found).time
    sparse: int | None = None
    best: list[Place] = []
    stride_ms = _FIRST_STRIDE_MS
    start = newest_seen + 1
    if latest_ms > newest_seen:  # lines come about as often as in the first page: a quarter of a page, just before the guess
        start = max(latest_ms + 1 - (newest_seen - dense) // 4, dense + 1)
    for _ in range(_STEPS):
        found = read(Window(start, within.until_ms), page)
        if len(found) >= page:
            dense, newest_seen = found_from(found), max(found).time
        elif len(found) >= limit:
            return _top(found, limit)
        else:
            sparse, best = start, found
        if sparse is None:
            start, stride_ms = newest_seen + stride_ms, 2 * stride_ms
        elif sparse - dense <= 1:
            break
        else:
            start = (dense + sparse) // 2
    return _top(best + read(Window(dense, within.until_ms if sparse is None else sparse), MOST_ROWS), limit)


def found_from(places: list[Place]) -> int:
    """Return the earliest time of some places."""
    return min(places).time


def _top(places: list[Place], limit: int) -> list[Place]:
    return sorted(places, reverse=True)[:limit]


def _is_unicode(text: str) -> bool:
    """A lone surrogate can be neither stored nor sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
