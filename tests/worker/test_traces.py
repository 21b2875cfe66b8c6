"""A whole service that records traces, and a receiver of OTLP that reads them with OpenTelemetry's own classes."""

import gzip
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.log_topics import log_topics
from tests.worker.running import WAIT_S, World
from worker.service.shutdown import Ending
from worker.settings.service_tables import TracingTable

ORIGIN = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE, SPAN = bytes.fromhex("4bf92f3577b34da6a3ce929d0e0e4736"), bytes.fromhex("00f067aa0ba902b7")


class Receiver(ThreadingHTTPServer):
    """Keeps what is POSTed to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str | None, ExportTraceServiceRequest]] = []
        self._thread = Thread(target=self.serve_forever)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        assert isinstance(self.server, Receiver)
        self.server.requests.append((self.path, self.headers.get("Authorization"), ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    yield one
    one.close()


def traced(receiver: Receiver) -> TracingTable:
    return TracingTable.model_validate({"enabled": True, "endpoint": receiver.url, "authorization": "Basic c2VjcmV0"})


def reply_to(world: World, question: dict[str, object]) -> dict[str, bytes]:
    """Ask as a traced client does; returns the headers of the reply."""
    servers = world.broker.bootstrap_servers
    reader = Consumer({"bootstrap.servers": servers, "log_level": 0, "group.id": "asker", "auto.offset.reset": "earliest"})
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    try:
        reader.assign([TopicPartition(world.kafka.reply_topic, partition, 0) for partition in range(4)])
        headers: list[tuple[str, str | bytes | None]] = [
            ("kafka_replyTopic", world.kafka.reply_topic.encode()),
            ("kafka_correlationId", b"1"),
            ("traceparent", ORIGIN),
        ]
        producer.produce(world.kafka.query_topic, json.dumps(question).encode(), headers=headers)
        producer.flush(WAIT_S)
        (reply,) = reader.consume(1, WAIT_S)
        return dict(reply.headers())  # type: ignore[arg-type] # it has headers
    finally:
        reader.close()


def send_traced(world: World, values: list[bytes]) -> None:
    producer = Producer({"bootstrap.servers": world.broker.bootstrap_servers, "log_level": 0})
    for value in values:
        producer.produce(world.topic, value, headers=[("traceparent", ORIGIN)], partition=0)
    assert producer.flush(WAIT_S) == 0


def test_records_queries_replies_and_dead_letters_carry_one_trace_on(world: World, receiver: Receiver) -> None:
    send_traced(world, [b'{"message": "disk is full"}', b"{ this is no JSON"])
    running = world.start(world.settings(topic=log_topics(world.topic, format="json"), tracing=traced(receiver))).opened()
    (letter,) = world.dead_letters(1)
    reply = reply_to(world, {"text": "disk"})
    assert running.stop() == Ending.DRAINED

    assert {(path, authorization) for path, authorization, _ in receiver.requests} == {("/v1/traces", "Basic c2VjcmV0")}
    resources = [one for _, _, request in receiver.requests for one in request.resource_spans]
    facts = {fact.key: fact.value.string_value for fact in resources[0].resource.attributes}
    assert facts["service.name"] == "vectail"
    spans = {span.name: span for one in resources for scope in one.scope_spans for span in scope.spans}
    batch, sent = spans[f"process {world.topic}"], spans[f"send {world.kafka.dead_letter_topic}"]
    asked = spans[f"process {world.kafka.query_topic}"]
    assert [(link.trace_id, link.span_id) for link in batch.links] == [(TRACE, SPAN)]
    assert [(link.trace_id, link.span_id) for link in sent.links] == [(TRACE, SPAN)]
    assert (asked.trace_id, asked.parent_span_id) == (TRACE, SPAN)
    assert reply["traceparent"] == b"00-%s-%s-01" % (TRACE.hex().encode(), asked.span_id.hex().encode())
    assert letter["traceparent"].split(b"-")[1:3] == [sent.trace_id.hex().encode(), sent.span_id.hex().encode()]


def test_without_the_setting_nothing_is_recorded_and_a_dead_letter_keeps_its_own_trace(world: World, receiver: Receiver) -> None:
    send_traced(world, [b"{ this is no JSON"])
    running = world.start(world.settings(topic=log_topics(world.topic, format="json"))).opened()
    (letter,) = world.dead_letters(1)
    reply = reply_to(world, {"text": "disk"})
    assert running.stop() == Ending.DRAINED
    assert running.service.connections.tracing is None
    assert receiver.requests == []
    assert letter["traceparent"] == ORIGIN
    assert "traceparent" not in reply
