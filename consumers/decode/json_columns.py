"""The fast path of JSON records: objects of a learned form, as columns from the parser to the entries.

1. The parser takes the top of each object apart (`consumers.decode.json_form`); what is nested stays JSON and is looked at once for each
   distinct text, because that is metadata that repeats: of a pod, of a host.
2. Each column gets the bits that roles depend on (`consumers.decode.json_roles`), and records whose bits are all alike make a group.
3. The roles of a group are asked for once, and its columns become the entries of all its records.

Records that do not fit, or need more than their roles (a text that is an object itself, a template to render), are left to the general
rules, `consumers.decode.json_document`, of which no answer differs (`tests/properties/test_json.py`).
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from consumers.columns import Column, string_column, take, utf8_of
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME
from consumers.decode.json_batch import ABSENT, UNREADABLE, Bits, JsonBatch, Nested, NestedColumn
from consumers.decode.json_document import CRI_LINE, OBJECT_BEGINS, flat_of
from consumers.decode.json_form import ObjectForm
from consumers.decode.json_group import KeyGroup, entries_of_group
from consumers.decode.json_names import RENDERED, TRACE_NAMES
from consumers.decode.json_roles import DEEP, SPLIT, STRING, TIME, TRACE, RoleRules, Roles
from consumers.decode.json_text import KeyKind, NotJson, Scalar, parse_json
from consumers.decode.json_times import is_near, times_of
from consumers.decode.json_traces import have_lines, is_trace, split_trace
from consumers.decode.kept_fields import FITS, fits, own_name
from consumers.decode.rules import DecodeRules
from consumers.text.regex import find_matching, find_starting

_MOST_REMEMBERED: Final = 4_096
"""Nested texts of a key, forms of nested texts, and forms of entries."""
_MOST_REMEMBERED_BYTES: Final = 4_000_000
_MOST_BRACKETS: Final = 900
"""orjson reads 1,024 levels of nesting; a nested text is one level deeper than it looks."""
_CRI_LINE: Final = f"^{CRI_LINE.pattern}"
_OBJECT_BEGINS: Final = re.compile(OBJECT_BEGINS)
_SHORTEST_CRI: Final = len("2026-01-02T00:00:00Z stdout F")
_WRAPPER: Final = "log."
_FEW: Final = 8
_MANY_GROUPS: Final = 16
"""From this many groups of a list on, those of fewer records than `_FEW` are left to the general rules."""


_UNREAD: Final = Nested({}, {}, UNREADABLE)


class JsonColumns:
    """Reads objects of the form that it has learned; remembers nested texts.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, roles: RoleRules) -> None:
        self._rules = rules
        self._roles = roles
        self._texts = frozenset(roles.texts)
        self.form = ObjectForm((*roles.texts, *TRACE_NAMES))
        self._nested: dict[str, dict[bytes, Nested]] = {}
        """By key and text."""
        self._nested_bytes = 0
        self._forms: dict[tuple[tuple[str, int], ...], int] = {}
        self._newest_form = 0
        """Numbers are never used again, so nested texts that are remembered longer than their form stay apart from newer ones."""
        self._known: dict[frozenset[tuple[str, int]], Roles] = {}

    def read(self, values: Sequence[bytes], kafka_ms: NDArray[np.int64], *, has_escapes: bool = True) -> tuple[list[Entries], list[int]]:
        """Read n values that are valid UTF-8; `has_escapes`: whether there is a backslash in any of them.

        Returns groups of entries, one entry for each value, and the places of those values that are left to the general rules.
        """
        if self.form.parser is None:
            return [], list(range(len(values)))
        columns, others = self.form.parser.parse(values)
        if len(others) == len(values):
            return [], others
        places = np.arange(len(values))
        if others:
            places = np.delete(places, others)
        size = len(places)
        batch = JsonBatch(size, kafka_ms[places], has_escapes=has_escapes)
        self._take_columns(batch, columns)
        groups: list[Entries] = []
        parts = batch.parts()
        for rows in parts:
            found = None
            if len(parts) < _MANY_GROUPS or len(rows) >= _FEW:
                found = self._read_group(batch, rows)
            if found is None:
                others += places[rows].tolist()
            else:
                groups.append(found._replace(row=places[rows]))
        return groups, sorted(others)

    def _take_columns(self, batch: JsonBatch, columns: list[list[Any]]) -> None:
        raw = [own_name(key) + "." for key, kind in self.form.kinds.items() if kind is KeyKind.RAW]
        for (key, kind), column in zip(self.form.kinds.items(), columns, strict=True):
            if kind is KeyKind.NOTHING:
                continue
            if kind is KeyKind.RAW:
                self._take_nested(batch, key, column)
            else:
                self._take_column(batch, own_name(key), kind, column, raw)

    def _take_column(self, batch: JsonBatch, name: str, kind: KeyKind, column: list[Any], raw: Sequence[str]) -> None:
        if name in batch.columns:  # `x` and `_x`
            batch.leave(np.array([value is not None and value != "" for value in column]))
            return
        flags = self._flags_of(name, kind, column, raw)
        if self._roles.may_be_time(name):
            flags |= self._take_times(batch, name, column)
        if name in self._roles.texts and kind is not KeyKind.NUMBER:
            batch.texts[name] = texts = string_column(column if kind is not KeyKind.SCALAR else _strings(column))
            flags |= _deep(texts)
        if batch.has_escapes and kind is not KeyKind.NUMBER:
            flags |= _traces(column if kind is not KeyKind.SCALAR else _strings(column), is_text=name in batch.texts)
        batch.columns[name] = column
        batch.flags[name] = np.where(flags & _PRESENT, flags & ~_PRESENT, ABSENT) if isinstance(flags, np.ndarray) else flags & ~_PRESENT

    def _flags_of(self, name: str, kind: KeyKind, column: list[Any], raw: Sequence[str]) -> Bits:
        """Return the bits of each value and `_PRESENT`, as one number where all are alike."""
        if self._roles.is_looked_at(name):
            return self._flags_by_value(name, kind, column)
        if kind is KeyKind.SCALAR:
            return np.array([self._flags_of_value(name, value) for value in column])
        if kind is KeyKind.NUMBER:
            return FITS | _PRESENT if None not in column else np.array([0 if value is None else FITS | _PRESENT for value in column])
        if kind is KeyKind.SHORT:
            return _SHORT if all(column) else np.array([_SHORT if value else 0 for value in column])
        if all(column) and self._is_always_text(name, raw):
            return STRING | _PRESENT
        return np.array([(_SHORT if fits(value) else STRING | _PRESENT) if value else 0 for value in column])

    def _flags_by_value(self, name: str, kind: KeyKind, column: list[Any]) -> Bits:
        """Return the bits of a column of which each value must be looked at, if only once."""
        # 1 and True are equal, so numbers and booleans are known together with their type.
        keys: Sequence[object] = list(zip(map(type, column), column, strict=True)) if kind in (KeyKind.NUMBER, KeyKind.SCALAR) else column
        flags = {key: self._flags_of_value(name, value) for key, value in dict(zip(keys, column, strict=True)).items()}
        if len(set(flags.values())) == 1:
            return next(iter(flags.values()))
        return np.fromiter(map(flags.__getitem__, keys), np.int64, len(column))

    def _flags_of_value(self, name: str, value: Scalar | None) -> int:
        return 0 if value is None or value == "" else self._roles.flags(name, value) | _PRESENT

    def _is_always_text(self, name: str, raw: Sequence[str]) -> bool:
        """Whether a field is the text wherever it is a string, so that its length does not matter."""
        for other in self._roles.texts:
            if other == name:
                return True
            if other in self.form.kinds or other.startswith(tuple(raw)) or "_" + other in self.form.kinds:
                return False
        return False

    def _take_times(self, batch: JsonBatch, name: str, column: Sequence[Scalar | None]) -> Bits:
        times = times_of(column, batch.kafka_ms, self._rules.clock)
        if self._roles.is_unsure_time(name):
            times[~is_near(times, batch.kafka_ms)] = NO_TIME
        batch.times[name] = times
        is_time = times != NO_TIME
        return TIME if is_time.all() else is_time * TIME

    def _take_nested(self, batch: JsonBatch, key: str, column: list[Any]) -> None:
        known = self._nested.setdefault(key, {})
        if None in column:
            seen = [known.get(b"" if raw is None else bytes(raw)) for raw in column]
        else:
            seen = list(map(known.get, map(bytes, column)))
        found = [one for one in seen if one]
        if len(found) < len(seen):
            found = self._learn_all(known, key, column)
        values = list(dict.fromkeys(found))
        codes = np.fromiter(map(dict(zip(values, range(len(values)), strict=True)).__getitem__, found), np.int64, batch.size)
        nested = NestedColumn(key, codes, values)
        batch.nested.append(nested)
        forms = np.array([one.form for one in values])
        batch.leave((forms == UNREADABLE)[codes])
        if len(set(forms.tolist())) > 1:
            batch.split(forms[codes])
        for name in filter(self._roles.may_be_time, {name for one in values for name in one.leaves}):
            if name in batch.times:  # written once as a dotted name and once nested
                batch.leave(np.array([name in one.leaves for one in values])[codes])
                continue
            flag = self._take_times(batch, name, nested.leaves(name))
            batch.nested_times[name] = flag
            if not isinstance(flag, int):
                batch.split(flag)

    def _learn_all(self, known: dict[bytes, Nested], key: str, column: list[Any]) -> list[Nested]:
        texts = [b"" if raw is None else bytes(raw) for raw in column]
        return [known.get(text) or self._learn_nested(known, key, text) for text in texts]

    def _learn_nested(self, known: dict[bytes, Nested], key: str, text: bytes) -> Nested:
        nested = self._read_nested(key, text)
        if len(known) >= _MOST_REMEMBERED or self._nested_bytes > _MOST_REMEMBERED_BYTES:
            for one in self._nested.values():
                one.clear()
            self._nested_bytes = 0
        self._nested_bytes += len(text)
        known[text] = nested
        return nested

    def _read_nested(self, key: str, text: bytes) -> Nested:
        if text.count(b"{") + text.count(b"[") > _MOST_BRACKETS:
            return _UNREAD
        try:
            leaves = flat_of({key: parse_json(text)}) if text else {}
        except NotJson:  # a number beyond the range of a double, which the parser of the top does not compute
            return _UNREAD
        flags = {}
        for name, value in leaves.items():
            flags[name] = self._roles.flags(name, value)
            if name in self._roles.texts and isinstance(value, str) and (_OBJECT_BEGINS.match(value) or CRI_LINE.match(value)):
                flags[name] |= DEEP
            if flags[name] & TRACE and name in self._texts and split_trace(str(value)):
                flags[name] |= SPLIT
        form = tuple(flags.items())
        if form not in self._forms:
            if len(self._forms) >= _MOST_REMEMBERED:
                self._forms.clear()
            self._newest_form += 1
            self._forms[form] = self._newest_form
        return Nested(leaves, flags, self._forms[form])

    def _read_group(self, batch: JsonBatch, rows: NDArray[np.int64]) -> Entries | None:
        """Return the entries of a group, or None if the general rules must be asked."""
        flags = batch.flags_at(int(rows[0]))
        if flags is None or all(name.startswith(_WRAPPER) for name in flags):
            return None
        form = frozenset(flags.items())
        roles = self._known.get(form)
        if roles is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            roles = self._known[form] = self._roles.roles(flags)
        if roles.text not in self._texts or roles.text in RENDERED or flags[roles.text] & DEEP:
            return None
        is_split = bool(flags[roles.text] & SPLIT)
        group = KeyGroup(rows, len(rows) == batch.size, batch.columns, batch.nested, batch.texts, batch.times, is_split)
        return entries_of_group(roles, group, self._roles.templates)


