"""OTLP as JSON: what the Collector's Kafka exporter writes with the encoding `otlp_json`, many log records a value.

Its JSON is not the one of Protocol Buffers: ids are hexadecimal, integers of 64 bits may be texts, enumerations are numbers, unknown fields
are ignored. Names may be written in either style (`timeUnixNano`, `time_unix_nano`). A value holds one batch, an array of batches, or one
on each line.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Final

from consumers.decode.decode_tally import DecodeTally
from consumers.decode.found import Found, Values, too_many_entries, undecodable
from consumers.decode.inner_objects import InnerObjects
from consumers.decode.json_repair import JsonRepairs
from consumers.decode.json_text import NotJson, parse_json
from consumers.decode.otlp_entry import LogRecord, OtlpEntry, OtlpOrigin, add_attribute, entry_of, hex_id, origin_of
from consumers.decode.otlp_rows import OtlpRows, TooManyRecords
from consumers.decode.rules import DecodeRules
from consumers.decode.source_template import SourceTemplates

_MOST_NESTED: Final = 100
"""Levels of values in values."""
_MOST_INT64: Final = (1 << 63) - 1
_MOST_UINT64: Final = (1 << 64) - 1
_LONGEST_NUMBER: Final = 20
"""Digits and sign of an integer of 64 bits."""
_LONGEST_DOUBLE: Final = 64
_LONGEST_ID: Final = 64
_HEX: Final = frozenset("0123456789abcdefABCDEF")


class NotOtlp(Exception):
    """The value is not OTLP; the text is the reason, without anything of the value."""


class OtlpJsonReader:
    """Reads `LogsData` as JSON.

    Thread: one.
    """

    def __init__(self, rules: DecodeRules, tally: DecodeTally | None = None) -> None:
        """`tally` counts repairs; None: nobody asks for them."""
        self._rules = rules
        self._templates = SourceTemplates(rules)
        self._repairs = JsonRepairs(rules, tally)
        self._inner = InnerObjects(rules, tally)

    def read(self, values: Values) -> Found:
        """Read n values."""
        rows = OtlpRows()
        for place, value in enumerate(values.value):
            try:
                for batch in self._repairs.parse(value, _batches):
                    self._read_batch(batch, rows)
            except NotOtlp as error:
                rows.fail_value(place, undecodable(str(error)))
            except NotJson:
                rows.fail_value(place, undecodable("not OTLP logs: JSON that is not valid, or nested too deeply"))
            except TooManyRecords:
                rows.fail_value(place, too_many_entries(self._rules.max_entries, "log records"))
            rows.end_value(place)
        return rows.found(self._rules, values.kafka_ms, self._inner)

    def _read_batch(self, batch: Mapping[str, object], rows: OtlpRows) -> None:
        """Add the entries of a batch. Raises NotOtlp, NotJson, TooManyRecords."""
        for group in _objects(batch, "resourceLogs", "resource_logs"):
            resource = _attributes(_object(group, "resource"))
            for logs in _objects(group, "scopeLogs", "scope_logs"):
                scope = _object(logs, "scope")
                origin = origin_of(_text(scope, "name"), _attributes(scope), resource)
                for record in _objects(logs, "logRecords", "log_records"):
                    if len(rows.text) - len(rows.place) >= self._rules.max_entries:
                        raise TooManyRecords
                    rows.add_entry(self._entry(record, origin))

    def _entry(self, record: Mapping[str, object], origin: OtlpOrigin) -> OtlpEntry:
        plain = LogRecord(
            body=_any_value(_get(record, "body", "body"), _MOST_NESTED, is_body=True),
            event_name=_text(record, "eventName", "event_name"),
            time_ns=_uint64(record, "timeUnixNano", "time_unix_nano") or _uint64(record, "observedTimeUnixNano", "observed_time_unix_nano"),
            severity_text=_text(record, "severityText", "severity_text"),
            severity_number=_small_number(_get(record, "severityNumber", "severity_number")),
            trace_id=_id(_text(record, "traceId", "trace_id"), 16),
            span_id=_id(_text(record, "spanId", "span_id"), 8),
            attributes=_attributes(record),
        )
        return entry_of(plain, origin, self._rules, self._templates)


def _batches(value: bytes) -> list[Mapping[str, object]]:
    """Return the batches of a value. Raises NotJson, NotOtlp."""
    try:
        document = parse_json(value)
    except NotJson:
        lines = [line for line in value.splitlines() if line.strip()]
        if len(lines) < 2:  # noqa: PLR2004 - of one line it was said already
            raise
        document = [parse_json(line) for line in lines]
    documents = document if isinstance(document, list) else [document]
    batches: list[Mapping[str, object]] = [batch for batch in documents if isinstance(batch, dict)]
    if len(batches) < len(documents) or not all("resourceLogs" in batch or "resource_logs" in batch for batch in batches):
        raise NotOtlp("not OTLP logs: no resourceLogs")
    return batches


def _get(holder: Mapping[str, object], camel: str, snake: str) -> object:
    found = holder.get(camel)
    return holder.get(snake) if found is None else found


def _objects(holder: Mapping[str, object], camel: str, snake: str) -> list[Mapping[str, object]]:
    found = _get(holder, camel, snake)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(element, dict) for element in found):
        raise NotOtlp(f"not OTLP logs: {camel} is not an array of objects")
    return found


def _object(holder: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = holder.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise NotOtlp(f"not OTLP logs: {name} is not an object")
    return found


def _text(holder: Mapping[str, object], camel: str, snake: str | None = None) -> str:
    found = _get(holder, camel, snake or camel)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise NotOtlp(f"not OTLP logs: {camel} is not a string")
    return found


def _uint64(holder: Mapping[str, object], camel: str, snake: str) -> int:
    number = _integer(_get(holder, camel, snake))
    if number is None or not 0 <= number <= _MOST_UINT64:
        raise NotOtlp(f"not OTLP logs: {camel} is not a number")
    return number


def _small_number(found: object) -> int:
    """Return a severity; 0 for one that is not a number, as the names of an enumeration are not allowed."""
    return found if type(found) is int else 0


def _integer(found: object) -> int | None:
    """Return an integer that may be written as text, 0 for null; None if it is none."""
    if found is None:
        return 0
    if isinstance(found, str) and len(found) <= _LONGEST_NUMBER and found.isascii() and found.removeprefix("-").isdigit():
        return int(found)
    if isinstance(found, float) and found.is_integer() and abs(found) <= _MOST_UINT64:
        return int(found)
    return found if type(found) is int else None


def _attributes(holder: Mapping[str, object]) -> dict[str, object]:
    return _pairs(_objects(holder, "attributes", "attributes"), _MOST_NESTED)


def _pairs(pairs: list[Mapping[str, object]], deeper: int) -> dict[str, object]:
    found: dict[str, object] = {}
    for pair in pairs:
        add_attribute(found, _text(pair, "key"), _any_value(pair.get("value"), deeper, is_body=False))
    return found


def _any_value(value: object, deeper: int, *, is_body: bool) -> object:
    """Return a value as JSON has it: bytes as base64, those of a body as text. Raises NotOtlp."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise NotOtlp("not OTLP logs: a value is not an object")
    if not deeper:
        raise NotOtlp("not OTLP logs: nested too deeply")
    for name, found in value.items():
        kind = _KINDS.get(name)
        if kind and found is not None:
            return _plain(kind, found, deeper, is_body=is_body)
    return None


