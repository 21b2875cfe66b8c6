"""Spans as an exporter gets them."""

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind

from consumers.assignment import Receipt
from consumers.ledger import Ledger
from consumers.record import Partition, Record
from tests.consumers.records import admit_batch
from worker.runtime.tracing import TraceRules, Tracing, open_tracing

WAIT_S = 60.0
RULES = TraceRules("http://127.0.0.1:9/v1/traces", {}, "logs-group", "queries-group", "1.2.3", 1.0, 3)


class Traced(NamedTuple):
    tracing: Tracing
    exporter: InMemorySpanExporter

    def spans(self) -> Sequence[ReadableSpan]:
        self.tracing.close()
        return self.exporter.get_finished_spans()


@pytest.fixture
def traced() -> Iterator[Traced]:
    exporter = InMemorySpanExporter()
    one = Traced(open_tracing(RULES, say=lambda _line: None, exporter=exporter), exporter)
    yield one
    one.tracing.close()


def trace(number: int, *, flags: int = 1) -> bytes:
    return f"00-{number:032x}-{number:016x}-{flags:02x}".encode()


def record(offset: int, *traces: bytes | None, topic: str = "logs") -> Record:
    return Record(topic, 0, offset, "e1", 0, None, b"line", tuple(("traceparent", one) for one in traces))


def receipt(*records: Record) -> Receipt:
    ledger = Ledger(cap_records=100, cap_bytes=1 << 20, dead_letter=lambda _claim, _rejection, _pieces: None)
    where = Partition(records[0].topic, 0)
    ledger.assign([where])
    return admit_batch(ledger, *records)


def context(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def linked(span: ReadableSpan) -> list[int]:
    return [link.context.trace_id for link in span.links]


def test_the_records_of_a_topic_in_a_step_are_one_span_with_links_to_their_traces(traced: Traced) -> None:
    done: list[int] = []
    first = [record(5, trace(1)), record(6), record(7, trace(2)), record(8, trace(1))]
    many = [record(number, trace(number), topic="audit") for number in range(1, 31)]
    step = traced.tracing.around_batches(lambda receipts: done.append(len(receipts)))
    step([receipt(*first), receipt(*many), receipt(record(9))])
    logs, audit = traced.spans()
    assert done == [3]
    assert (logs.name, logs.kind, logs.parent, audit.name) == ("process logs", SpanKind.CONSUMER, None, "process audit")
    assert linked(logs) == [1, 2]
    assert linked(audit) == [1, 11, 21], "sampled evenly"
    assert dict(logs.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "logs",
        "messaging.destination.partition.id": "0",
        "messaging.consumer.group.name": "logs-group",
        "messaging.batch.message_count": 5,
        "messaging.kafka.offset": 5,
    }


@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"00-" + b"0" * 32 + b"-" + b"1" * 16 + b"-01",
        b"ff-" + b"1" * 32 + b"-" + b"1" * 16 + b"-01",
        b"\xff" * 55,
        b"00-zz",
        b"0" * 100_000,
        None,
    ],
)
def test_what_is_no_trace_context_is_passed_over(traced: Traced, hostile: bytes | None) -> None:
    traced.tracing.around_batches(lambda _receipts: None)([receipt(record(1, hostile))])
    reply = traced.tracing.answer_headers(record(2, hostile, topic="queries"), "answered", time.monotonic())
    spans = traced.spans()
    assert [linked(span) for span in spans] == [[], []]
    assert [span.parent for span in spans] == [None, None]
    assert len(reply) == 1


def test_a_query_continues_its_senders_trace_into_the_reply(traced: Traced) -> None:
    query = record(7, trace(9), trace(10), topic="queries")
    (header,) = traced.tracing.answer_headers(query, "bad_query", time.monotonic() - 2.0)
    (span,) = traced.spans()
    assert span.parent is not None
    assert (span.name, span.parent.trace_id, span.parent.span_id) == ("process queries", 10, 10)
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time >= 2_000_000_000
    assert header == ("traceparent", f"00-{10:032x}-{context(span).span_id:016x}-01".encode())
    assert (span.attributes or {})["vectail.reply"] == "bad_query"
    assert (span.attributes or {})["messaging.consumer.group.name"] == "queries-group"


def test_a_query_of_a_trace_that_is_not_recorded_is_not_recorded_and_still_passes_it_on(traced: Traced) -> None:
    query = record(7, trace(9, flags=0), topic="queries")
    (header,) = traced.tracing.answer_headers(query, "answered", time.monotonic())
    assert traced.spans() == ()
    assert header[1] is not None
    assert header[1].startswith(f"00-{9:032x}-".encode())
    assert header[1].endswith(b"-00")


def test_a_dead_letter_links_to_its_records_trace(traced: Traced) -> None:
    (header,) = traced.tracing.letter_headers(record(7, trace(4)), "dead", "undecodable")
    (span,) = traced.spans()
    assert (span.name, span.kind, linked(span)) == ("send dead", SpanKind.PRODUCER, [4])
    assert (span.attributes or {})["vectail.origin"] == "logs/0@7"
    own = context(span)
    assert header == ("traceparent", f"00-{own.trace_id:032x}-{own.span_id:016x}-{own.trace_flags:02x}".encode())
    assert own.trace_flags.sampled


def test_a_share_of_nought_records_no_batch() -> None:
    exporter = InMemorySpanExporter()
    tracing = open_tracing(RULES._replace(share=0.0), say=lambda _line: None, exporter=exporter)
    tracing.around_batches(lambda _receipts: None)([receipt(record(1))])
    tracing.close()
    assert exporter.get_finished_spans() == ()


@pytest.mark.slow
def test_a_receiver_that_is_away_is_said_in_one_line_and_ends_nothing() -> None:
    said: list[str] = []
    tracing = open_tracing(RULES, say=said.append)
    tracing.around_batches(lambda _receipts: None)([receipt(record(1))])
    tracing.close(WAIT_S)
    assert said == ["traces: Failed to export spans batch due to timeout, max retries or shutdown."]
