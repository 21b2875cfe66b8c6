"""Which field of a structured entry is its text, time, level, service, stack trace and source template, and which fields are kept.

A pure function of the names that an entry has and of a few bits for each value: whether it is a string, names a level, is a time … So the
general rules (`consumers.decode.json_document`) and the fast path (`consumers.decode.json_columns`) ask the same question, and the fast
path asks it once for all records of the same form.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from consumers.decode.json_levels import LEVEL_VALUES, LevelRole, is_of_pino, level_flags, level_role
from consumers.decode.json_names import (
    FULL_MESSAGE,
    LATE_TIME_NAMES,
    LEVEL_NAMES,
    LEVEL_REPEATED,
    LOGGERS_BESIDE,
    NAME,
    SERVICE_NAMES,
    SHORT_MESSAGE,
    SYSTEMD_UNIT,
    TEXT_NAMES,
    TIME_NAMES,
    TIME_OF_CLEF,
    TIMES_BESIDE,
    TRACE_NAMES,
)
from consumers.decode.json_shapes import LEVEL_LIKE, MAYBE_TIME, SERVICE_LIKE, TEXT_LIKE, TIME_LIKE, first_like, shape_of
from consumers.decode.json_text import Scalar
from consumers.decode.json_traces import is_trace, split_trace
from consumers.decode.kept_fields import (
    ALIASES,
    FITS,
    HTTP_STATUS,
    LEVEL_ORIGINAL,
    LONGEST_STRING,
    STATUS_NAMES,
    KeptField,
    kept_flags,
    kept_sources,
)
from consumers.decode.rules import DecodeRules
from consumers.decode.source_template import LOGGER_NAMES, SourceTemplates, is_of_request

STRING, TIME, DEEP, TRACE, SPLIT = 4, 8, 512, 8192, 16384
"""Bits of a value besides those of `consumers.decode.kept_fields` and of `consumers.decode.json_levels`: a string, a time, a stack trace.

`DEEP` is a text that may be an object of its own, or that has the header of a container's runtime, `SPLIT` one that a stack trace follows;
they change no role.
"""
_SHORT: Final = STRING | FITS
_HOST: Final = SERVICE_NAMES[-1]
"""What counts as the service where nothing else does."""


class Roles(NamedTuple):
    """Names of the fields of an entry by what they are; None where there is none.

    Thread: any.
    """

    text: str | None
    time: str | None
    level: LevelRole | None
    default_level: str
    """The level where `level` is None."""
    service: str | None
    trace: str | None
    full: str | None
    """GELF's long message, where the text is its short one."""
    template: str | None
    """The source template; it may be the text or a kept field too."""
    logger: str | None
    """What is named with `template`; None where there is none."""
    kept: tuple[KeptField, ...]
    status: str | None = None
    """The status of an HTTP response that the text lacks: `template` is the text then."""


