"""The fast path of JSON records: one object a record, with a message and with fields of the types that loggers write.

Only the fields that `consumers.decode.json_document` looks at are read, as typed structs; the rest is checked and skipped. Whatever is of
another type, has no message, or has a level that is not a well-known name is left to the general rules. So the answer is always theirs
(`tests/properties/test_json.py`), in a fraction of the time.
"""

import re
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta, Raw, Struct, field

from consumers.decode.levels import level_of_name, level_of_number

_MOST_REMEMBERED = 1_024
_LONGEST_REMEMBERED = 32
"""Of names of levels: how many are remembered, and of how many characters at most."""
_LARGEST_LEVEL = 1_000
_PROCESS = re.compile(rb"[0-9]{1,9}")


class _Object(Struct, gc=False):
    """Any object."""


class _Log(Struct, gc=False):
    level: str | None = None


class _Service(Struct, gc=False):
    name: str | None = None
    string: str | None = field(default=None, name="stringValue")


class _Labels(Struct, gc=False):
    app: str | None = None


class _Kubernetes(Struct, gc=False):
    labels: _Labels | None = None


class _Host(Struct, gc=False):
    name: str | None = None


_Message = str | _Object | None
_Number = Annotated[int, Meta(ge=1)]
"""0, which `or` does not see, is left to the general rules."""
_Level = str | _Number | None


class _Fields(Struct, gc=False):
    """What the general rules look at; the most frequent ones first, because the parser looks them up in this order."""

    message: _Message = None
    level: _Level = None
    service: str | _Service | None = None
    log: str | _Log | None = None
    msg: _Message = None
    kubernetes: _Kubernetes | None = None
    host: str | _Host | None = None
    app: str | None = None
    severity: _Level = None
    body: _Message = None
    event: _Message = None
    text: _Message = None
    service_name: str | None = field(default=None, name="service.name")
    host_name: str | None = field(default=None, name="host.name")
    log_level: str | None = field(default=None, name="log.level")
    kubernetes_app: str | None = field(default=None, name="kubernetes.labels.app")
    event_original: str | None = field(default=None, name="event.original")
    severity_text: str | None = None
    levelname: str | None = None
    lvl: _Level = None
    at_l: str | None = field(default=None, name="@l")
    journal_priority: _Level = field(default=None, name="PRIORITY")
    severity_number: _Number | None = None
    severity_number_camel: _Number | None = field(default=None, name="severityNumber")
    severity_number_pascal: _Number | None = field(default=None, name="SeverityNumber")
    at_message: str | None = field(default=None, name="@message")
    journal_message: str | None = field(default=None, name="MESSAGE")
    short_message: str | None = None
    full_message: str | None = None
    at_m: str | None = field(default=None, name="@m")
    at_mt: str | None = field(default=None, name="@mt")
    text_payload: str | None = field(default=None, name="textPayload")


_ABSENT = Raw()


class _Siblings(Struct, gc=False):
    """What tells the scale of a number in `level` (`consumers.decode.levels`)."""

    msg: Raw = _ABSENT
    time: Raw = _ABSENT
    pid: Raw = _ABSENT
    hostname: Raw = _ABSENT
    short_message: Raw = _ABSENT
    full_message: Raw = _ABSENT


_OF_PINO = {"msg": "", "time": 0, "pid": 1, "hostname": ""}
_GELF = {"short_message": ""}
"""Siblings that stand for those of a record: to `level_of_number` only their names matter, and that `pid` is a whole number."""
_NOTHING = _Fields()
_NO_LEVEL: dict[str | int | None, str] = {None: "", "": ""}


class ObjectEntries(NamedTuple):
    """n records as lists of length n.

    Thread: one.
    """

    text: list[str | None]
    """Never empty, may end with a line end; None where the general rules must be asked."""
    service: list[str]
    level: list[str]


