"""Traces of OpenTelemetry: one span for each batch of records, with links to the traces that its records carry. Off by default.

The only file that imports OpenTelemetry, and only where `tracing.enabled` is set: without it the pipeline holds no `Tracing` and pays
nothing. Names are those of the semantic conventions for messaging, 1.43. A batch has many origins, so it links to them and is the child of
none; a query has one, so its span is a child of its sender's. A trace's context travels in the header `traceparent` (W3C), in what we
send as in what we read.
"""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from consumers.assignment import Receipt
from consumers.record import Header, Record

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Link, SpanContext, SpanKind
    from opentelemetry.util.types import AttributeValue

TRACE_HEADER: Final = "traceparent"
_SCHEMA: Final = "https://opentelemetry.io/schemas/1.43.0"
_TRACE = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_END_S: Final = 1.0
_EXPORT_S: Final = 5.0
_NS: Final = 1_000_000_000


class TracingMissing(Exception):
    """The libraries are not installed; the message is one line and says how to install them."""


class TraceRules(NamedTuple):
    """Where spans go, and what they say of this worker.

    Thread: any.
    """

    endpoint: str
    """URL of an OTLP/HTTP receiver's traces, such as `http://127.0.0.1:4318/v1/traces`."""
    headers: dict[str, str]
    group: str
    query_group: str
    version: str
    share: float
    """Of batches that become spans, 0 … 1; a query is recorded if its sender's trace is, or by the same share if it has none."""
    most_links: int = 32
    """Of one batch's span, evenly out of the traces that its records carry."""


def open_tracing(rules: TraceRules, *, say: Callable[[str], None], exporter: "SpanExporter | None" = None) -> "Tracing":
    """Return what records spans and sends them on a thread of its own; what is not taken in time is dropped.

    `say` gets a line about a fault; `exporter` takes the place of OTLP. Raises TracingMissing.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased  # noqa: PLC0415
    except ImportError as error:
        needed = "opentelemetry-sdk opentelemetry-exporter-otlp-proto-http"
        raise TracingMissing(f"tracing.enabled needs OpenTelemetry ({error}): pip install {needed}") from None
    _say_what_it_logs(say)
    facts = {"service.name": "vectail", "service.version": rules.version, "service.instance.id": f"{os.uname().nodename}:{os.getpid()}"}
    provider = TracerProvider(
        resource=Resource(facts, schema_url=_SCHEMA),
        sampler=ParentBased(TraceIdRatioBased(rules.share)),
        shutdown_on_exit=False,
    )
    out = exporter or OTLPSpanExporter(endpoint=rules.endpoint, headers=rules.headers, timeout=_EXPORT_S)
    provider.add_span_processor(BatchSpanProcessor(out))
    return Tracing(provider, rules)


class Tracing:
    """Records spans.

    Thread: any.
    """

    def __init__(self, provider: "TracerProvider", rules: TraceRules) -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - as above

        self._provider = provider
        self._rules = rules
        self._tracer = provider.get_tracer("vectail", rules.version, _SCHEMA)
        self._kinds = SpanKind

    def around_batches(self, step: Callable[[list[Receipt]], None]) -> Callable[[list[Receipt]], None]:
        """Return the step of prepare, with a span around the records of each topic that it is given."""

        def traced(receipts: list[Receipt]) -> None:
            started_ns = time.time_ns()
            try:
                step(receipts)
            finally:
                for topic in dict.fromkeys(receipt.records.topic for receipt in receipts):
                    self._record_batch(topic, [one for one in receipts if one.records.topic == topic], started_ns)

        return traced

    def answer_headers(self, query: Record, code: str, taken_s: float) -> list[Header]:
        """Record the span of a query from Kafka that is answered now, and return the headers with which its reply continues the trace.

        `taken_s`: when it arrived, on the clock of `time.monotonic`.
        """
        started_ns = time.time_ns() - int((time.monotonic() - taken_s) * _NS)
        facts = self._facts("process", query.topic, self._rules.query_group) | _place(query) | {"vectail.reply": code}
        parent = _context(query.headers)
        with self._span(f"process {query.topic}", self._kinds.CONSUMER, facts, parent=parent, started_ns=started_ns) as own:
            return [(TRACE_HEADER, _written(own))]

    def letter_headers(self, record: Record, topic: str, reason: str) -> list[Header]:
        """Record that a record is sent to the topic of dead letters, linked to its own trace, and return the headers that continue this."""
        origin = f"{record.topic}/{record.partition}@{record.offset}"
        facts = self._facts("send", topic) | {"vectail.reason": reason, "vectail.origin": origin}
        links = _links([record.headers], 1)
        with self._span(f"send {topic}", self._kinds.PRODUCER, facts, links=links) as own:
            return [(TRACE_HEADER, _written(own))]

    def close(self, timeout_s: float = _END_S) -> None:
        """Send what is left, and return after `timeout_s` at the latest."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces-end", daemon=True)
        ending.start()
        ending.join(timeout_s)

    def _record_batch(self, topic: str, receipts: Sequence[Receipt], started_ns: int) -> None:
        facts = self._facts("process", topic, self._rules.group)
        facts["messaging.batch.message_count"] = sum(receipt.records.size for receipt in receipts)
        partitions = {receipt.records.partition for receipt in receipts}
        if len(partitions) == 1:
            facts["messaging.destination.partition.id"] = str(*partitions)
            facts["messaging.kafka.offset"] = int(receipts[0].records.offset[0])
        links = _links((headers for one in receipts for headers in one.records.headers or ()), self._rules.most_links)
        with self._span(f"process {topic}", self._kinds.CONSUMER, facts, links=links, started_ns=started_ns):
            pass

    def _facts(self, operation: str, topic: str, group: str = "") -> "dict[str, AttributeValue]":
        facts: dict[str, AttributeValue] = {
            "messaging.system": "kafka",
            "messaging.operation.name": operation,
            "messaging.operation.type": operation,
            "messaging.destination.name": topic,
        }
        return facts | {"messaging.consumer.group.name": group} if group else facts

    @contextmanager
    def _span(
        self,
        name: str,
        kind: "SpanKind",
        facts: "dict[str, AttributeValue]",
        *,
        parent: "SpanContext | None" = None,
        links: "Sequence[Link]" = (),
        started_ns: int | None = None,
    ) -> "Iterator[SpanContext]":
        from opentelemetry.context import Context  # noqa: PLC0415 - as above
        from opentelemetry.trace import NonRecordingSpan, set_span_in_context  # noqa: PLC0415

        # An empty context, never the thread's: nothing of ours is the child of whatever an embedding program traces.
        context = Context() if parent is None else set_span_in_context(NonRecordingSpan(parent), Context())
        span = self._tracer.start_span(name, context, kind, facts, links, started_ns)
        try:
            yield span.get_span_context()
        finally:
            span.end()