_PRESENT: Final = 1 << 20
_SHORT: Final = STRING | FITS | _PRESENT


def _strings(column: Sequence[Scalar | None]) -> list[str | None]:
    return [value if isinstance(value, str) else None for value in column]


def _traces(column: Sequence[Any], *, is_text: bool) -> Bits:
    """Return `TRACE` for the stack traces of a column of strings, and `SPLIT` for texts that one follows; 0 if there is none."""
    if not have_lines(column):
        return 0
    flags = [TRACE if value and is_trace(value) else 0 for value in column]
    if is_text:
        flags = [flag | SPLIT if flag and split_trace(value) else flag for flag, value in zip(flags, column, strict=True)]
    return np.array(flags, np.int64)


def _deep(texts: Column) -> Bits:
    """Return `DEEP` for texts that may be objects or have the header of a container's runtime: int64[n], or 0 if there is none."""
    found = find_starting(texts, "{ @12")
    if not len(found):
        return 0
    data, ends = utf8_of(texts)
    first = data[ends[found]]
    places = found[first == ord("{")].tolist()
    behind = found[(first == ord(" ")) | (first == ord("@"))]
    if len(behind):
        places += behind[find_matching(take(texts, behind), OBJECT_BEGINS)].tolist()
    begins = found[(first == ord("1")) | (first == ord("2"))]
    begins = begins[np.diff(ends)[begins] > _SHORTEST_CRI]
    begins = begins[data[ends[begins] + len("2026-01-02")] == ord("T")]
    if len(begins):
        places += begins[find_matching(take(texts, begins), _CRI_LINE)].tolist()
    if not places:
        return 0
    flags = np.zeros(len(texts), np.int64)
    flags[places] = DEEP
    return flags
