"""What a log record of OTLP is as an entry: the rules that its two forms, Protocol Buffers and JSON, have in common.

`consumers.decode.otlp_proto` and `consumers.decode.otlp_json` call it for each record; the former only where its fast path does not know
the answer.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from consumers.decode.json_names import TEXT_NAMES
from consumers.decode.json_roles import trace_of
from consumers.decode.json_text import Scalar, canonical_json
from consumers.decode.kept_fields import LEVEL_ORIGINAL, flat_fields, is_scalar, kept_of_flat
from consumers.decode.levels import LEVELS, is_own_name, level_of_name
from consumers.decode.rules import DecodeRules, FieldNames
from consumers.decode.source_template import LOGGER_NAMES, SourceTemplates

SERVICE: Final = "service.name"
STACK_TRACE: Final = "exception.stacktrace"
_EXCEPTION: Final = ("exception.message", "exception.type")
_NUMBERS_OF_LEVEL: Final = 4
"""Severity numbers: 1 to 24, four for each level."""


class OtlpOrigin(NamedTuple):
    """What the records of one scope have alike.

    Thread: any.
    """

    service: str
    logger: str
    flat: Mapping[str, Scalar]
    """Attributes of the scope and then of the resource."""


class LogRecord(NamedTuple):
    """A log record as plain values: strings, numbers, booleans, None, lists and dicts; bytes as base64.

    Thread: any.
    """

    body: object
    event_name: str
    time_ns: int
    """When it was logged, else when it was observed; 0 where neither is given."""
    severity_text: str
    severity_number: int
    trace_id: str
    """Hexadecimal digits, or empty."""
    span_id: str
    attributes: Mapping[str, object]


class OtlpEntry(NamedTuple):
    """A log record as an entry.

    Thread: any.
    """

    text: str
    time_ns: int
    time: Scalar | None
    """A time that the settings name, as it is written; it is looked at before `time_ns`."""
    service: str
    level: str
    fields: str | None
    trace: str | None
    template: str | None
    is_said: bool = True
    """Whether the text is one that the record holds; it may be an object of its own then."""


def origin_of(logger: str, scope: Mapping[str, object], resource: Mapping[str, object]) -> OtlpOrigin:
    """Return what the records of a scope have alike."""
    flat = flat_fields(scope)
    for name, value in flat_fields(resource).items():
        flat.setdefault(name, value)
    service = resource.get(SERVICE)
    return OtlpOrigin(service if isinstance(service, str) and service else _string(flat, SERVICE), logger, flat)


def add_attribute(found: dict[str, object], key: str, value: object) -> None:
    """Add an attribute; of a name that is given twice the first counts that has a value to keep."""
    if not (is_scalar(found.get(key)) or isinstance(found.get(key), dict)):
        found[key] = value


def level_of(severity_text: str, severity_number: int) -> tuple[str, str]:
    """Return a level, and what was written if that is not the level's own name: the text, else the number."""
    level = level_of_name(severity_text)
    if not level and 1 <= severity_number <= _NUMBERS_OF_LEVEL * len(LEVELS):
        level = LEVELS[(severity_number - 1) // _NUMBERS_OF_LEVEL]
    return level, "" if is_own_name(severity_text, level) else severity_text


def hex_id(digits: str) -> str:
    """Return the digits of a trace or span id; empty if it is none: OpenTelemetry's invalid id is all zeros."""
    return digits if digits.strip("0") else ""


def entry_of(record: LogRecord, origin: OtlpOrigin, rules: DecodeRules, templates: SourceTemplates) -> OtlpEntry:
    """Return the entry of a log record."""
    level, written = level_of(record.severity_text, record.severity_number)
    said = _said_fields(record)
    template = _template_of(record.event_name, said, origin.logger, templates)
    flat = _all_fields(record, said, origin, written)
    used: set[str] = set()
    text = _text_of(record, flat, rules.names, used)
    level = _named_level(flat, rules.names, used) or level
    service = _first_string(flat, rules.names.service, used) or origin.service or _string(flat, SERVICE)
    if service:
        used.add(SERVICE)
    time = next((flat[name] for name in rules.names.time if name in flat), None)
    used.update(name for name in rules.names.time if name in flat)
    trace: str | None = _string(flat, STACK_TRACE)
    if trace:
        used.add(STACK_TRACE)
        trace = trace_of(trace, text)
    is_said = not text.startswith("{") or isinstance(record.body, str) or text in said.values()
    if not text and not trace and (own := flat_fields(record.attributes)):
        text = canonical_json(own)
        used.update(own)
        is_said = False
    return OtlpEntry(text, record.time_ns, time, service, level, kept_of_flat(flat, rules, used), trace or None, template, is_said)


def _said_fields(record: LogRecord) -> dict[str, Scalar]:
    """Return the attributes of a record by dotted name, and then the members of its body."""
    said = flat_fields(record.attributes)
    if isinstance(record.body, dict):
        for name, value in flat_fields(record.body).items():
            said.setdefault(name, value)
    return said


def _all_fields(record: LogRecord, said: Mapping[str, Scalar], origin: OtlpOrigin, level_written: str) -> dict[str, Scalar]:
    """Return the fields of a record and its origin by dotted name; of those of one name the one nearest to the record counts."""
    flat = identity_fields(record.trace_id, record.span_id, level_written, origin.logger)
    if record.event_name:
        flat["event.name"] = record.event_name
    for own in (said, origin.flat):
        for name, value in own.items():
            flat.setdefault(name, value)
    return flat


def _template_of(event_name: str, said: Mapping[str, Scalar], logger: str, templates: SourceTemplates) -> str | None:
    """Return the source template that a record itself carries, else the name of its event.

    What a resource says stands once for thousands of records, so it is no template, and would take their number times its size.
    """
    written = _first_string(said, templates.names, set()) or (event_name if templates.names else "")
    return templates.text_of(written, logger or _first_string(said, LOGGER_NAMES, set())) if written else None


def identity_fields(trace_id: str, span_id: str, level_written: str, logger: str) -> dict[str, Scalar]:
    """Return the fields that OTLP has besides attributes."""
    fields = {"trace_id": trace_id, "span_id": span_id, LEVEL_ORIGINAL: level_written, "logger": logger}
    return {name: value for name, value in fields.items() if value}


def _text_of(record: LogRecord, flat: Mapping[str, Scalar], names: FieldNames, used: set[str]) -> str:
    if text := _first_string(flat, names.text, used):
        return text
    body = record.body
    if isinstance(body, str):
        if body:
            return body
    elif isinstance(body, dict):
        members = flat_fields(body)
        if text := _first_string(members, TEXT_NAMES, used):
            return text
        if members:
            used.update(members)
            return canonical_json(body)
    elif body is not None:
        return canonical_json(body)
    return _text_of_event(record.event_name, flat, used)


def _text_of_event(event_name: str, flat: Mapping[str, Scalar], used: set[str]) -> str:
    """Return the name of an event and what the exception says that it is about, where a record has no body."""
    exception = _first_string(flat, _EXCEPTION, used)
    used.add("event.name")
    return ": ".join(part for part in (event_name, exception) if part)


def _named_level(flat: Mapping[str, Scalar], names: FieldNames, used: set[str]) -> str:
    for name in names.level:
        if level := level_of_name(_string(flat, name)):
            used.add(name)
            return level
    return ""


def _first_string(flat: Mapping[str, Scalar], names: Sequence[str], used: set[str]) -> str:
    for name in names:
        if text := _string(flat, name):
            used.add(name)
            return text
    return ""


def _string(flat: Mapping[str, Scalar], name: str) -> str:
    found = flat.get(name)
    return found if isinstance(found, str) else ""