def _place(record: Record) -> "dict[str, AttributeValue]":
    return {"messaging.destination.partition.id": str(record.partition), "messaging.kafka.offset": record.offset}


class _Saying(logging.Handler):
    """Passes the first line of each warning on, but for those about one try of several."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage().partition("\n")[0]
        if not line.startswith("Transient"):
            self._say(f"traces: {line}")


def _say_what_it_logs(say: Callable[[str], None]) -> None:
    log = logging.getLogger("opentelemetry")
    log.propagate = False
    log.handlers[:] = [_Saying(say)]


def _links(all_headers: "Iterator[tuple[Header, ...]] | Sequence[tuple[Header, ...]]", most: int) -> "list[Link]":
    """Return links to at most `most` different spans, evenly out of those that the records carry."""
    from opentelemetry.trace import Link  # noqa: PLC0415 - as above

    found = {value: None for headers in all_headers for name, value in headers if name == TRACE_HEADER and value is not None}
    values = list(found)
    step = max(len(values) / most, 1.0) if most else 1.0
    chosen = [values[int(i * step)] for i in range(min(most, len(values)))]
    return [Link(context) for value in chosen if (context := _parsed(value)) is not None]


def _context(headers: Sequence[Header]) -> "SpanContext | None":
    """Return the context in the last `traceparent`, as Kafka clients take it."""
    found = next((value for name, value in reversed(headers) if name == TRACE_HEADER), None)
    return None if found is None else _parsed(found)


def _parsed(value: bytes) -> "SpanContext | None":
    """Parse what a stranger wrote, as W3C Trace Context says; None if it is not valid."""
    from opentelemetry.trace import SpanContext, TraceFlags  # noqa: PLC0415 - as above

    found = _TRACE.fullmatch(value)
    if found is None or found[1] == b"ff":
        return None
    context = SpanContext(int(found[2], 16), int(found[3], 16), is_remote=True, trace_flags=TraceFlags(int(found[4], 16) & 1))
    return context if context.is_valid else None


def _written(context: "SpanContext") -> bytes:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}".encode()
