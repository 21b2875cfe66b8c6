"""Decodes the bytes of a record into log entries: plain text and JSON.

Prepare calls `Decoder.decode` once for each record. The raw text is kept unchanged except for one line end; a record that cannot be decoded
raises `Undecodable`, whose reason contains nothing of the record's value.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import orjson

from consumers.decode.levels import level_of_name, level_of_number
from consumers.record import Record
from consumers.rejection import Rejection

Format = Literal["auto", "text", "json"]
MAX_RECORD_BYTES = 1_000_000

MESSAGE_FIELDS = (
    "body", "message", "msg", "log", "@message", "event.original", "MESSAGE", "short_message", "full_message",
    "event", "@m", "@mt", "textPayload", "text",
)  # fmt: skip
"""Fields that may hold the message; the first non-empty string is used."""
LEVEL_FIELDS = ("severity_text", "level", "log.level", "severity", "lvl", "levelname", "@l", "PRIORITY")
SERVICE_FIELDS = ("service.name", "service", "app", "kubernetes.labels.app", "host.name")
UNDECODABLE = "undecodable"
"""The kind of a rejection that other settings of format or encoding can avoid; every other kind is the record's own fault."""


class Undecodable(Exception):
    """The bytes of the record do not match the configured format or encoding. The message contains nothing of the record's value."""

    @property
    def rejection(self) -> Rejection:
        """What the dead letter says."""
        return Rejection("decode", UNDECODABLE, f"{UNDECODABLE}: {self}")


class TooLarge(Undecodable):
    """The record exceeds the size limit; it was not decoded."""

    @property
    def rejection(self) -> Rejection:
        """What the dead letter says."""
        return Rejection("decode", "too_large", f"too_large: {self}")


class TooManyEntries(Undecodable):
    """The record has more log entries than are allowed, whatever the format."""

    @property
    def rejection(self) -> Rejection:
        """What the dead letter says."""
        return Rejection("decode", "too_many_entries", f"too_many_entries: {self}")


class LogEntry(NamedTuple):
    """One log entry of a record; `sub` counts the entries of a record from 0."""

    record: Record
    sub: int
    text: str
    time_ms: int
    service: str
    level: str
    """One of `consumers.decode.levels.LEVELS`, or empty."""


class Decoder:
    """Has no state except its counters; never returns an entry with an empty text.

    Thread: any; each prepare thread has its own.
    """

    def __init__(
        self, *, form: Format = "auto", strict: bool = False, max_entries: int = 10_000, max_record_bytes: int = MAX_RECORD_BYTES
    ) -> None:
        """`strict` makes bytes that are not UTF-8 undecodable; `max_entries` bounds the entries of one record.

        `max_record_bytes` bounds its value, and so the time and memory that one record can take: JSON takes up to 25 times its size
        while it is decoded.
        """
        self._form = form
        self._errors = "strict" if strict else "replace"
        self._max_entries = max_entries
        self._max_record_bytes = max_record_bytes
        self.replaced_records = 0
        """Records in which bytes that are not UTF-8 were replaced."""
        self.text_records = 0
        self.json_records = 0
        self.refused_records = 0

    def decode(self, record: Record) -> list[LogEntry]:
        """Return the entries of a record, none if it is empty. Raises Undecodable; if TooLarge, nothing was decoded."""
        try:
            return self._decode(record)
        except Undecodable:
            self.refused_records += 1
            raise

    def _decode(self, record: Record) -> list[LogEntry]:
        if not record.value:
            return []
        if len(record.value) > self._max_record_bytes:
            raise TooLarge(f"{len(record.value)} bytes, {self._max_record_bytes} are allowed")
        if self._form != "text" and record.value.lstrip()[:1] in (b"{", b"["):
            found = self._decode_json(record)
            if found is not None:
                self.json_records += 1
                return found
        elif self._form == "json":
            raise Undecodable("not a JSON object or array")
        text = strip_line_end(self._decode_utf8(record.value))
        self.text_records += 1
        return [LogEntry(record, 0, text, record.time_ms, "", "")] if text else []

    def _decode_json(self, record: Record) -> list[LogEntry] | None:
        try:
            document = orjson.loads(record.value or b"")
        except orjson.JSONDecodeError:
            if self._form == "json":
                raise Undecodable("not valid JSON") from None
            return None  # a text line that happens to begin with a bracket
        if isinstance(document, dict):
            documents = [document]
        elif all(isinstance(element, dict) for element in document):
            documents = document
        elif self._form == "json":
            raise Undecodable("a JSON array of something else than objects")
        else:
            return None
        if len(documents) > self._max_entries:
            raise TooManyEntries(f"more than {self._max_entries} entries in one record")
        try:
            entries = [_entry_of(record, sub, fields) for sub, fields in enumerate(documents)]
        except Undecodable:
            if self._form == "json":
                raise
            return None
        return [entry for entry in entries if entry.text]

    def _decode_utf8(self, value: bytes) -> str:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            if self._errors == "strict":
                raise Undecodable("not valid UTF-8") from None
            self.replaced_records += 1
            return value.decode("utf-8", "replace")


def strip_line_end(text: str) -> str:
    """Remove one line end: a line feed, and one carriage return before it."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _entry_of(record: Record, sub: int, fields: Mapping[str, Any]) -> LogEntry:
    text = _first_text(fields, MESSAGE_FIELDS)
    if text is None:
        text = _render(fields) if fields else ""
    return LogEntry(
        record,
        sub,
        strip_line_end(text),
        record.time_ms,
        _first_text(fields, SERVICE_FIELDS) or "",
        _level_of(fields),
    )


def _level_of(fields: Mapping[str, Any]) -> str:
    """Return the level of an entry: the first name that is one, else what a number says."""
    for name in LEVEL_FIELDS:
        found = _first_text(fields, (name,))
        if found and (level := level_of_name(found)):
            return level
    return level_of_number(fields)


def _render(fields: Mapping[str, Any]) -> str:
    """Render an object that has no message as JSON. Raises Undecodable: orjson reads 1,024 levels of nesting but writes only 254."""
    try:
        return orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode("utf-8")
    except orjson.JSONEncodeError:
        raise Undecodable("JSON nested too deeply") from None


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
