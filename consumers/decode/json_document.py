"""JSON records by the general rules: an object is a log entry, an array of objects is several.

`consumers.decode.decoder` calls it for each record that `consumers.decode.json_object`, the fast path, leaves alone. No error contains
anything of a record's value.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from consumers.decode.levels import level_of_name, level_of_number

MESSAGE_FIELDS = (
    "body", "message", "msg", "log", "@message", "event.original", "MESSAGE", "short_message", "full_message",
    "event", "@m", "@mt", "textPayload", "text",
)  # fmt: skip
"""Fields that may hold the message; the first non-empty string is used."""
LEVEL_FIELDS = ("severity_text", "level", "log.level", "severity", "lvl", "levelname", "@l", "PRIORITY")
SERVICE_FIELDS = ("service.name", "service", "app", "kubernetes.labels.app", "host.name")


class NotJson(Exception):
    """The value cannot be read as log entries."""


class TooManyEntries(Exception):
    """The value has more log entries than are allowed."""


class JsonEntry(NamedTuple):
    """One log entry of a JSON record.

    Thread: any.
    """

    text: str
    """May be empty, and may end with a line end."""
    service: str
    level: str
    """One of `consumers.decode.levels.LEVELS`, or empty."""


def read_document(value: bytes, *, max_entries: int) -> list[JsonEntry]:
    """Return the log entries of a value, in order. Raises NotJson, TooManyEntries."""
    try:
        document = orjson.loads(value)
    except orjson.JSONDecodeError:
        raise NotJson("not valid JSON") from None
    documents = document if isinstance(document, list) else [document]
    if not all(isinstance(element, dict) for element in documents):
        raise NotJson("JSON, but neither an object nor an array of objects")
    if len(documents) > max_entries:
        raise TooManyEntries(f"more than {max_entries} entries in one record")
    return [_entry_of(fields) for fields in documents]


def _entry_of(fields: Mapping[str, Any]) -> JsonEntry:
    text = _first_text(fields, MESSAGE_FIELDS)
    if text is None:
        text = _render(fields) if fields else ""
    return JsonEntry(text, _first_text(fields, SERVICE_FIELDS) or "", _level_of(fields))


def _level_of(fields: Mapping[str, Any]) -> str:
    """Return the level of an entry: the first name that is one, else what a number says."""
    for name in LEVEL_FIELDS:
        found = _first_text(fields, (name,))
        if found and (level := level_of_name(found)):
            return level
    return level_of_number(fields)


def _render(fields: Mapping[str, Any]) -> str:
    """Render an object that has no message as JSON. Raises NotJson: orjson reads 1,024 levels of nesting but writes only 254."""
    try:
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode("utf-8")
    except orjson.JSONEncodeError:
        raise NotJson("JSON nested too deeply") from None


def _first_text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        found: Any = fields.get(name)
        if found is None and "." in name:
            found = _walk(fields, name)
        if isinstance(found, dict):
            found = found.get("stringValue") or found.get("name")
        if isinstance(found, str) and found:
            return found
    return None


def _walk(fields: Mapping[str, Any], dotted: str) -> object:
    """Follow a dotted name through nested objects; log shippers write both forms."""
    found: Any = fields
    for step in dotted.split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found
