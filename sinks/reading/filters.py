"""Which lines a question wants, as blocks (what a sink is asked for) and as rows (what is checked exactly once a block is unpacked)."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import take
from sinks.block import Coded, Column, Lines
from sinks.field_pairs import field_values
from sinks.row import template_keys
from sinks.sink import BlockFilter
from sinks.words import field_word


class LineFilter(NamedTuple):
    """Which lines a question may return; typed values only, never an expression of the user's.

    Thread: any.
    """

    since_ms: int | None = None
    """First millisecond that is wanted."""
    until_ms: int | None = None
    """First millisecond that is not wanted any more."""
    services: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    """Any of these."""
    fields: tuple[tuple[str, str], ...] = ()
    """Names and values: a line has one of the wanted values of each name."""

    @property
    def wants_nothing(self) -> bool:
        """Whether the window is empty."""
        return self.since_ms is not None and self.until_ms is not None and self.since_ms >= self.until_ms


def never() -> bool:
    """Say that there is time: for callers who set no deadline."""
    return False


def block_filter(only: LineFilter, *, templates: Collection[str] | None = None, keys: Collection[int] = ()) -> BlockFilter:
    """Return the filter of the blocks that may hold a wanted line, of these templates or with all these words."""
    return BlockFilter(
        topics=only.topics,
        since_ms=only.since_ms,
        until_ms=only.until_ms,
        templates=None if templates is None else tuple(template_keys(sorted(set(templates))).tolist()),
        words=tuple(sorted({*keys, *_field_words(only.fields)})),
        services=only.services,
        levels=only.levels,
    )


def wanted_rows(lines: Lines, only: LineFilter) -> NDArray[np.bool_]:
    """Return which rows pass: bool[n]. Topics are the block's and `fields` have a column of their own: neither is looked at."""
    wanted = np.ones(lines.size, np.bool_)
    if only.since_ms is not None:
        wanted &= lines.time >= only.since_ms
    if only.until_ms is not None:
        wanted &= lines.time < only.until_ms
    for values, column in ((only.services, lines.service), (only.levels, lines.level)):
        if values:
            wanted &= rows_with(column, values)
    return wanted


def rows_with(column: Coded, values: Collection[str]) -> NDArray[np.bool_]:
    """Return which rows have one of these values."""
    return np.fromiter((value in values for value in column.values), np.bool_, len(column.values))[column.codes]


def values_fit(values: Sequence[tuple[str, ...]], wanted: Collection[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for the services, or levels, of each block whether all of them are wanted, and whether any is."""
    fits = {one: (set(one) <= set(wanted), not set(one).isdisjoint(wanted)) if wanted else (True, True) for one in set(values)}
    both = np.array([fits[one] for one in values], np.bool_).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def with_fields(fields: Column, rows: NDArray[np.int64], wanted: Iterable[tuple[str, str]]) -> NDArray[np.int64]:
    """Return those of `rows` whose fields have, of each wanted name, one of the wanted values."""
    values: dict[str, set[str]] = {}
    for name, value in wanted:
        values.setdefault(name, set()).add(value)
    for name, ours in values.items():
        if not len(rows):
            break
        found = field_values(fields if len(rows) == len(fields) else take(fields, rows), name)
        is_wanted = np.array([*(value in ours for value in found.values), False], np.bool_)
        rows = rows[is_wanted[found.codes]]  # the last place stands for `NO_VALUE`
    return rows


def _field_words(fields: Iterable[tuple[str, str]]) -> set[int]:
    """Return the words that every wanted line's block has; of a name with several wanted values there is none."""
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value)
    return {field_word(name, one[0]) for name, one in values.items() if len(one) == 1}
