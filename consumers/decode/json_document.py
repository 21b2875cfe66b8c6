"""Structured records by the general rules: a mapping is a log entry.

`consumers.decode.json_reader` calls it for each value that the fast path, `consumers.decode.json_columns`, leaves alone; readers of other
formats that give mappings (MessagePack, CloudEvents) call it for all of theirs. No error contains anything of a value.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from consumers.columns import coded_texts, null_column, string_column
from consumers.decode.entries import Entries
from consumers.decode.found import NO_TIME
from consumers.decode.json_envelopes import fields_around, outer_fields, within_envelope
from consumers.decode.json_frames import frames_of
from consumers.decode.json_names import DATES_AND_ZONES, JOURNAL_MESSAGE, RENDERED, SECONDS_AND_NANOS
from consumers.decode.json_repair import JsonRepairs
from consumers.decode.json_roles import TIME, RoleRules, Roles, parted, service_of, text_of_gelf, trace_of
from consumers.decode.json_template import rendered
from consumers.decode.json_text import NotJson, Scalar, canonical_json, parse_json
from consumers.decode.json_times import is_near, times_of, with_zone
from consumers.decode.json_values import TooManyEntries
from consumers.decode.kept_fields import LEVEL_ORIGINAL, flat_fields, kept_of_sources
from consumers.decode.rules import DecodeRules

_MOST_REMEMBERED: Final = 1_024
"""Forms of entries whose roles are remembered."""
CRI_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\dT\S{8,40}) (?:stdout|stderr) [FP] ", re.ASCII)
"""What Docker's and Kubernetes' loggers write before a line."""
_WRAPPER: Final = "log"
"""The only field of an object around Vector's `native_json`."""
BLANKS: Final = " \t\r\n\0"
OBJECT_BEGINS: Final = r"^ {0,4}(?:@cee: {0,4})?\{"
"""How a text begins that may be an object: rsyslog puts a blank before messages, and a cookie before those that are JSON."""
_BEFORE_OBJECT: Final = re.compile(rf"(?:{OBJECT_BEGINS})")
_MOST_OPENED: Final = 2
"""Texts that are objects, one in another: so no entry is deeper than three objects."""
_DEEPEST: Final = 4
"""Envelopes within each other that are opened."""


class Walked(NamedTuple):
    """An entry before its roles are known.

    Thread: any.
    """

    document: Mapping[str, object]
    text: str
    """The text as it is, or the whole object where no field is the text."""
    flat: Mapping[str, Scalar]
    outer: Mapping[str, Scalar]
    """Fields around an object that was the text of another one."""
    held_by: tuple[str, ...] = ()
    """The names of such texts, which are no fields any more but say whose names the others are: GELF's, pino's."""