class RoleRules:
    """The rules of a topic.

    Thread: any.
    """

    def __init__(self, rules: DecodeRules) -> None:
        names = rules.names
        self._rules = rules
        self.texts = _in_order(names.text, TEXT_NAMES)
        self._times = _in_order(names.time, TIME_NAMES)
        self._levels = _in_order(names.level, LEVEL_NAMES)
        self._services = _in_order(names.service, SERVICE_NAMES if names.documented_service else ())
        self._named_services = frozenset(names.service)
        self._services_by_shape = names.documented_service
        self.templates = SourceTemplates(rules)
        self._time_names = frozenset({*self._times, *LATE_TIME_NAMES, *(name for name, _ in TIMES_BESIDE)})
        self._level_names = LEVEL_VALUES.union(self._levels)

    def may_be_time(self, name: str) -> bool:
        """Whether a field may be the time of its entry, if its value is one."""
        return name in self._time_names or bool(shape_of(name) & (TIME_LIKE | MAYBE_TIME))

    def is_unsure_time(self, name: str) -> bool:
        """Whether a field is its entry's time only if it is near Kafka's: its name does not say of what it is the time."""
        return name not in self._time_names and bool(shape_of(name) & MAYBE_TIME)

    def is_looked_at(self, name: str) -> bool:
        """Whether the bits of a field depend on more of its value than its type and size."""
        return name in self._level_names or name in STATUS_NAMES or bool(shape_of(name) & LEVEL_LIKE)

    def flags(self, name: str, value: Scalar) -> int:
        """Return the bits of a value but `TIME`."""
        trace = TRACE if isinstance(value, str) and is_trace(value) else 0
        if not self.is_looked_at(name):
            return trace | ((_SHORT if len(value) <= LONGEST_STRING else STRING) if type(value) is str else FITS)
        flags = trace | kept_flags(name, value) | (STRING if isinstance(value, str) else 0)
        return flags if name in STATUS_NAMES and name not in self._level_names else flags | level_flags(value)

    def named_text_in(self, flat: Mapping[str, Scalar]) -> str | None:
        """Return which of the fields of an object is the text by its name alone."""
        return next((name for name in self.texts if isinstance(flat.get(name), str)), None)

    def text_in(self, flat: Mapping[str, Scalar]) -> str | None:
        """Return which of the fields of an object is the text."""
        return self.named_text_in(flat) or first_like(flat, TEXT_LIKE, lambda name: isinstance(flat[name], str))

    def named_text(self, flags: Mapping[str, int]) -> str | None:
        """Return which field is the text by its name alone."""
        return _first(self.texts, flags, STRING)

    def text_of(self, flags: Mapping[str, int]) -> str | None:
        """Return which field is the text."""
        return self.named_text(flags) or first_like(flags, TEXT_LIKE, lambda name: bool(flags[name] & STRING))

    def roles(self, flags: Mapping[str, int], outer: Mapping[str, int] | None = None) -> Roles:
        """Return the roles of the fields of an entry, and of those around it where its text is an object of its own.

        The entry's own fields come first in each role, but only they may hold the text.
        """
        both = {**outer, **flags} if outer else flags
        text = self.text_of(flags)
        full = FULL_MESSAGE if text == SHORT_MESSAGE and flags.get(FULL_MESSAGE, 0) & STRING else None
        used = {name for name in (text, full) if name}
        trace = self._trace({name: flag for name, flag in both.items() if name not in used})
        time, level, service = self._time(flags), level_role(self._levels, flags), self._service(flags)
        if outer:
            around = (self._time(outer), level_role(self._levels, outer), self._service(outer))
            time, level, service = time or around[0], level or around[1], service or around[2]
            used.update(name for name in (around[0], around[1] and around[1].name, around[2]) if name and name not in ALIASES)
        used.update(name for name in (time, level and level.name, trace) if name)
        if service and (service not in ALIASES or service in self._named_services):
            used.add(service)
        is_clef = level is None and TIME_OF_CLEF in both
        kept = dict(both)
        if level:
            used.update(LEVEL_REPEATED)
            kept.setdefault(LEVEL_ORIGINAL, FITS)
        logger = next((name for name, beside in LOGGERS_BESIDE if beside in both and both.get(name, 0) & STRING and name != service), None)
        sources = kept_sources(kept, self._rules, used, logger=logger)
        template = _first(self.templates.names, flags, STRING) or _first(self.templates.names, outer or {}, STRING)
        named_with = (_first(LOGGER_NAMES, both, STRING) or logger) if template else None
        status = None
        if template is None and text and self.templates.names and any(map(is_of_request, both)):
            status = next((field.source for field in sources if field.name == HTTP_STATUS), None)
            template = text if status else None
        return Roles(text, time, level, "INFO" if is_clef else "", service, trace, full, template, named_with, sources, status)

    def _time(self, flags: Mapping[str, int]) -> str | None:
        if named := _first(self._times, flags, TIME):
            return named
        beside = tuple(name for name, other in TIMES_BESIDE if other in flags)
        like = first_like(flags, TIME_LIKE, lambda name: bool(flags[name] & TIME))
        return like or _first(beside, flags, TIME) or _first(LATE_TIME_NAMES, flags, TIME) or _only_time(flags)

    def _service(self, flags: Mapping[str, int]) -> str | None:
        for name in self._services:
            if name == _HOST and name not in self._named_services and (like := _service_like(flags)):
                return like
            if flags.get(name, 0) & STRING and (name != NAME or name in self._named_services or is_of_pino(flags)):
                return name
        return _service_like(flags) if self._services_by_shape else None

    def _trace(self, flags: Mapping[str, int]) -> str | None:
        """Return which field is the stack trace: of those that look like one the first known name, or any but a text's; else the former."""
        named = _first(TRACE_NAMES, flags, TRACE)
        like = (name for name, flag in flags.items() if flag & TRACE and name not in self.texts)
        return named or min(like, key=_order, default=None) or _first(TRACE_NAMES, flags, STRING)


def _only_time(flags: Mapping[str, int]) -> str | None:
    """Return which field is a time, if only one is."""
    found = [name for name, flag in flags.items() if flag & TIME and shape_of(name) & MAYBE_TIME]
    return found[0] if len(found) == 1 else None


def _service_like(flags: Mapping[str, int]) -> str | None:
    """Return which field is the service by the words of its name: a short string, and not the client of PostgreSQL."""
    if "error_severity" in flags:
        return None
    return first_like(flags, SERVICE_LIKE, lambda name: flags[name] & _SHORT == _SHORT)


def _order(name: str) -> tuple[int, str]:
    return name.count("."), name


def service_of(name: str, value: str) -> str:
    """Return the service that a field names."""
    return value.removesuffix(".service") if name == SYSTEMD_UNIT else value


def trace_of(trace: str, text: str) -> str | None:
    """Return a stack trace as it follows a text; None if the text has it already."""
    return None if trace in text else "\n" + trace


def text_of_gelf(short: str, full: str) -> tuple[str, str | None]:
    """Return text and stack trace of a short message and a long one, which is all of it, or the stack trace alone."""
    more = full.removeprefix(short)
    if full.startswith(short) and more.strip() and more[0] not in "\r\n":
        return full, None
    more = more.strip("\r\n")
    return short, "\n" + more if more.strip() else None


def parted(text: str, trace: str | None) -> tuple[str, str | None]:
    """Return a text without the stack trace that follows its message, and the trace with it."""
    found = split_trace(text)
    if found is None:
        return text, trace
    message, own = found
    return message, trace if trace and own in trace else "\n" + own + (trace or "")


def _first(names: tuple[str, ...], flags: Mapping[str, int], wanted: int) -> str | None:
    for name in names:
        if flags.get(name, 0) & wanted:
            return name
    return None


def _in_order(named: tuple[str, ...], documented: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*named, *documented)))