class JsonObjects:
    """Reads records of the usual forms; remembers names of levels.

    Thread: one.
    """

    def __init__(self) -> None:
        self._decode = msgspec.json.Decoder(_Fields).decode
        self._decode_siblings = msgspec.json.Decoder(_Siblings).decode
        self._levels: dict[str | int | None, str] = dict(_NO_LEVEL)
        self._numbers: dict[tuple[int, bool, bool], str] = {}
        """Levels by number, whether pino wrote it, and whether it is GELF."""

    def read(self, values: Sequence[bytes]) -> ObjectEntries:
        """Read n values that are valid UTF-8. The answer holds for those in which `consumers.decode.json_limits` finds nothing."""
        texts: list[str | None] = []
        services: list[str] = []
        levels: list[str] = []
        decode, known = self._decode, self._levels
        for value in values:
            try:
                fields = decode(value)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                fields = _NOTHING
            text = fields.body or fields.message or fields.msg or fields.log or _other_text(fields)
            service = fields.service
            if type(service) is not str or not service or fields.service_name is not None:
                service = _other_service(fields)
            name = fields.severity_text or fields.level or fields.log_level or _other_level(fields)
            level = known.get(name)
            if level is None:
                level = self._learn_level(name) if isinstance(name, str) else self._level_of_number(fields, value)
            texts.append(text if text and level is not None and type(text) is str else None)
            services.append(service)
            levels.append(level or "")
        return ObjectEntries(texts, services, levels)

    def _learn_level(self, name: str) -> str | None:
        """Return the level that a name stands for; None if it is none, so that another field may say it."""
        level = level_of_name(name)
        if level and len(name) <= _LONGEST_REMEMBERED:
            if len(self._levels) >= _MOST_REMEMBERED:
                self._levels.clear()
                self._levels.update(_NO_LEVEL)
            self._levels[name] = level
        return level or None

    def _level_of_number(self, fields: _Fields, value: bytes) -> str | None:
        """Return what the number in `level` says; None if another field may say something, or if this is not certain."""
        number = fields.level
        if type(number) is not int or number > _LARGEST_LEVEL or fields.log_level or _other_level(fields):
            return None
        siblings = self._decode_siblings(value)
        is_of_pino = siblings.msg is not _ABSENT and siblings.time is not _ABSENT and siblings.hostname is not _ABSENT
        if siblings.pid is _ABSENT:
            is_of_pino = False
        elif is_of_pino and not _PROCESS.fullmatch(siblings.pid):
            return None
        is_gelf = siblings.short_message is not _ABSENT or siblings.full_message is not _ABSENT
        level = self._numbers.get((number, is_of_pino, is_gelf))
        if level is None:
            level = level_of_number({"level": number, **(_OF_PINO if is_of_pino else {}), **(_GELF if is_gelf else {})})
            self._numbers[number, is_of_pino, is_gelf] = level
        return level


def _other_text(fields: _Fields) -> str | _Object | None:
    text = fields.at_message or fields.event_original
    if text or isinstance(fields.event, _Object):  # its `original` may be the message
        return text
    rare = fields.journal_message or fields.short_message or fields.full_message or fields.event or fields.at_m or fields.at_mt
    return rare or fields.text_payload or fields.text


def _other_service(fields: _Fields) -> str:
    service, dotted = fields.service, fields.service_name
    if isinstance(service, _Service):
        service = (service.name or service.string) if dotted is None else (service.string or service.name)
    found = dotted or service or fields.app
    if found:
        return found
    kubernetes, app = fields.kubernetes, fields.kubernetes_app
    if kubernetes and app is None:
        app = kubernetes.labels.app if kubernetes.labels else None
    host = fields.host_name
    if not app and host is None and isinstance(fields.host, _Host):
        host = fields.host.name
    return app or host or ""


def _other_level(fields: _Fields) -> str | int | None:
    log = fields.log
    nested = log.level if isinstance(log, _Log) and fields.log_level is None else None
    name = nested or fields.severity or fields.lvl or fields.levelname or fields.at_l or fields.journal_priority
    return name or fields.severity_number or fields.severity_number_camel or fields.severity_number_pascal