class Documents:
    """Makes entries of mappings; remembers the roles of forms that it has seen.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, roles: RoleRules, repairs: JsonRepairs | None = None) -> None:
        """`repairs`: of texts that are objects, with the tally of a worker; None: they are not counted."""
        self._rules = rules
        self._roles = roles
        self._repairs = repairs or JsonRepairs(rules)
        self._known: dict[tuple[frozenset[tuple[str, int]], frozenset[tuple[str, int]] | None], Roles] = {}

    def walk(self, document: Mapping[str, object], *, most: int) -> list[Walked]:
        """Return the entries of an object before their roles are known: one, or those of a batch.

        Raises NotJson: nested too deeply to be written; TooManyEntries: more than `most`.
        """
        found: list[Walked] = []
        self._walk_into(found, document, {}, most)
        return found

    def _walk_into(
        self, found: list[Walked], document: Mapping[str, object], outer: Mapping[str, Scalar], most: int, depth: int = 0
    ) -> None:
        """Add the entries of an object that is within others."""
        if len(document) == 1 and isinstance(wrapped := document.get(_WRAPPER), dict):
            document = wrapped
        flat = flat_of(document)
        name = self._roles.text_in(flat)
        if depth < _DEEPEST and self._roles.named_text_in(flat) is None and (within := within_envelope(document, self._roles.texts)):
            rest = outer_fields({**outer, **fields_around(flat, within.keys)}, len(within.documents))
            for one in within.documents:
                self._walk_into(found, one, rest, most, depth + 1)
            return
        if len(found) >= most:
            raise TooManyEntries
        found.append(self._walked(document, flat, name, outer))

    def _walked(self, document: Mapping[str, object], flat: dict[str, Scalar], name: str | None, outer: Mapping[str, Scalar]) -> Walked:
        if name is None:
            return Walked(document, canonical_json(document) if document else "", flat, outer)
        held_by: tuple[str, ...] = ()
        for _ in range(_MOST_OPENED):
            self._remove_header(flat, name)
            inner = self._object_in(str(flat[name]))
            within = {} if inner is None else flat_of(inner)
            inner_name = self._roles.text_in(within)
            if inner is None or inner_name is None:
                break
            del flat[name]
            held_by = (*held_by, name)
            document, flat, name, outer = inner, within, inner_name, self._around(outer, flat)
        return Walked(document, str(flat[name]), flat, outer, held_by)

    def has_text(self, value: bytes) -> bool:
        """Whether a value is an object with a text."""
        document = self._object_in(value.decode("utf-8", "replace"))
        return document is not None and self._roles.text_in(flat_of(document)) is not None

    def _remove_header(self, flat: dict[str, Scalar], name: str) -> None:
        """Remove what a container's runtime wrote before a text; its time counts where there is no other."""
        text = str(flat[name])
        if line := CRI_LINE.match(text):
            flat[name] = text[line.end() :]
            if not any(map(self._roles.may_be_time, flat)):
                flat["time"] = line[1]

    def _around(self, outer: Mapping[str, Scalar], flat: dict[str, Scalar]) -> dict[str, Scalar]:
        """Return the fields around an object, given those of the next object and of those around that: the nearest time counts."""
        if any(map(self._roles.may_be_time, flat)):
            outer = {name: value for name, value in outer.items() if not self._roles.may_be_time(name)}
        return {**outer, **flat}

    def _object_in(self, text: str) -> dict[str, object] | None:
        """Return the object that a text is; None if it is none."""
        before = _BEFORE_OBJECT.match(text)
        if not before or not text.rstrip(BLANKS).endswith("}"):
            return None
        try:
            inner = self._repairs.parse(text[before.end() - 1 :].encode("utf-8", "replace"), parse_json)
        except NotJson:
            return None
        return inner if isinstance(inner, dict) else None

    def entries(self, walked: Sequence[Walked], row: NDArray[np.int64], sub: NDArray[np.int32], kafka_ms: NDArray[np.int64]) -> Entries:
        """Return m entries; `row`, `sub` and `kafka_ms` are of each."""
        times = self._times(walked, kafka_ms)
        texts, levels, services = [], [], []
        fields: list[str | None] = []
        traces: list[str | None] = []
        templates: list[str | None] = []
        time_ms = np.full(len(walked), NO_TIME)
        for i, entry in enumerate(walked):
            flags = self._flags(entry.flat, times[i])
            outer = dict.fromkeys(entry.held_by, 0) | self._flags(entry.outer, times[i]) if entry.outer else None
            roles = self._roles_of(flags, outer)
            flat = {**entry.outer, **entry.flat} if outer else entry.flat
            if roles.time:
                time_ms[i] = times[i][roles.time]
            text, trace, service, level, original = _read_roles(roles, entry, flat)
            if original is not None and LEVEL_ORIGINAL not in flat:
                flat = {**flat, LEVEL_ORIGINAL: original}
            texts.append(text)
            traces.append(trace)
            levels.append(level)
            services.append(service)
            fields.append(kept_of_sources(flat, roles.kept))
            templates.append(self._template_of(roles, flat))
        has_trace = any(trace is not None for trace in traces)
        return Entries(
            row=row,
            sub=sub,
            text=string_column(texts),
            time_ms=time_ms,
            service=coded_texts(services),
            level=coded_texts(levels),
            fields=string_column(fields) if any(fields) else null_column(len(fields)),
            trace=string_column(traces) if has_trace else None,
            template=string_column(templates) if any(templates) else None,
        )

    def _template_of(self, roles: Roles, flat: Mapping[str, Scalar]) -> str | None:
        if roles.template is None:
            return None
        if roles.status is not None:
            return self._roles.templates.with_status(str(flat[roles.template]), flat[roles.status])
        return self._roles.templates.text_of(str(flat[roles.template]), str(flat[roles.logger]) if roles.logger else "")

    def _times(self, walked: Sequence[Walked], kafka_ms: NDArray[np.int64]) -> list[dict[str, int]]:
        """Return the times that the fields of each entry hold, by name; those of the entry itself before those around it."""
        may_be_time = self._roles.may_be_time
        times: list[dict[str, int]] = [{} for _ in walked]
        found = [
            (row, name, value)
            for row, entry in enumerate(walked)
            for name, value in chain(entry.flat.items(), entry.outer.items())
            if may_be_time(name)
        ]
        if found:
            rows = np.array([row for row, _, _ in found])
            parsed = times_of([value for _, _, value in found], kafka_ms[rows], self._rules.clock)
            is_unsure = np.array([self._roles.is_unsure_time(name) for _, name, _ in found])
            parsed[is_unsure & ~is_near(parsed, kafka_ms[rows])] = NO_TIME
            for (row, name, _), time_ms in zip(found, parsed.tolist(), strict=True):
                if time_ms != NO_TIME:
                    times[row].setdefault(name, time_ms)
        return times

    def _flags(self, flat: Mapping[str, Scalar], times: Mapping[str, int]) -> dict[str, int]:
        flags = {name: self._roles.flags(name, value) for name, value in flat.items()}
        for name in times:
            if name in flags:
                flags[name] |= TIME
        return flags

    def _roles_of(self, flags: Mapping[str, int], outer: Mapping[str, int] | None) -> Roles:
        form = (frozenset(flags.items()), frozenset(outer.items()) if outer else None)
        roles = self._known.get(form)
        if roles is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            roles = self._known[form] = self._roles.roles(flags, outer)
        return roles


