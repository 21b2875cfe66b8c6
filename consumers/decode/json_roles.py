"""Which field of a structured entry is its text, time, level, service, stack trace and source template, and which fields are kept.

A pure function of the names that an entry has and of a few bits for each value: whether it is a string, names a level, is a time … So the
general rules (`consumers.decode.json_document`) and the fast path (`consumers.decode.json_columns`) ask the same question, and the fast
path asks it once for all records of the same form.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from consumers.decode.json_names import (
    FULL_MESSAGE,
    LEVEL_NAMES,
    LEVEL_REPEATED,
    NAME,
    NUMBER_NAMES,
    OF_PINO,
    PROCESS,
    PYTHON_LEVEL,
    PYTHON_NUMBER,
    SERVICE_NAMES,
    SHORT_MESSAGE,
    SYSLOG_NAMES,
    SYSTEMD_UNIT,
    TEXT_NAMES,
    TIME_NAMES,
    TIME_OF_CLEF,
    TRACE_NAMES,
)
from consumers.decode.json_text import Scalar
from consumers.decode.kept_fields import ALIASES, FITS, LEVEL_ORIGINAL, LONGEST_STRING, STATUS_NAMES, KeptField, kept_flags, kept_sources
from consumers.decode.levels import (
    is_own_name,
    level_of_name,
    level_of_otlp,
    level_of_python,
    level_of_syslog,
    level_of_tens,
    whole_number,
    without_colours,
)
from consumers.decode.rules import DecodeRules
from consumers.decode.source_template import LOGGER_NAMES, SourceTemplates

STRING, TIME, LEVEL, SYSLOG, OTLP, PYTHON, WHOLE, DEEP = 4, 8, 16, 32, 64, 128, 256, 512
"""Bits of a value besides those of `consumers.decode.kept_fields`: a string, a time, the name of a level, a number on a scale of levels.

`DEEP` is a text that may be an object of its own, or that has the header of a container's runtime; it changes no role.
"""
_SHORT: Final = STRING | FITS
_BY_NAME, _BY_SYSLOG, _BY_OTLP, _BY_PYTHON, _BY_TENS = range(5)
_OF_NUMBER: Final = {_BY_SYSLOG: level_of_syslog, _BY_OTLP: level_of_otlp, _BY_PYTHON: level_of_python, _BY_TENS: level_of_tens}
_GELF_OF_LEVEL: Final = (SHORT_MESSAGE, FULL_MESSAGE)


class LevelRole(NamedTuple):
    """Which field says the level, and on which scale.

    Thread: any.
    """

    name: str
    scale: int

    def read(self, value: Scalar) -> tuple[str, Scalar | None]:
        """Return the level that a value stands for, and the value if it is not the level's own name."""
        if self.scale == _BY_NAME:
            written = without_colours(value) if isinstance(value, str) else value
            level = level_of_name(str(written))
            return level, None if is_own_name(str(written), level) else written
        number = whole_number(value)
        return ("" if number is None else _OF_NUMBER[self.scale](number)), value


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


class RoleRules:
    """The rules of a topic.

    Thread: any.
    """

    def __init__(self, rules: DecodeRules) -> None:
        names = rules.names
        self._rules = rules
        self.texts = _in_order(names.text, TEXT_NAMES)
        self.times = _in_order(names.time, TIME_NAMES)
        self._levels = _in_order(names.level, LEVEL_NAMES)
        self._services = _in_order(names.service, SERVICE_NAMES)
        self._named_services = frozenset(names.service)
        self.templates = SourceTemplates(rules)
        self.time_names = frozenset(self.times)
        self.level_names = frozenset({*self._levels, *NUMBER_NAMES, *SYSLOG_NAMES, PYTHON_NUMBER, PROCESS})
        """Fields whose values may have bits that say something of a level."""
        self._looked_at = self.level_names | STATUS_NAMES

    def flags(self, name: str, value: Scalar) -> int:
        """Return the bits of a value but `TIME`."""
        if name not in self._looked_at:
            return (_SHORT if len(value) <= LONGEST_STRING else STRING) if type(value) is str else FITS
        flags = kept_flags(name, value) | (STRING if isinstance(value, str) else 0)
        return flags | _level_flags(value) if name in self.level_names else flags

    def text_of(self, flags: Mapping[str, int]) -> str | None:
        """Return which field is the text."""
        return _first(self.texts, flags, STRING)

    def roles(self, flags: Mapping[str, int], outer: Mapping[str, int] | None = None) -> Roles:
        """Return the roles of the fields of an entry, and of those around it where its text is an object of its own.

        The entry's own fields come first in each role, but only they may hold the text.
        """
        both = {**outer, **flags} if outer else flags
        text = self.text_of(flags)
        full = FULL_MESSAGE if text == SHORT_MESSAGE and flags.get(FULL_MESSAGE, 0) & STRING else None
        used = {name for name in (text, full) if name}
        trace = _first(TRACE_NAMES, {name: flag for name, flag in both.items() if name not in used}, STRING)
        time, level, service = self._time(flags), self._level(flags), self._service(flags)
        if outer:
            around = (self._time(outer), self._level(outer), self._service(outer))
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
        logger = NAME if service != NAME and both.get(NAME, 0) & STRING and PYTHON_LEVEL in both else None
        sources = kept_sources(kept, self._rules, used, logger=logger)
        template = _first(self.templates.names, flags, STRING) or _first(self.templates.names, outer or {}, STRING)
        named_with = (_first(LOGGER_NAMES, both, STRING) or logger) if template else None
        return Roles(text, time, level, "INFO" if is_clef else "", service, trace, full, template, named_with, sources)

    def _time(self, flags: Mapping[str, int]) -> str | None:
        return _first(self.times, flags, TIME)

    def _service(self, flags: Mapping[str, int]) -> str | None:
        for name in self._services:
            if flags.get(name, 0) & STRING and (name != NAME or name in self._named_services or _is_of_pino(flags)):
                return name
        return None

    def _level(self, flags: Mapping[str, int]) -> LevelRole | None:
        if name := _first(self._levels, flags, LEVEL):
            return LevelRole(name, _BY_NAME)
        for names, flag, scale in (
            (NUMBER_NAMES, OTLP, _BY_OTLP),
            (SYSLOG_NAMES, SYSLOG, _BY_SYSLOG),
            ((PYTHON_NUMBER,), PYTHON, _BY_PYTHON),
        ):
            if name := _first(names, flags, flag):
                return LevelRole(name, scale)
        number = flags.get("level", 0)
        if number & WHOLE and _is_of_pino(flags):
            return LevelRole("level", _BY_TENS)
        return LevelRole("level", _BY_SYSLOG) if number & SYSLOG and any(name in flags for name in _GELF_OF_LEVEL) else None


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


def _level_flags(value: Scalar) -> int:
    number = whole_number(value)
    if number is not None:
        syslog = SYSLOG if level_of_syslog(number) else 0
        return WHOLE | syslog | (OTLP if level_of_otlp(number) else 0) | (PYTHON if level_of_python(number) else 0)
    return LEVEL if isinstance(value, str) and level_of_name(value) else 0


def _is_of_pino(flags: Mapping[str, int]) -> bool:
    return bool(flags.get(PROCESS, 0) & WHOLE) and all(name in flags for name in OF_PINO)


def _first(names: tuple[str, ...], flags: Mapping[str, int], wanted: int) -> str | None:
    for name in names:
        if flags.get(name, 0) & wanted:
            return name
    return None


def _in_order(named: tuple[str, ...], documented: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*named, *documented)))
