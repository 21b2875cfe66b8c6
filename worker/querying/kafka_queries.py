"""Queries that come over Kafka: each is tied to the reply that settles its record, or dropped because it names no topic for one."""

from collections.abc import Callable, Collection
from typing import Protocol

from producers.replies import Reply
from worker.asking.refusals import QueryReply
from worker.asking.requests import CORRELATION_HEADER, REPLY_TOPIC_HEADER, QueryRequest, Requester, header_of
from worker.querying.ready_query import KafkaRequest
from worker.runtime.tracing import Tracing


class SendToTopic(Protocol):
    """Sends a reply to a topic; never blocks."""

    def __call__(self, reply: Reply, *, deadline_s: float | None, settled: Callable[[bool], None]) -> None:
        """`settled` is called once: True when the reply is delivered, False when it is given up."""


class KafkaQueries:
    """A record of a query settles when its reply is delivered or given up, or when it is dropped here.

    Thread: one, the query prepare thread; replies are sent on any.
    """

    def __init__(
        self,
        reply_topics: Collection[str],
        send: SendToTopic,
        *,
        say: Callable[[str], None],
        tracing: Tracing | None = None,
    ) -> None:
        """`tracing`: replies continue the traces of their queries."""
        self._reply_topics = reply_topics
        self._send = send
        self._say = say
        self._tracing = tracing
        self.unanswerable = 0
        """Queries without a reply topic, or with one that is not allowed."""

    def accept(self, kafka_request: KafkaRequest) -> QueryRequest | None:
        """Tie the claim on a Kafka record to its reply; settle it and return None if it cannot or need not be answered."""
        claim = kafka_request.claim
        if not claim.is_alive:
            claim.drop("revoked")
            return None
        record = claim.record
        topic = (header_of(record.headers, REPLY_TOPIC_HEADER) or b"").decode("utf-8", "replace")
        if topic not in self._reply_topics:
            self._count_unanswerable()
            claim.drop("unanswerable")
            return None
        claim.expect(1, decoded_bytes=0)
        correlation_id = header_of(record.headers, CORRELATION_HEADER) or b""

        def send_reply(reply: QueryReply, *, deadline_s: float | None) -> None:
            tracing = self._tracing
            headers = () if tracing is None else tuple(tracing.answer_headers(record, reply.code, kafka_request.polled_s))
            self._send(Reply(topic, correlation_id, reply.value, headers), deadline_s=deadline_s, settled=lambda _delivered: claim.settle())

        return QueryRequest(record.value, Requester(send_reply, kafka_request.polled_s), record.time_ms)

    def _count_unanswerable(self) -> None:
        self.unanswerable += 1
        if self.unanswerable.bit_count() == 1:  # at 1, 2, 4, 8 …: senders must not be able to flood our log
            so_far = f" ({self.unanswerable:,} so far)" if self.unanswerable > 1 else ""
            self._say(f"a query names no reply topic that is on the list (query.reply_topics); it is dropped{so_far}")