def _read_roles(roles: Roles, entry: Walked, flat: Mapping[str, Scalar]) -> tuple[str, str | None, str, str, Scalar | None]:
    """Return text, trace, service, level, and what was written as the level if that is not its own name."""
    text, trace = entry.text, None
    if roles.text in RENDERED:
        text = rendered(text, _values_of_template(entry.document, RENDERED[roles.text]))
    elif roles.full:
        text, trace = text_of_gelf(text, str(flat[roles.full]))
    if roles.trace and trace is None:
        trace = trace_of(str(flat[roles.trace]), text)
    text, trace = parted(text, trace)
    service = service_of(roles.service, str(flat[roles.service])) if roles.service else ""
    level, original = roles.level.read(flat[roles.level.name]) if roles.level else (roles.default_level, None)
    return text, trace, service, level, original


def _values_of_template(document: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return what the names of a message template stand for: a whole object, or what it has under a name."""
    values = document.get(name) if name else document
    return values if isinstance(values, dict) else {}


def flat_of(document: Mapping[str, object]) -> dict[str, Scalar]:
    """Return the fields of an object under their dotted names, with what some sources write in a form of their own."""
    flat = flat_fields(document)
    message = document.get(JOURNAL_MESSAGE)
    if isinstance(message, list) and message and all(type(byte) is int and 0 <= byte < 256 for byte in message):  # noqa: PLR2004
        flat[JOURNAL_MESSAGE] = bytes(message).decode("utf-8", "replace")
    for seconds, nanos in SECONDS_AND_NANOS:
        whole, part = flat.get(seconds), flat.get(nanos)
        if type(whole) is int and type(part) is int and 0 <= part < 10**9:
            flat[seconds] = whole + part // 10**6 / 10**3
            del flat[nanos]
    for date, zone in DATES_AND_ZONES:
        local, named = flat.get(date), flat.get(zone)
        if isinstance(local, str) and isinstance(named, str):
            del flat[date]
            if time := with_zone(local, named):
                flat[date] = time
    return flat | frames_of(document)