def _plain(kind: str, found: object, deeper: int, *, is_body: bool) -> object:  # noqa: PLR0911 - a line for each type
    if kind == "string" and isinstance(found, str):
        return found
    if kind == "bool" and isinstance(found, bool):
        return found
    if kind == "int" and (number := _integer(found)) is not None and -_MOST_INT64 - 1 <= number <= _MOST_INT64:
        return number
    if kind == "double" and (double := _double(found)) is not None:
        return double
    if kind == "bytes" and isinstance(found, str) and found.isascii():
        return _bytes(found, is_body=is_body)
    if kind == "array" and isinstance(found, dict):
        return [_any_value(element, deeper - 1, is_body=False) for element in _objects(found, "values", "values")]
    if kind == "kvlist" and isinstance(found, dict):
        return _pairs(_objects(found, "values", "values"), deeper - 1)
    raise NotOtlp("not OTLP logs: a value is not of the type that it says")


def _double(found: object) -> float | None:
    if isinstance(found, bool) or not isinstance(found, str | int | float) or (isinstance(found, str) and len(found) > _LONGEST_DOUBLE):
        return None
    try:
        return float(found)
    except ValueError:
        return None


def _bytes(found: str, *, is_body: bool) -> str:
    """Return bytes as the base64 that OTLP's other form gets, those of a body as text."""
    content = _base64(found)
    if content is None:
        raise NotOtlp("not OTLP logs: bytes that are not base64")
    return content.decode("utf-8", "replace") if is_body else b64encode(content).decode()


def _base64(found: str) -> bytes | None:
    """Decode either alphabet of base64, with or without the padding."""
    try:
        digits = found.rstrip("=").replace("-", "+").replace("_", "/")
        return b64decode(digits + "=" * (-len(digits) % 4), validate=True)
    except ValueError:
        return None


def _id(found: str, size: int) -> str:
    """Return an id as hexadecimal digits; some producers write base64, which is what Protocol Buffers' own JSON has."""
    if not found.isascii() or len(found) > _LONGEST_ID:
        return ""
    if not _HEX.issuperset(found) and (content := _base64(found)) is not None and len(content) == size:
        return hex_id(content.hex())
    return hex_id(found.lower()) if _HEX.issuperset(found) else ""


_KINDS: Final = {
    f"{kind}{style}": kind for kind in ("string", "bool", "int", "double", "array", "kvlist", "bytes") for style in ("Value", "_value")
}
