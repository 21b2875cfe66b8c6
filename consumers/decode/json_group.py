"""Makes the entries of JSON objects whose fields have the same roles: columns in, columns out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Coded, Column, coded_alike, coded_texts, line_column, null_column, string_column, take, text_bytes
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME
from consumers.decode.json_batch import NestedColumn
from consumers.decode.json_roles import Roles, parted, service_of, text_of_gelf, trace_of
from consumers.decode.json_text import Scalar, flat_class, is_plain, write_lines
from consumers.decode.kept_fields import HTTP_STATUS, LEVEL_ORIGINAL, MOST_BYTES, KeptField, kept_of_sources
from consumers.decode.source_template import SourceTemplates

_FEW: Final = 256
"""Distinct values up to which a column is written by its distinct values."""
_MOST_CLASSES: Final = 256
_CODABLE: Final = ({str}, {int}, {bool})
"""Types within which values that are equal are written alike: 0.0 and -0.0, 1 and True are equal."""


class KeyGroup(NamedTuple):
    """Rows of a list of objects.

    Thread: one.
    """

    rows: NDArray[np.int64]
    is_all: bool
    columns: Mapping[str, Sequence[Scalar | None]]
    nested: Sequence[NestedColumn]
    texts: Mapping[str, Column]
    times: Mapping[str, NDArray[np.int64]]
    is_split: bool
    """Whether stack traces follow the messages in the texts."""

    def values(self, name: str) -> Sequence[Any]:
        """Return the values of a field that all rows have, or none has: strings where that is the field's role."""
        nested = self.nested_of(name)
        if nested is not None:
            by_code = [one.leaves.get(name) for one in nested.values]
            return [by_code[code] for code in self.codes_of(nested).tolist()]
        column = self.columns.get(name)
        if column is None:
            return (None,) * len(self.rows)
        return column if self.is_all else [column[row] for row in self.rows.tolist()]

    def nested_of(self, name: str) -> NestedColumn | None:
        """Return where a field is nested; None if it is at the top, or is none."""
        if name in self.columns and self.columns[name][int(self.rows[0])] not in _EMPTY:
            return None
        for nested in self.nested:
            if name in nested.values[int(nested.codes[self.rows[0]])].leaves:
                return nested
        return None

    def codes_of(self, nested: NestedColumn) -> NDArray[np.int64]:
        """Return which nested object each row has."""
        return nested.codes if self.is_all else nested.codes[self.rows]


def entries_of_group(roles: Roles, group: KeyGroup, templates: SourceTemplates) -> Entries:
    """Return the entries of m objects with these roles."""
    size = len(group.rows)
    text, trace = _texts(roles, group)
    level, originals = _levels(roles, group)
    return Entries(
        row=group.rows,
        sub=np.zeros(size, np.int32),
        text=text,
        time_ms=group.times[roles.time][group.rows] if roles.time else np.full(size, NO_TIME),
        service=_services(roles, group),
        level=level,
        fields=_fields(roles.kept, group, originals),
        trace=trace,
        template=_templates(roles, group, templates),
    )


def _texts(roles: Roles, group: KeyGroup) -> tuple[Column, Column | None]:
    name = str(roles.text)
    if not roles.full and not roles.trace and not group.is_split:
        if name in group.texts and group.nested_of(name) is None:
            return group.texts[name] if group.is_all else take(group.texts[name], group.rows), None
        return string_column(group.values(name)), None
    texts = group.values(name)
    traces: list[str | None] = [None] * len(texts)
    if roles.full:
        both = [text_of_gelf(short, full) for short, full in zip(texts, group.values(roles.full), strict=True)]
        texts, traces = [text for text, _ in both], [trace for _, trace in both]
    if roles.trace:
        found = zip(group.values(roles.trace), texts, traces, strict=True)
        traces = [trace_of(trace, text) if known is None else known for trace, text, known in found]
    if roles.full or group.is_split:
        both = list(map(parted, texts, traces))
        texts, traces = [text for text, _ in both], [trace for _, trace in both]
    return string_column(texts), string_column(traces) if any(traces) else None


def _templates(roles: Roles, group: KeyGroup, templates: SourceTemplates) -> Column | None:
    if roles.template is None:
        return None
    if roles.status is not None:
        found = list(map(templates.with_status, group.values(roles.template), group.values(roles.status)))
        return string_column(found) if any(found) else None
    loggers = ("",) * len(group.rows) if roles.logger is None else group.values(roles.logger)
    found = list(map(templates.text_of, group.values(roles.template), loggers))
    return string_column(found) if any(found) else None


