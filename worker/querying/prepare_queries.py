"""The prepare step for queries: parse, check, redact and mask the text, and skip the engine where the vector is cached.

It has a thread of its own, so that log lines never delay a query. A query reads vectors from the cache and leaves nothing behind: it
starts no flight, joins none, and never becomes a template.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from consumers.record import Header, Record
from producers.replies import Reply
from worker.asking.question import Query
from worker.asking.refusals import BadQuery, QueryReply
from worker.asking.requests import CORRELATION_HEADER, REPLY_TOPIC_HEADER, QueryRequest, Requester, header_of, is_late, monotonic_deadline_s
from worker.embedding.cache.vector_cache import VectorCache
from worker.embedding.embedder import Embedded, EmbeddingLate, EncodedText, Submit
from worker.embedding.model.vectors import EmbeddingFailed
from worker.querying.forms import parse_query
from worker.querying.query_text import QueryEncoder
from worker.querying.query_words import words_of
from worker.querying.ready_query import Answerable, FailedQuery, KafkaRequest, ReadyQuery, late_query
from worker.runtime.lane import Outlet


class SendToTopic(Protocol):
    """Sends a reply to a topic; never blocks."""

    def __call__(self, reply: Reply, *, deadline_s: float | None, settled: Callable[[bool], None]) -> None:
        """`settled` is called once: True when the reply is delivered, False when it is given up."""


@dataclass(slots=True)
class QueryTally:
    """Counters of requests. Thread: written by the query prepare thread, read by any."""

    received: int = 0
    unanswerable: int = 0
    """Without a reply topic, or with one that is not allowed."""


class PrepareQueries:
    """Every request goes on to be answered, or is settled: counted as unanswerable, or dropped because its partition was revoked.

    Thread: one, the query prepare thread; the engine's outcomes come on the embed thread.
    """

    def __init__(  # noqa: PLR0913 - what it is wired to, each by name
        self,
        *,
        encoder: QueryEncoder,
        reply_topics: Collection[str],
        cache: VectorCache,
        submit: Submit,
        answer: Outlet[Answerable],
        send: SendToTopic,
        clock: Callable[[], float],
        wall_ms: Callable[[], float],
        say: Callable[[str], None],
        reply_headers: Callable[[Record, str, float], Sequence[Header]] = lambda _query, _code, _taken_s: (),
    ) -> None:
        """`wall_ms` gives milliseconds since 1970; `reply_headers` further headers for the reply to a record, its code and when it came."""
        self.tally = QueryTally()
        self._encoder = encoder
        self._reply_topics = reply_topics
        self._cache = cache
        self._submit = submit
        self._answer = answer
        self._send = send
        self._clock = clock
        self._wall_ms = wall_ms
        self._say = say
        self._reply_headers = reply_headers

    def step(self, requests: Sequence[KafkaRequest | QueryRequest]) -> None:
        """Prepare a list of requests."""
        valid: list[tuple[Requester, Query]] = []
        for one in requests:
            request = one if isinstance(one, QueryRequest) else self._accept(one)
            if request is not None:
                self.tally.received += 1
                valid += self._parse(request)
        self._send_on(valid)

    def _accept(self, kafka_request: KafkaRequest) -> QueryRequest | None:
        """Tie the claim on a Kafka record to its reply; settle it and return None if it cannot or need not be answered."""
        claim = kafka_request.claim
        if not claim.is_alive:
            claim.drop("revoked")
            return None
        record = claim.record
        topic = (header_of(record.headers, REPLY_TOPIC_HEADER) or b"").decode("utf-8", "replace")
        if topic not in self._reply_topics:
            self.tally.received += 1
            self._count_unanswerable()
            claim.drop("unanswerable")
            return None
        claim.expect(1, decoded_bytes=0)
        correlation_id = header_of(record.headers, CORRELATION_HEADER) or b""

        def send_reply(reply: QueryReply, *, deadline_s: float | None) -> None:
            headers = tuple(self._reply_headers(record, reply.code, kafka_request.polled_s))
            self._send(Reply(topic, correlation_id, reply.value, headers), deadline_s=deadline_s, settled=lambda _delivered: claim.settle())

        return QueryRequest(record.value, Requester(send_reply, kafka_request.polled_s), record.time_ms)

    def _count_unanswerable(self) -> None:
        self.tally.unanswerable += 1
        if self.tally.unanswerable.bit_count() == 1:  # at 1, 2, 4, 8 …: senders must not be able to flood our log
            so_far = f" ({self.tally.unanswerable:,} so far)" if self.tally.unanswerable > 1 else ""
            self._say(f"a query names no reply topic that is on the list (query.reply_topics); it is dropped{so_far}")

    def _parse(self, request: QueryRequest) -> list[tuple[Requester, Query]]:
        """Return the valid query and its requester with the deadline; an empty list if it is answered with an error."""
        requester = request.requester
        try:
            query = parse_query(request.value, request.form)
        except BadQuery as error:
            self._answer.put([FailedQuery(requester, "bad_query", error.field, error.reason)])
            return []
        until_s = monotonic_deadline_s(query, sent_ms=request.sent_ms, now_s=requester.taken_s, wall_ms=self._wall_ms())
        requester = requester._replace(deadline_s=until_s)
        if is_late(requester, self._clock()):
            self._answer.put([late_query(requester, "the deadline had passed when the query arrived")])
            return []
        return [(requester, query)]

    def _send_on(self, valid: Sequence[tuple[Requester, Query]]) -> None:
        """Send each query to the embed stage, or straight to the answer stage if it needs no vector or the cache has it.

        A text of identifiers only, or without a letter left after masking, has no meaning to embed: it is searched by words, unless the
        query asks for `dense`.
        """
        treated = iter(self._encoder.treat([query.text for _, query in valid if query.text is not None]))
        texts = [None if query.text is None else next(treated) for _, query in valid]
        found = self._cache.get_many([text.key for text in texts if text is not None])
        ready: list[Answerable] = []
        asked: list[tuple[Requester, Query]] = []
        encoded: list[EncodedText] = []
        now_s = self._clock()
        for (requester, query), text in zip(valid, texts, strict=True):
            is_exact = words_of(query.text or "").is_exact
            is_empty = text is not None and not any(character.isalpha() for character in text.masked)
            by_words = query.mode == "words" or (query.mode != "dense" and (is_exact or is_empty))
            if text is None or by_words or text.key in found:
                vector = None if text is None or by_words else found[text.key]
                ready.append(ReadyQuery(requester, query, vector, now_s - requester.taken_s, 0.0, is_exact))
            else:
                ids = self._encoder.encode(text)
                asked.append((requester, query))
                key = text.key if ids.is_whole else None
                encoded.append(EncodedText(ids.ids, key, is_urgent=True, is_late=partial(is_late, requester)))
        self._answer.put(ready)
        self._submit(encoded, partial(self._take_embedded, asked))

    def _take_embedded(self, asked: Sequence[tuple[Requester, Query]], embedded: Sequence[Embedded]) -> None:
        self._answer.put([_answerable(*asked[one.place], one) for one in embedded])


def _answerable(requester: Requester, query: Query, embedded: Embedded) -> Answerable:
    if isinstance(embedded.outcome, EmbeddingLate):
        return late_query(requester, "the deadline has passed")
    if isinstance(embedded.outcome, EmbeddingFailed):
        return FailedQuery(requester, "bad_query", "text", embedded.outcome.reason)
    return ReadyQuery(requester, query, embedded.outcome, embedded.started_s - requester.taken_s, embedded.ended_s - embedded.started_s)
