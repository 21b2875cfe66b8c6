"""All lines of a range of offsets, in pages that a server can answer, on a backend that neither orders nor pages.

Pure functions, called by the reader's `lines_between`. One query returns at most so many rows, in no order. The range is cut by how
many rows it should hold; a page that comes back full is thrown away and its span is cut in two at the middle of what was seen. One
record may hold many entries, and one entry many chunks: a single offset is cut by `sub`, and a single `sub` by `chunk`.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from sinks.milvus.searching import MOST_ROWS
from sinks.row import LineRow

PAGE_ROWS = 500
"""Of the longest texts, an answer of half the size that servers refuse."""
LOCAL_PAGE_ROWS = 4_000
"""A local folder looks at every row that it has for each query, and refuses no size."""
_MOST_PIECES = 100
"""A range may be wide and nearly empty; what is too full for its piece is cut further."""
_COLUMNS = ("offset", "sub", "chunk")
_NO_BOUND = 1 << 62


class Stretch(NamedTuple):
    """`first` ≤ offset < `end` of one partition.

    Thread: any.
    """

    topic: str
    partition: int
    first: int
    end: int


class Enough(NamedTuple):
    """When to stop before the end.

    Thread: one.
    """

    most_rows: int | None
    """None: all."""
    deadline_passed: Callable[[], bool]
    """Asked before each read."""


class Span(NamedTuple):
    """Rows under an expression whose column `_COLUMNS[depth]` is `first` or more and less than `end`; None is open.

    Thread: any.
    """

    within: str
    first: int | None
    end: int | None
    depth: int = 0

    @property
    def expression(self) -> str:
        """What Milvus is asked."""
        name = _COLUMNS[self.depth]
        if self.first is not None and self.end == self.first + 1:
            return f"{self.within} and {name} == {self.first}"
        first = "" if self.first is None else f" and {name} >= {self.first}"
        end = "" if self.end is None else f" and {name} < {self.end}"
        return f"{self.within}{first}{end}"


ReadSpan = Callable[[Span, int], list[LineRow]]
"""Return at most so many rows of the span, any of them: fewer than asked for means that those are all."""


def read_all(
    read: ReadSpan, within: str, first: int, end: int, enough: Enough, *, about_rows: int, page_rows: int
) -> tuple[list[LineRow], bool]:
    """Return all rows under an expression with `first` ≤ offset < `end`, about so many, and True; or any of them, and False."""
    most = _NO_BOUND if enough.most_rows is None else max(enough.most_rows, 0)
    pieces = min(end - first, min(about_rows, most) // (page_rows * 3 // 4) + 1, _MOST_PIECES)
    page_rows = min(page_rows, most + 1)
    cuts = [first + (end - first) * piece // pieces for piece in range(pieces + 1)]
    todo = [Span(within, one, next_one) for one, next_one in pairwise(cuts)]
    rows: list[LineRow] = []
    while todo:
        if enough.deadline_passed():
            return rows, False
        span = todo.pop()
        page = read(span, page_rows)
        if len(page) < page_rows:
            rows += page
        elif len(rows) + len(page) > most or enough.deadline_passed():
            return [*rows, *page][:most], False  # they are true rows, even where there are more
        else:
            parts = _parts(span, page)
            todo += parts
            if not parts:
                rows += read(span, min(MOST_ROWS, most + 1))  # one piece of one entry under many ids: no column tells them apart
        if len(rows) > most:
            return rows[:most], False
    return rows, True


def _parts(span: Span, page: list[LineRow]) -> list[Span]:
    """Cut a span that holds more rows than a page; each part holds fewer than the whole. Empty when it cannot be cut."""
    if span.first is not None and span.end == span.first + 1:
        if span.depth + 1 == len(_COLUMNS):
            return []
        return _parts(Span(span.expression, None, None, span.depth + 1), page)
    values = sorted(int(getattr(row, _COLUMNS[span.depth])) for row in page)
    middle = values[len(values) // 2]
    if values[0] < middle:
        return [span._replace(end=middle), span._replace(first=middle)]
    if values[-1] > middle:
        return [span._replace(end=middle + 1), span._replace(first=middle + 1)]
    alone = Span(span.within, middle, middle + 1, span.depth)
    before, after = span._replace(end=middle), span._replace(first=middle + 1)
    return [one for one in (before, alone, after) if one.first is None or one.end is None or one.first < one.end]