def _levels(roles: Roles, group: KeyGroup) -> tuple[Coded, list[Scalar | None] | None]:
    """Return levels, and what was written where it is not the level's own name; None where it always is."""
    role = roles.level
    if role is None:
        return coded_alike(roles.default_level, len(group.rows)), None
    values = group.values(role.name)
    read = {value: role.read(value) for value in dict.fromkeys(values)}
    levels = _coded({value: level for value, (level, _) in read.items()}, values)
    originals = {value: original for value, (_, original) in read.items()}
    return levels, list(map(originals.__getitem__, values)) if set(originals.values()) != {None} else None


def _services(roles: Roles, group: KeyGroup) -> Coded:
    name = roles.service
    if name is None:
        return coded_alike("", len(group.rows))
    values = group.values(name)
    return _coded({value: service_of(name, value) for value in dict.fromkeys(values)}, values)


def _coded(labels: Mapping[Scalar | None, str], values: Sequence[Scalar | None]) -> Coded:
    """Return the label of each value."""
    distinct = coded_texts(labels.values())
    if len(labels) == 1:
        return coded_alike(distinct.values[0], len(values))
    places = dict(zip(labels, distinct.codes.tolist(), strict=True))
    return Coded(np.fromiter(map(places.__getitem__, values), np.int32, len(values)), distinct.values)


def _fields(kept: Sequence[KeptField], group: KeyGroup, originals: list[Scalar | None] | None) -> Column:
    """Return the kept fields of each row as a flat JSON object, or null."""
    sources = [field for field in kept if field.source != LEVEL_ORIGINAL or originals is not None or _has_own_original(group)]
    if not sources:
        return null_column(len(group.rows))
    tops = {
        place: originals if field.source == LEVEL_ORIGINAL and originals is not None else group.values(field.source)
        for place, field in enumerate(sources)
        if group.nested_of(field.source) is None
    }
    rows, places = _distinct_rows(sources, tops, group)
    some = group if rows is None else group._replace(rows=group.rows[rows], is_all=False)
    columns = [
        some.values(field.source) if place not in tops else tops[place] if rows is None else [tops[place][row] for row in rows.tolist()]
        for place, field in enumerate(sources)
    ]
    written = _written(sources, columns)
    return written if places is None else take(written, places)


def _has_own_original(group: KeyGroup) -> bool:
    return LEVEL_ORIGINAL in group.columns or any(LEVEL_ORIGINAL in one.leaves for nested in group.nested for one in nested.values)


def _distinct_rows(
    sources: Sequence[KeptField], tops: Mapping[int, Sequence[Scalar | None]], group: KeyGroup
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:  # fmt: skip
    """Return a row for each combination of values, and which combination each row has; None if most rows have one of their own."""
    codes = np.zeros(len(group.rows), np.int64)
    seen: list[NestedColumn] = []
    for place, field in enumerate(sources):
        nested = group.nested_of(field.source)
        if nested is not None and place not in tops:
            if not any(nested is one for one in seen):
                seen.append(nested)
                codes = np.unique(codes * len(nested.values) + group.codes_of(nested), return_inverse=True)[1]
            continue
        column = tops[place]
        distinct = set(column)
        if len(distinct) > _FEW or set(map(type, column)) - {type(None)} not in _CODABLE:
            return None, None
        if len(distinct) > 1:
            places = {value: place for place, value in enumerate(distinct)}
            codes = codes * len(distinct) + np.fromiter(map(places.__getitem__, column), np.int64, len(codes))
            codes = np.unique(codes, return_inverse=True)[1]
    _, rows, places_of = np.unique(codes, return_index=True, return_inverse=True)
    return (rows, places_of) if 2 * len(rows) <= len(codes) else (None, None)


_classes: dict[tuple[str, ...], Callable[..., object]] = {}


def _written(sources: Sequence[KeptField], columns: Sequence[Sequence[Scalar | None]]) -> Column:
    if not all(is_plain(field.name) for field in sources):
        rows = zip(*columns, strict=True)
        return string_column(
            [kept_of_sources({field.source: value for field, value in zip(sources, row, strict=True)}, sources) for row in rows]
        )
    converted = [
        [None if value is None else field.convert(value) for value in column] if field.is_named or field.name == HTTP_STATUS else column
        for field, column in zip(sources, columns, strict=True)
    ]
    names = tuple(field.name for field in sources)
    if names not in _classes:
        if len(_classes) >= _MOST_CLASSES:
            _classes.clear()
        _classes[names] = flat_class(names)
    written = line_column(write_lines(list(map(_classes[names], *converted))))
    sizes = text_bytes(written)
    odd = np.flatnonzero((sizes > MOST_BYTES) | (sizes <= len("{}")))
    if not len(odd):
        return written
    texts = written.to_pylist()
    for row in odd.tolist():
        flat = {field.source: column[row] for field, column in zip(sources, columns, strict=True)}
        texts[row] = kept_of_sources(flat, sources)
    return string_column(texts)


_EMPTY: Final = (None, "")
