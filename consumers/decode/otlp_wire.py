"""OTLP's log messages on the wire, as far as decoding reads them.

The schema is OpenTelemetry's with other types for the same bytes: strings are bytes, because producers that do not check UTF-8 (the
Collector is one) would make the library refuse a whole batch, and what many records have alike (resource, scope, attributes) is left
unparsed, because looking up bytes that were seen before is many times faster than making objects of them.
"""

from base64 import b64encode
from collections.abc import Iterable
from typing import Final

from consumers.decode.otlp_entry import add_attribute
from consumers.decode.protobuf_messages import Message, NotProtobuf, WireField, message_classes, parse_message

_CLASSES: Final = message_classes(
    "vectail.otlp",
    {
        "Logs": [WireField(1, "resource_logs", "ResourceLogs", is_repeated=True)],
        "ResourceLogs": [WireField(1, "resource", "bytes"), WireField(2, "scope_logs", "ScopeLogs", is_repeated=True)],
        "ScopeLogs": [WireField(1, "scope", "bytes"), WireField(2, "log_records", "LogRecord", is_repeated=True)],
        "LogRecord": [
            WireField(1, "time_unix_nano", "fixed64"),
            WireField(2, "severity_number", "int32"),
            WireField(3, "severity_text", "bytes"),
            WireField(5, "body", "bytes"),
            WireField(6, "attributes", "bytes", is_repeated=True),
            WireField(9, "trace_id", "bytes"),
            WireField(10, "span_id", "bytes"),
            WireField(11, "observed_time_unix_nano", "fixed64"),
            WireField(12, "event_name", "bytes"),
        ],
        "Resource": [WireField(1, "attributes", "KeyValue", is_repeated=True)],
        "Scope": [WireField(1, "name", "bytes"), WireField(3, "attributes", "KeyValue", is_repeated=True)],
        "KeyValue": [WireField(1, "key", "bytes"), WireField(2, "value", "AnyValue")],
        "KeyValueList": [WireField(1, "values", "KeyValue", is_repeated=True)],
        "ArrayValue": [WireField(1, "values", "AnyValue", is_repeated=True)],
        "AnyValue": [
            WireField(1, "string_value", "bytes", is_of_choice=True),
            WireField(2, "bool_value", "bool", is_of_choice=True),
            WireField(3, "int_value", "int64", is_of_choice=True),
            WireField(4, "double_value", "double", is_of_choice=True),
            WireField(5, "array_value", "ArrayValue", is_of_choice=True),
            WireField(6, "kvlist_value", "KeyValueList", is_of_choice=True),
            WireField(7, "bytes_value", "bytes", is_of_choice=True),
        ],
    },
)


class Texts:
    """Makes texts of bytes that should be UTF-8.

    Thread: one.
    """

    def __init__(self, *, strict: bool) -> None:
        self._strict = strict
        self.was_replaced = False
        """Whether bytes of a text were replaced since somebody set it to False."""

    def text(self, utf8: bytes) -> str:
        """Return a text. Raises NotProtobuf in strict mode if it is not UTF-8, as the library would."""
        try:
            return utf8.decode()
        except UnicodeDecodeError:
            if self._strict:
                raise NotProtobuf from None
            self.was_replaced = True
            return utf8.decode("utf-8", "replace")


def parse_logs(value: bytes) -> Message:
    """Parse `LogsData`, which is `ExportLogsServiceRequest` too. Raises NotProtobuf."""
    return parse_message(_CLASSES["Logs"], value)


def parse_resource(resource: bytes, texts: Texts) -> dict[str, object]:
    """Return a resource's attributes. Raises NotProtobuf."""
    return attributes_of(parse_message(_CLASSES["Resource"], resource).attributes, texts)


def parse_scope(scope: bytes, texts: Texts) -> tuple[str, dict[str, object]]:
    """Return a scope's name and its attributes. Raises NotProtobuf."""
    parsed = parse_message(_CLASSES["Scope"], scope)
    return texts.text(parsed.name), attributes_of(parsed.attributes, texts)


def parse_attribute(attribute: bytes, texts: Texts) -> tuple[str, object]:
    """Return an attribute's name and value. Raises NotProtobuf."""
    parsed = parse_message(_CLASSES["KeyValue"], attribute)
    return texts.text(parsed.key), _plain(parsed.value, texts)


def parse_body(body: bytes, texts: Texts) -> object:
    """Return a body as `plain` values; of bytes their text. Raises NotProtobuf."""
    parsed = parse_message(_CLASSES["AnyValue"], body)
    if parsed.WhichOneof("choice") == "bytes_value":
        return parsed.bytes_value.decode("utf-8", "replace")
    return _plain(parsed, texts)


def attributes_of(pairs: Iterable[Message], texts: Texts) -> dict[str, object]:
    """Return attributes by name. Raises NotProtobuf."""
    found: dict[str, object] = {}
    for pair in pairs:
        add_attribute(found, texts.text(pair.key), _plain(pair.value, texts))
    return found


def _plain(value: Message, texts: Texts) -> object:
    """Return a value as JSON has it: bytes as base64, what is empty as None. The parser refuses more than 100 levels of messages."""
    kind = value.WhichOneof("choice")
    if kind == "string_value":
        return texts.text(value.string_value)
    if kind is None:
        return None
    found = getattr(value, kind)
    if kind == "bytes_value":
        return b64encode(found).decode()
    if kind == "array_value":
        return [_plain(element, texts) for element in found.values]
    if kind == "kvlist_value":
        return attributes_of(found.values, texts)
    return found
