"""Writes tests/golden/otel_python.jsonl: what OpenTelemetry's Python SDK exports of Python's own logging, as Protocol Buffers and as JSON.

Run it with opentelemetry-sdk and opentelemetry-exporter-otlp-proto-common 1.45.2 installed: `python tests/golden/make/otel_python.py`. What
is expected is written here by hand, from what was logged; nothing of it is taken from a decoder.
"""

import json
import logging
import sys
import warnings
from base64 import b64decode, b64encode
from importlib.metadata import version
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common._log_encoder import encode_logs
from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

warnings.simplefilter("ignore")
KAFKA_MS = 1_780_000_000_000
LOGGED_S = 1_779_999_000
TRACE_ID, SPAN_ID = 0x0AF7651916CD43DD8448EB211C80319C, 0x00F067AA0BA902B7
KEPT = {"service.version": "1.4.2", "service.instance.id": "cart-1", "host.name": "node-1", "k8s.pod.name": "cart-6d4cf56db6-7wvtq"}
RESOURCE = {"service.name": "cart", **KEPT}
SDK = {"telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.45.2"}


def expected(text: str, level: str, fields: dict[str, Any], trace: str | None = None) -> dict[str, Any]:
    """Return an entry."""
    kept = {**KEPT, **SDK, "logger": "shop.cart", "code.file.path": "/srv/cart.py", "code.function.name": "add", "code.line.number": 42}
    return {
        "text": text,
        "time_ms": LOGGED_S * 1000,
        "level": level,
        "service": "cart",
        "fields": {**kept, **fields},
        "trace": trace,
    }


def record(level: int, message: object, *args: object, error: BaseException | None = None, **extra: object) -> logging.LogRecord:
    """Return what a logger would make of a call."""
    exc_info = None if error is None else (type(error), error, error.__traceback__)
    made = logging.LogRecord("shop.cart", level, "/srv/cart.py", 42, message, args, exc_info, "add")
    made.created = LOGGED_S
    made.__dict__.update(extra)
    return made


def export() -> tuple[Any, list[dict[str, Any]]]:
    """Return one request with all records, and what is expected of it."""
    exporter = InMemoryLogRecordExporter()
    provider = LoggerProvider(resource=Resource.create(RESOURCE))
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    handler = LoggingHandler(logger_provider=provider)
    entries: list[dict[str, Any]] = []

    handler.emit(record(logging.INFO, "added %d of %s", 3, "sku-77"))
    entries.append(expected("added 3 of sku-77", "INFO", {}))
    with use_span(NonRecordingSpan(SpanContext(TRACE_ID, SPAN_ID, is_remote=False, trace_flags=TraceFlags(1)))):
        handler.emit(record(logging.WARNING, "stock is low: é 語", sku="sku-77", left=2, ratio=0.125, urgent=True))
    ids = {"trace_id": f"{TRACE_ID:032x}", "span_id": f"{SPAN_ID:016x}"}
    extra = {"sku": "sku-77", "left": 2, "ratio": 0.125, "urgent": True}
    entries.append(expected("stock is low: é 語", "WARN", {**ids, **extra}))
    try:
        exec(compile('raise ValueError("no such sku")', "/srv/cart.py", "exec"), {})  # noqa: S102 - so that no path of this machine is in it
    except ValueError as error:
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        handler.emit(record(logging.ERROR, "could not add", error=error))
    trace = '\nTraceback (most recent call last):\n  File "/srv/cart.py", line 1, in <module>\nValueError: no such sku\n'
    entries.append(expected("could not add", "ERROR", {"exception.type": "ValueError", "exception.message": "no such sku"}, trace))
    handler.emit(record(logging.CRITICAL, {"message": "a map", "user": {"id": 7}}))
    entries.append(expected("a map", "FATAL", {"user.id": 7}))
    handler.emit(record(logging.DEBUG, "x" * 300))
    entries.append(expected("x" * 300, "DEBUG", {}))
    return encode_logs(exporter.get_finished_logs()), entries


def as_otlp_json(request: Any) -> dict[str, Any]:  # noqa: ANN401 - a class made at run time
    """Return a request as OTLP's JSON, which has its ids in hexadecimal digits."""
    batch: dict[str, Any] = MessageToDict(request, use_integers_for_enums=True)
    for group in batch["resourceLogs"]:
        for logs in group["scopeLogs"]:
            for one in logs["logRecords"]:
                one.update({name: b64decode(one[name]).hex() for name in ("traceId", "spanId") if name in one})
    return batch


def main() -> None:
    """Write the file."""
    request, entries = export()
    values = {"otlp_proto": request.SerializeToString(), "otlp_json": json.dumps(as_otlp_json(request)).encode()}
    head = {
        "producer": f"opentelemetry-exporter-otlp-proto-common {version('opentelemetry-exporter-otlp-proto-common')}",
        "made_by": "tests/golden/make/otel_python.py",
        "written_from_documentation": False,
    }
    lines = [
        {"value_base64": b64encode(value).decode(), "headers": [], "kafka_ms": KAFKA_MS, "format": form, "expected": entries}
        for form, value in values.items()
    ]
    Path(__file__).parents[1].joinpath("otel_python.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [head, *lines]))
    sys.stdout.write(f"{len(entries)} entries\n")


if __name__ == "__main__":
    main()
