"""OTLP messages made with OpenTelemetry's own classes, and the same messages as OTLP's JSON."""

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource


def any_value(value: Any) -> AnyValue:  # noqa: ANN401, PLR0911 - whatever an attribute holds
    match value:
        case None:
            return AnyValue()
        case bool():
            return AnyValue(bool_value=value)
        case int():
            return AnyValue(int_value=value)
        case float():
            return AnyValue(double_value=value)
        case str():
            return AnyValue(string_value=value)
        case bytes():
            return AnyValue(bytes_value=value)
        case Mapping():
            return AnyValue(kvlist_value=KeyValueList(values=key_values(value)))
        case _:
            return AnyValue(array_value=ArrayValue(values=map(any_value, value)))


def key_values(attributes: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> list[KeyValue]:
    """Return attributes; pairs may have a name twice."""
    pairs = attributes.items() if isinstance(attributes, Mapping) else attributes
    return [KeyValue(key=key, value=any_value(value)) for key, value in pairs]


def log_record(body: Any = None, attributes: Any = (), **others: Any) -> LogRecord:  # noqa: ANN401
    return LogRecord(body=None if body is None else any_value(body), attributes=key_values(attributes), **others)


def logs_data(
    records: Sequence[LogRecord], *, resource: Any = (), scope: Any = (), logger: str = ""  # noqa: ANN401
) -> LogsData:  # fmt: skip
    """Return a batch of one resource and one scope."""
    scope_logs = ScopeLogs(scope=InstrumentationScope(name=logger, attributes=key_values(scope)), log_records=records)
    return LogsData(resource_logs=[ResourceLogs(resource=Resource(attributes=key_values(resource)), scope_logs=[scope_logs])])


def otlp_json(data: LogsData, *, snake_case: bool = False) -> dict[str, Any]:
    """Return a batch as OTLP's JSON: as Protocol Buffers' own, but for ids in hexadecimal digits and numbers for enumerations."""
    batch: dict[str, Any] = MessageToDict(data, preserving_proto_field_name=snake_case, use_integers_for_enums=True)
    names = ("resource_logs", "scope_logs", "log_records") if snake_case else ("resourceLogs", "scopeLogs", "logRecords")
    for group in batch.get(names[0], ()):
        for logs in group.get(names[1], ()):
            for record in logs.get(names[2], ()):
                for name in ("trace_id", "span_id", "traceId", "spanId"):
                    if name in record:
                        record[name] = b64decode(record[name]).hex()
    return batch
