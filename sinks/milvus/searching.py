"""Filters built from typed fields, and where a line stands among others.

Pure functions, called by the sink's reading. No text of a user's ever stands in an expression but as a quoted literal.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from sinks.row import LineRow
from sinks.sink import LineFilter

MOST_ROWS = 16_384
"""Milvus returns no more rows to one query."""
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


def place(row: Mapping[str, Any]) -> Place:
    """Turn a query's row with `PLACE_COLUMNS` into a place."""
    return Place(row["time"], row["topic"], row["partition"], row["offset"], row["sub"], row["chunk"], row["id"])


def place_of(line: LineRow) -> Place:
    """Return where a line stands."""
    return Place(line.time, line.topic, line.partition, line.offset, line.sub, line.chunk, line.id)


def passes(line: LineRow, only: LineFilter) -> bool:
    """Whether a line is one that a filter lets through."""
    return (
        (only.since_ms is None or line.time >= only.since_ms)
        and (only.until_ms is None or line.time < only.until_ms)
        and (not only.services or line.service in only.services)
        and (not only.levels or line.level in only.levels)
        and (not only.topics or line.topic in only.topics)
    )


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


def in_windows(asks: Iterable[tuple[Collection[str], Window]], expression: str) -> str | None:
    """Return the expression for lines of some templates in a window, or of others in another; the rest is `expression` for all."""
    parts = [in_window(one, window) for one, window in ((any_of("template", names), window) for names, window in asks) if one is not None]
    if not parts:
        return None
    either = parts[0] if len(parts) == 1 else f"({' or '.join(f'({part})' for part in parts)})"
    return f"{either} and {expression}" if expression else either


def in_window(expression: str, window: Window) -> str:
    """Add a time window to an expression, which may be empty."""
    since = "" if window.since_ms is None else f"time >= {window.since_ms}"
    until = "" if window.until_ms is None else f"time < {window.until_ms}"
    return " and ".join(part for part in (expression, since, until) if part)


def _is_unicode(text: str) -> bool:
    """A lone surrogate can be neither stored nor sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
