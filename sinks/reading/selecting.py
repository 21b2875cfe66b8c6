"""Which lines are wanted, whatever their order: what a sink is asked for, and what is checked once a block is unpacked."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import present, take
from sinks.block import Column, Lines
from sinks.reading.line_filter import LineFilter, block_filter, rows_of, wanted_rows, with_fields, with_phrases
from sinks.reading.snapshot import ALL_COLUMNS, PLACES, PLACES_AND_FIELDS
from sinks.row import TemplateId
from sinks.sink import BlockFilter, ColumnName

IsMatch = Callable[[Column], NDArray[np.bool_]]
"""Given n texts, none of them null, returns bool[n]."""


class Selection(NamedTuple):
    """Lines that pass every part that is set.

    Thread: any.
    """

    only: LineFilter = LineFilter()
    templates: frozenset[TemplateId] | None = None
    """None: of any."""
    is_match: IsMatch | None = None
    """Of the line's text; a line without its text has no words."""
    keys: tuple[int, ...] = ()
    """Words that a block has if a line of it matches, unless the line is of one of `holding`."""
    holding: frozenset[TemplateId] = frozenset()
    """Templates whose text may be what matches."""

    @property
    def wants_nothing(self) -> bool:
        """Whether no line can pass."""
        return self.only.wants_nothing or (self.templates is not None and not self.templates)

    @property
    def columns(self) -> Sequence[ColumnName]:
        """What has to be read of a block before its lines can be checked."""
        reads_texts = self.is_match is not None or self.only.reads_texts
        return ALL_COLUMNS if reads_texts else PLACES_AND_FIELDS if self.only.reads_fields else PLACES

    def between(self, since_ms: int, until_ms: int) -> "Selection":
        """Return the same for lines of `since_ms` ≤ time < `until_ms`, which must be inside its own window."""
        return self._replace(only=self.only._replace(since_ms=since_ms, until_ms=until_ms))

    def block_filters(self) -> list[BlockFilter]:
        """Return filters that between them pass every block with a wanted line."""
        if self.templates is not None or not self.keys:
            return [block_filter(self.only, templates=self.templates)]
        return [block_filter(self.only, keys=self.keys)] + [block_filter(self.only, templates=self.holding)] * bool(self.holding)

    def rows(self, lines: Lines, among: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Return the rows that pass (`among`: out of these), ascending; topics are not looked at."""
        wanted = wanted_rows(lines, self.only)
        if among is not None:
            wanted &= among
        if self.templates is not None:
            wanted &= rows_of(lines.template, self.templates)
        if self.is_match is not None:
            wanted &= present(lines.text)
        rows = np.flatnonzero(wanted)
        if self.only.reads_fields:
            rows = with_fields(lines.fields, rows, self.only)
        if self.only.reads_texts:
            rows = with_phrases(lines.text, rows, self.only)
        if self.is_match is not None and len(rows):
            texts = lines.text if len(rows) == lines.size else take(lines.text, rows)
            rows = rows[np.asarray(self.is_match(texts), np.bool_)]
        return rows
