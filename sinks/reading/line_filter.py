"""Which lines a question wants, as blocks (what a sink is asked for) and as rows (what is checked exactly once a block is unpacked)."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sinks.arrow import present, take
from sinks.block import CodedColumn, Column, Lines
from sinks.field_pairs import field_values
from sinks.heads import Heads
from sinks.reading.literals import rows_holding
from sinks.reading.names import template_ids
from sinks.row import TemplateId, TemplateText, template_keys
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
    not_services: tuple[str, ...] = ()
    not_levels: tuple[str, ...] = ()
    not_topics: tuple[str, ...] = ()
    """None of these; a value that is wanted as well is excluded."""
    not_fields: tuple[tuple[str, str], ...] = ()
    """Names and values of which a line has none; a line without a field has none of its values."""
    not_templates: frozenset[TemplateId] = frozenset()
    """No line of these."""
    phrases: tuple[tuple[str, ...], ...] = ()
    """Of each of these a line's text holds one phrase at least; a line without its text holds none."""
    not_phrases: tuple[str, ...] = ()
    """A line's text holds none of these."""
    keys: tuple[int, ...] = ()
    """Words of every block that has a line with the phrases."""

    @property
    def wants_nothing(self) -> bool:
        """Whether no line can pass: the window is empty, or all that is wanted is excluded as well."""
        pairs = ((self.services, self.not_services), (self.levels, self.not_levels), (self.topics, self.not_topics))
        is_excluded = any(wanted and set(wanted) <= set(unwanted) for wanted, unwanted in pairs)
        return is_excluded or (self.since_ms is not None and self.until_ms is not None and self.since_ms >= self.until_ms)

    def admits_topic(self, topic: str) -> bool:
        """Whether lines of a topic may pass."""
        return (not self.topics or topic in self.topics) and topic not in self.not_topics

    def window_holds(self, first_ms: NDArray[np.int64], last_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of n spans of time, both ends included, are inside the window."""
        inside = np.ones(len(first_ms), np.bool_)
        if self.since_ms is not None:
            inside &= first_ms >= self.since_ms
        if self.until_ms is not None:
            inside &= last_ms < self.until_ms
        return inside

    def window_meets(self, first_ms: NDArray[np.int64], last_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which of n spans of time, both ends included, overlap the window."""
        return self.window_holds(last_ms, first_ms)

    @property
    def is_on_lines(self) -> bool:
        """Whether more than the template of a line decides."""
        return self._replace(not_templates=frozenset()) != LineFilter()

    @property
    def reads_fields(self) -> bool:
        """Whether kept fields decide."""
        return bool(self.fields or self.not_fields)

    @property
    def reads_texts(self) -> bool:
        """Whether the texts of lines decide."""
        return bool(self.phrases or self.not_phrases)

    @property
    def literals(self) -> tuple[str, ...]:
        """ASCII texts that every wanted line holds."""
        return tuple(one for one, *others in self.phrases if not others and one.isascii())


def never() -> bool:
    """Say that there is time: for callers who set no deadline."""
    return False


def block_filter(only: LineFilter, *, templates: Collection[TemplateId] | None = None, keys: Collection[int] = ()) -> BlockFilter:
    """Return the filter of the blocks that may hold a wanted line, of these templates or with all these words."""
    return BlockFilter(
        topics=only.topics,
        since_ms=only.since_ms,
        until_ms=only.until_ms,
        templates=None if templates is None else tuple(template_keys(sorted(set(templates))).tolist()),
        words=tuple(sorted({*keys, *only.keys, *_field_words(only.fields)})),
        services=only.services,
        levels=only.levels,
        not_topics=only.not_topics,
        not_services=only.not_services,
        not_levels=only.not_levels,
    )


def wanted_rows(lines: Lines, only: LineFilter) -> NDArray[np.bool_]:
    """Return which rows pass: bool[n]. Topics are the block's and `fields` have a column of their own: neither is looked at."""
    wanted = only.window_holds(lines.time, lines.time)
    wanted &= lines.chunks > 0  # a hollow entry is no line
    for values, column in ((only.services, lines.service), (only.levels, lines.level)):
        if values:
            wanted &= rows_with(column, values)
    for values, column in ((only.not_services, lines.service), (only.not_levels, lines.level)):
        if values:
            wanted &= ~rows_with(column, values)
    if only.not_templates:
        wanted &= ~rows_of(lines.template, only.not_templates)
    return wanted


def rows_with(column: CodedColumn[str], values: Collection[str]) -> NDArray[np.bool_]:
    """Return which rows have one of these values."""
    return np.fromiter((value in values for value in column.values), np.bool_, len(column.values))[column.codes]


def rows_of(templates: CodedColumn[TemplateText], ids: Collection[TemplateId]) -> NDArray[np.bool_]:
    """Return which rows are of a template with one of these ids."""
    values = templates.values
    return rows_with(templates, {text for text, one in zip(values, template_ids(values), strict=True) if one in ids})


def values_fit(
    values: Sequence[tuple[str, ...]], wanted: Collection[str], unwanted: Collection[str] = ()
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for the services, or levels, of each block whether all of them are wanted and not `unwanted`, and whether any is."""
    if not wanted and not unwanted:
        return np.ones(len(values), np.bool_), np.ones(len(values), np.bool_)

    def fits(own: tuple[str, ...]) -> tuple[bool, bool]:
        passing = [(not wanted or one in wanted) and one not in unwanted for one in own]
        return all(passing), any(passing)

    known = {one: fits(one) for one in set(values)}
    both = np.array([known[one] for one in values], np.bool_).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def heads_fit(heads: Heads, only: LineFilter) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return of each block whether all its services and levels pass, and whether any does."""
    all_services, any_service = values_fit(heads.services, only.services, only.not_services)
    all_levels, any_level = values_fit(heads.levels, only.levels, only.not_levels)
    return all_services & all_levels, any_service & any_level


def with_fields(fields: Column, rows: NDArray[np.int64], only: LineFilter) -> NDArray[np.int64]:
    """Return those of `rows` whose fields have, of each wanted name, one of the wanted values, and none of those that are excluded."""
    for pairs, is_asked in ((only.fields, True), (only.not_fields, False)):
        for name, ours in _by_name(pairs).items():
            if not len(rows):
                return rows
            found = field_values(fields if len(rows) == len(fields) else take(fields, rows), name)
            has_one = np.array([*(value in ours for value in found.values), False], np.bool_)
            rows = rows[has_one[found.codes] == is_asked]  # the last place stands for `NO_VALUE`
    return rows


def with_phrases(texts: Column, rows: NDArray[np.int64], only: LineFilter) -> NDArray[np.int64]:
    """Return those of `rows` whose text holds one of each of the wanted phrases, and none of those that are excluded."""
    if only.phrases:
        rows = rows[present(texts)[rows]]
    for phrases in only.phrases:
        if len(rows):
            ours = take(texts, rows)
            rows = rows[np.logical_or.reduce([rows_holding(ours, one) for one in phrases])]
    has_text = rows[present(texts)[rows]] if only.not_phrases else rows
    for phrase in only.not_phrases:
        if len(has_text):
            rows = np.setdiff1d(rows, has_text[rows_holding(take(texts, has_text), phrase)], assume_unique=True)
    return rows


def _field_words(fields: Iterable[tuple[str, str]]) -> set[int]:
    """Return the words that every wanted line's block has; of a name with several wanted values there is none."""
    return {field_word(name, *values) for name, values in _by_name(fields).items() if len(values) == 1}


def _by_name(fields: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {}
    for name, value in fields:
        values.setdefault(name, set()).add(value)
    return values
